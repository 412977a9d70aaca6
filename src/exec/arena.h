#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "relayout/tensor.h"

namespace relayout::exec {

/// A buffer's claim on the arena: `bytes` of it from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  ///< one per lifetime, multiples of 64
  int64_t bytes = 0;
};

/// Offsets under which buffers that live at the same time do not overlap: largest buffer first, each at the lowest gap that fits.
[[nodiscard]] ArenaLayout lay_out_arena(std::span<const Lifetime> lifetimes);

/// Memory of a plan: page aligned, not initialised. Uses huge pages where the system has them, from their size on: streaming through
/// weights and activations then waits less for page tables, which a virtual machine walks twice.
class ArenaMemory {
 public:
  ArenaMemory() = default;
  explicit ArenaMemory(int64_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }

 private:
  struct Free {
    std::size_t alignment;
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
};

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
