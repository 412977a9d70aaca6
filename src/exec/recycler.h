#pragma once

#include <cstdint>
#include <memory>

#include "relayout/tensor.h"

namespace relayout::exec {

/// Memory for results that callers keep as long as they like: results that they release serve the next run. Fresh memory costs a page fault
/// per 4 KiB, which for large results takes longer than computing them. Keeps the few blocks freed last, for as long as it lives.
class Recycler {
 public:
  Recycler();
  /// A contiguous tensor, not initialised. It may outlive the recycler.
  [[nodiscard]] Tensor tensor(DataType type, const Dims& dims);

 private:
  struct Blocks;
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace relayout::exec
