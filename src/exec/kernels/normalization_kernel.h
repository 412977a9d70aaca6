#pragma once

#include <cstdint>
#include <memory>

#include "exec/kernels/kernel.h"

namespace relayout::exec {

/// Lines of f32 of one length, dense, each brought to mean 0 and variance 1, then scaled and shifted by one number each: line i by element
/// i mod `channels` of both. Sums are in double. Operands: source, scale and shift (`channels` f32 each), destination, which may be the
/// source.
struct LineNormalizationShape {
  int64_t lines = 1, length = 1, channels = 1;
  float epsilon = 0;
};
[[nodiscard]] std::unique_ptr<Kernel> make_line_normalization_kernel(const LineNormalizationShape& shape, Team team);

}  // namespace relayout::exec
