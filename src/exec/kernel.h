#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "relayout/tensor.h"

namespace relayout {

/// One piece of work of a plan with its operands bound ahead of time: running it looks nothing up and allocates nothing.
/// Operands are numbered by whoever makes the kernel, inputs before outputs.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Address of element [0, 0, …] of an operand.
  virtual void bind(std::size_t operand, std::byte* data) = 0;
  virtual void run() = 0;
  [[nodiscard]] virtual std::string implementation() const = 0;
  [[nodiscard]] virtual int64_t scratchpad_bytes() const { return 0; }
  virtual void bind_scratchpad(std::byte*) {}
};

/// Where a tensor lies: in which buffer of the plan, how far in, under which strides.
struct Place {
  int buffer = -1;
  int64_t offset = 0;  ///< bytes to element [0, 0, …]
  TensorDesc desc;
  explicit operator bool() const noexcept { return buffer >= 0; }
};

struct Operand {
  int buffer = -1;
  int64_t offset = 0;
};

struct Step {
  std::unique_ptr<Kernel> kernel;
  std::vector<Operand> operands;
  int threads = 1;
};

}  // namespace relayout
