#pragma once

#include <vector>

#include "inspect/model_macs.h"
#include "relayout/inspect.h"

namespace relayout {

/// The nodes of a main graph with their work, and what each is the first to read of all that is stored.
[[nodiscard]] std::vector<NodeSummary> list_nodes(const std::vector<NodeWork>& nodes);

}  // namespace relayout
