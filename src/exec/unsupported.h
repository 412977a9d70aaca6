#pragma once

#include <vector>

#include "relayout/execute.h"
#include "relayout/graph.h"

namespace relayout::exec {

/// Nodes that outputs depend on and that have no kernel, nested graphs and functions included.
[[nodiscard]] std::vector<Unsupported> unsupported_nodes(const Graph& graph);

}  // namespace relayout::exec
