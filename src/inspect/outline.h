#pragma once

#include <vector>

#include "inspect/model_macs.h"
#include "relayout/graph.h"
#include "relayout/inspect.h"

namespace relayout {

/// The boxes of a main graph and their links: a box per node or, of more nodes than a drawing shows, one per scope of their names. The
/// summaries are of the graph's inputs (without initializers), outputs and nodes, in their order.
[[nodiscard]] GraphOutline outline_of(const Graph& graph, const std::vector<PortSummary>& inputs, const std::vector<PortSummary>& outputs,
                                      std::vector<NodeSummary> nodes);

/// The nodes of a main graph with their work, and what each is the first to read of all that is stored.
[[nodiscard]] std::vector<NodeSummary> list_nodes(const std::vector<NodeWork>& nodes);

}  // namespace relayout
