#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/partial_dims.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "relayout/graph.h"
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

/// Limit of the lanes of affines in memory at a time. It stops graphs designed to exhaust memory or patience.
inline constexpr std::size_t kMostLanes = std::size_t{1} << 20U;

/// A node upstream of a linear operator: an affine, or an operator that an affine may pass.
struct Link {
  std::optional<Step> step;
  const Node* node = nullptr;
  Ref output;
  bool is_identity = false;  ///< passes on its operand, or is a call that was entered
  bool is_call = false;
  std::vector<const Node*> others;  ///< further nodes of this link
};
struct Chain {
  std::vector<Ref> values;  ///< from the operator's data operand on; link i leads from value i + 1 to value i
  std::vector<Link> links;
  /// The number of affines from link `first` on.
  [[nodiscard]] std::ptrdiff_t steps(std::size_t first = 0) const {
    return std::count_if(links.begin() + static_cast<std::ptrdiff_t>(first), links.end(),
                         [](const Link& link) { return link.step.has_value(); });
  }
};

/// Whether two Transposes that cancel are one link, so that the chains cannot meet between the two, or a link each.
enum class Transposes : uint8_t { paired, single };

/// The chain from a linear operator's data operand upstream, up to an operator that no affine may pass. `rounded`: see read_step().
[[nodiscard]] Chain chain_upstream(Side& side, Shapes& shapes, Ref data, bool rounded, Transposes transposes);

/// Composes the affines among the first `count` links into one affine of the data operand; empty if one of them cannot become that.
[[nodiscard]] std::optional<Composed> compose_upstream(Side& side, Shapes& shapes, const Chain& chain, std::size_t count,
                                                       const Linear& linear);

}  // namespace relayout::proof
