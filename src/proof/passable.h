#pragma once

#include <vector>

#include "proof/affine_steps.h"
#include "proof/shapes.h"

namespace relayout::proof {

/// Whether an affine of the node's result may pass it to become one of its first operand, and the reverse: nodes that only move axes, Pad,
/// means and maxima of windows, and functions that a factor passes (Relu).
[[nodiscard]] bool is_passable(const Node& node);

/// Turns a step on `output` of a passable node into the same step on its first operand; false if the two do not commute, or may not.
[[nodiscard]] bool pull(Side& side, Shapes& shapes, Ref output, Step& step);
/// The reverse: turns a step on the first operand into one on `output`. `channels` of the result are known from its consumer: a Reshape or
/// Flatten that merges trailing axes into the channels repeats each lane.
[[nodiscard]] bool push(Side& side, Shapes& shapes, Ref output, int64_t channels, Step& step);

/// Turns steps on a Concat's result into steps on each of its operands: cut along the axis of the Concat, whole along others. Empty if this
/// is impossible.
[[nodiscard]] std::vector<Steps> cut(Side& side, Shapes& shapes, Ref output, const Steps& steps);

}  // namespace relayout::proof
