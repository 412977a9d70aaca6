#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/operands.h"
#include "relayout/types.h"

namespace relayout {

/// Which inputs make up the outputs along a dim, and with what weights: output p is the sum over taps t of
/// weights[t · out + p] · input[at[t · out + p]]. What has no weight is input `in`, a 0 behind the others: 0 · ∞ would not be 0. The
/// inputs of one output lie within `count` neighbours.
struct ResizeTaps {
  int64_t in = 0, out = 0, count = 0;
  std::vector<int64_t> at;
  std::vector<double> weights;
};

/// How each dim is interpolated; a dim that stays as it is has no taps. Nothing where elements are picked or cropped, and where the
/// contents of an operand are not known.
[[nodiscard]] std::optional<std::vector<ResizeTaps>> interpolation_taps(const OpCall& call, InputInfos inputs, const Dims& dims);

}  // namespace relayout
