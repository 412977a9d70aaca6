#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/kernels/kernel.h"
#include "ops/kernels/resize.h"

namespace relayout::exec {

/// Dense blocks of f32, interpolated along `dims`, the outermost first, with `tail` elements inside the last. Arithmetic is in f32.
struct Interpolation {
  int64_t blocks = 1, tail = 1;
  std::vector<ResizeTaps> dims;  ///< all with taps
};
/// Operand 0 is the source, 1 the destination.
[[nodiscard]] std::unique_ptr<Kernel> make_resize_kernel(Interpolation what, Team team);

}  // namespace relayout::exec
