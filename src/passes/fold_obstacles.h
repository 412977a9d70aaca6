#pragma once

#include <cstddef>
#include <vector>

#include "passes/affine.h"
#include "passes/pass.h"
#include "passes/skips.h"

namespace relayout::passes {

/// A node that a fold takes out of the way: what it reads at `data` takes the place of what it makes.
struct Bypass {
  const Node* node = nullptr;
  std::size_t data = 0;
};

/// One operator that would take up affines, carried to where its own channels lie. In the order in which they are applied.
struct Branch {
  const Node* target = nullptr;
  std::vector<AffineNode> affines;
};

/// The nodes between affines and the linear operators on one side of them.
struct Neighbours {
  bool found = false;              ///< there is a linear operator, reachable or not
  Obstacles obstacles;             ///< none: every branch can be reached
  std::vector<Branch> branches;    ///< all or nothing
  std::vector<Bypass> path;        ///< affines and nodes that only hand on; go with a fold
  std::vector<const Node*> taken;  ///< the affines among them
};

/// From the input of an affine backwards: to one operator, or through Concat to several. Beyond what cannot be passed it only looks
/// whether there is an operator nearby.
[[nodiscard]] Neighbours look_behind(const AffineNode& affine, PassContext& context);
/// From the output of an affine on: to every reader.
[[nodiscard]] Neighbours look_ahead(const AffineNode& affine, PassContext& context);

/// The same for a node that is no affine, or is none of constants: what can be said all the same.
[[nodiscard]] Neighbours look_behind(const Node& node, std::size_t data, PassContext& context);
[[nodiscard]] Neighbours look_ahead(const Node& node, PassContext& context);

/// The last of the affines that follow one another from this one on, each the only reader of the one before.
[[nodiscard]] AffineNode last_in_row(const AffineNode& affine, PassContext& context);
/// Whether a linear operator makes what the node reads at `data`, with nothing but nodes that hand on between.
[[nodiscard]] bool is_right_behind_linear(const Node& node, std::size_t data, PassContext& context);

}  // namespace relayout::passes
