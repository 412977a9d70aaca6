#pragma once

#include <vector>

#include "proof/affine_steps.h"
#include "proof/shapes.h"

namespace relayout::proof {

/// Operators that an affine of their result may pass, so that it becomes one of their first operand, and the other way round:
/// what only moves axes, Pad, means and maxima of windows, and what a factor passes (Relu).
[[nodiscard]] bool is_passable(const Node& node);

/// Turns a step on `output` of a passable node into the same step on its first operand; false when
/// the two do not commute or that is not certain.
[[nodiscard]] bool pull(Side& side, Shapes& shapes, Ref output, Step& step);
/// The other way: a step on the first operand into one on `output`. `channels` of the result are known from what reads it: a Reshape or
/// Flatten that merges trailing axes into the channels repeats each lane.
[[nodiscard]] bool push(Side& side, Shapes& shapes, Ref output, int64_t channels, Step& step);

/// Steps on a Concat's result as steps on each of its operands: cut where channels are joined, whole otherwise. Empty when that is not
/// possible.
[[nodiscard]] std::vector<Steps> cut(Side& side, Shapes& shapes, Ref output, const Steps& steps);

}  // namespace relayout::proof
