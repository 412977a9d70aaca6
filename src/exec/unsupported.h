#pragma once

#include <vector>

#include "relayout/execute.h"
#include "relayout/graph.h"

namespace relayout::exec {

/// The nodes among those that outputs depend on that no kernel takes, nested graphs and functions included.
[[nodiscard]] std::vector<Unsupported> unsupported_nodes(const Graph& graph);

}  // namespace relayout::exec
