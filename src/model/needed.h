#pragma once

#include <unordered_set>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// Nodes that values depend on, including those in nested graphs.
[[nodiscard]] std::unordered_set<const Node*> needed_nodes(std::vector<const Value*> values);

/// Nodes that the outputs of a graph depend on.
[[nodiscard]] std::unordered_set<const Node*> needed_nodes(const Graph& graph);

}  // namespace relayout
