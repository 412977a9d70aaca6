#pragma once

#include <optional>
#include <vector>

#include "ops/partial_dims.h"
#include "proof/side.h"
#include "relayout/types.h"

namespace relayout::proof {

/// y = factor · x + shift in one channel, and the accuracy of the shift.
struct Lane {
  long double factor = 1, shift = 0;
  long double magnitude = 0;  ///< sum of the absolute terms of the shift: the error of double arithmetic is relative to it
  long double slack = 0;      ///< possible error of the shift because its constants were rounded when they were stored
  bool operator==(const Lane&) const = default;
};

/// Applies `inner`, then `outer`.
[[nodiscard]] Lane compose(const Lane& outer, const Lane& inner);

/// A node that is affine in one operand, channel by channel: BatchNormalization in inference, Add, Sub, Mul, Div with a constant, Neg.
struct Step {
  const Node* node = nullptr;
  const Call* call = nullptr;
  Ref input;                  ///< the affine operand
  Axis axis;                  ///< of the channels, if there is more than one lane
  std::vector<Lane> lanes;    ///< one per channel, or one for all
  int64_t constant_rank = 0;  ///< of the constant operand: a value of lower rank is enlarged
  bool broadcasts = false;    ///< a value with a single channel is enlarged to the number of lanes
  double roundings = 0;       ///< of a factor and its product with a weight, evaluated in the weight's own type: see recompute.h
};

/// Whether two steps have the same effect on every value.
[[nodiscard]] bool same_lanes(const Step& a, const Step& b);

/// Steps from the outermost (applied last) to the innermost.
using Steps = std::vector<Step>;

/// The step that produces `output`; empty if another kind of node does. `rounded`: added constants may have been rounded when they were
/// computed, so that each is known to half a unit in its last place.
[[nodiscard]] std::optional<Step> read_step(Side& side, Ref output, bool rounded);

/// All steps in one lane per channel.
struct Composed {
  std::vector<Lane> lanes;
  int64_t steps = 0;
  double roundings = 0;  ///< of all factors
  bool operator==(const Composed&) const = default;
};
/// Composes steps over a value with channels along `axis`. Empty if a step runs along a different axis, has a different length, or would
/// enlarge the value, or if shifts round a value of `type`. `rank` is the value's, -1 if unknown.
[[nodiscard]] std::optional<Composed> compose(const Steps& steps, Axis axis, int64_t channels, int64_t rank, DataType type);

}  // namespace relayout::proof
