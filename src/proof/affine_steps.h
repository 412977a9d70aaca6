#pragma once

#include <optional>
#include <vector>

#include "ops/axis.h"
#include "proof/side.h"
#include "relayout/types.h"

namespace relayout::proof {

/// y = factor · x + shift in one channel, and how exactly the shift is known.
struct Lane {
  long double factor = 1, shift = 0;
  long double magnitude = 0;  ///< sum of the absolute terms that the shift is made of: what double arithmetic's error is relative to
  long double slack = 0;      ///< how far the shift may be off because constants in it were rounded when they were stored
  bool operator==(const Lane&) const = default;
};

/// `inner`, then `outer`.
[[nodiscard]] Lane compose(const Lane& outer, const Lane& inner);

/// A node that is affine in one operand, channel by channel: BatchNormalization in inference, Add, Sub, Mul, Div with a constant, Neg.
struct Step {
  const Node* node = nullptr;
  const Call* call = nullptr;
  Ref input;                  ///< its operand
  Axis axis;                  ///< of the channels, where there is more than one lane
  std::vector<Lane> lanes;    ///< one per channel, or one for all
  int64_t constant_rank = 0;  ///< of the constant operand: a value of lower rank grows
  bool broadcasts = false;    ///< a value with a single channel grows to as many as there are lanes
  double roundings = 0;       ///< of a factor and its product with a weight, evaluated in the weight's own type: see recompute.h
};

/// Whether two steps do the same to every value.
[[nodiscard]] bool same_lanes(const Step& a, const Step& b);

/// Steps from the outermost (applied last) to the innermost.
using Steps = std::vector<Step>;

/// The step that makes `output`; nothing when it is made otherwise. `rounded`: constants that are added may have been rounded when
/// they were computed, so that each is known to half a unit in its last place.
[[nodiscard]] std::optional<Step> read_step(Side& side, Ref output, bool rounded);

/// One lane per channel, all steps applied.
struct Composed {
  std::vector<Lane> lanes;
  int64_t steps = 0;
  double roundings = 0;  ///< of all factors
  bool operator==(const Composed&) const = default;
};
/// Steps over a value whose channels lie along `axis`. Nothing when a step runs along another axis, is of another length, or would
/// make the value grow, or when shifts round a value of `type`. `rank` is the value's, -1 when it is not known.
[[nodiscard]] std::optional<Composed> compose(const Steps& steps, Axis axis, int64_t channels, int64_t rank, DataType type);

}  // namespace relayout::proof
