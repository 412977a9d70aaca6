#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proof/affine_steps.h"
#include "proof/linear.h"
#include "proof/shapes.h"
#include "proof/side.h"
#include "relayout/graph.h"

namespace relayout::proof {

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
[[nodiscard]] Chain chain_upstream(Side& side, Ref data, bool rounded, Transposes transposes);

/// Composes the affines among the first `count` links into one affine of the data operand; empty if one of them cannot become that.
[[nodiscard]] std::optional<Composed> compose_upstream(Side& side, Shapes& shapes, const Chain& chain, std::size_t count,
                                                       const Linear& linear);

}  // namespace relayout::proof
