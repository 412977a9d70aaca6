#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/operands.h"
#include "relayout/types.h"

namespace relayout {

/// Keys' cubic kernel (Cubic convolution interpolation for digital image processing, 1981) with coefficient a.
[[nodiscard]] inline double cubic_weight(double a, double distance) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The inputs of each output along a dim, and their weights: output p is the sum over taps t of weights[t · out + p] · input[at[t · out +
/// p]]. A tap without weight reads input `in`, a 0 after the last element: 0 · ∞ would not be 0. The inputs of one output are within
/// `count` neighbours.
struct ResizeTaps {
  int64_t in = 0, out = 0, count = 0;
  std::vector<int64_t> at;
  std::vector<double> weights;
};

/// The taps of each dim that is interpolated; an unchanged dim has none. Nothing where elements are picked or cropped, and where the
/// contents of an operand are not known.
[[nodiscard]] std::optional<std::vector<ResizeTaps>> interpolation_taps(const OpCall& call, InputInfos inputs, const Dims& dims);

}  // namespace relayout
