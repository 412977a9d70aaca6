#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/pass.h"
#include "passes/skips.h"

namespace relayout {

/// Whether the node hands its first input on unchanged: Identity, Dropout in inference.
[[nodiscard]] bool passes_through(const Node& node, PassContext& context);
/// What is in the way of changing `value` for `reader` alone: it is visible, captured, or has another reader.
void note_other_readers(const Value& value, const Node& reader, Obstacles& obstacles);

/// The operator behind which an affine stands, and what lies between.
struct Behind {
  Node* target = nullptr;   ///< nullptr: no linear operator there
  std::vector<Node*> path;  ///< from the target's reader to the affine, without either
  Obstacles obstacles;      ///< any: the path cannot be folded along
};
/// Walks from the affine's input backwards to a linear operator. Beyond an obstacle it only looks whether there is one nearby.
[[nodiscard]] Behind look_behind(const Node& affine, PassContext& context);

/// Whether a linear operator reads the affine's output, and what keeps it from taking the affine up.
struct Ahead {
  bool found = false;
  Obstacles obstacles;
};
[[nodiscard]] Ahead look_ahead(const Node& affine, PassContext& context);

}  // namespace relayout
