#pragma once

#include "relayout/graph.h"

namespace relayout {

/// Whether two nodes of one operator differ in an attribute that matters only for some numbers or sizes: the epsilon of a normalization
/// where the variance is small, or modes of a Resize that place pixels differently at some sides.
[[nodiscard]] bool part_unseen_by_attributes(const Graph& graph, const Node& a, const Node& b);

}  // namespace relayout
