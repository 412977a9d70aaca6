#pragma once

#include <cstddef>
#include <vector>

#include "passes/affine.h"
#include "passes/pass.h"
#include "passes/skips.h"

namespace relayout::passes {

/// A node that a fold removes: its operand `data` takes the place of its result.
struct Bypass {
  const Node* node = nullptr;
  std::size_t data = 0;
};

/// One operator that would absorb affines, carried to its own channel axis. In the order in which they are applied.
struct Branch {
  const Node* target = nullptr;
  std::vector<AffineNode> affines;
};

/// The nodes between affines and the linear operators on one side of them.
struct Neighbours {
  bool found = false;              ///< there is a linear operator, reachable or not
  Obstacles obstacles;             ///< none: every branch can be reached
  std::vector<Branch> branches;    ///< all or nothing
  std::vector<Bypass> path;        ///< affines and nodes that pass their operand on; removed by a fold
  std::vector<const Node*> taken;  ///< the affines among them
};

/// Searches upstream from the input of an affine: to one operator, or through Concat to several. Beyond an obstacle it only tells whether
/// there is an operator nearby.
[[nodiscard]] Neighbours look_upstream(const AffineNode& affine, PassContext& context);
/// Searches downstream from the output of an affine, along every reader.
[[nodiscard]] Neighbours look_downstream(const AffineNode& affine, PassContext& context);

/// The same searches from a node that is not an affine, or not one of constants: for the obstacles to report.
[[nodiscard]] Neighbours look_upstream(const Node& node, std::size_t data, PassContext& context);
[[nodiscard]] Neighbours look_downstream(const Node& node, PassContext& context);

/// The last affine of the row that begins with this one, each the only reader of the previous one.
[[nodiscard]] AffineNode last_in_row(const AffineNode& affine, PassContext& context);
/// Whether a linear operator computes operand `data` of the node, with nothing between but nodes that pass it on.
[[nodiscard]] bool follows_linear(const Node& node, std::size_t data, PassContext& context);

}  // namespace relayout::passes
