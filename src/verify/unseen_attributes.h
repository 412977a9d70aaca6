#pragma once

#include "relayout/graph.h"

namespace relayout {

/// Whether two nodes of one operator have another attribute that matters for some numbers or sizes alone: of a normalization, the epsilon
/// tells where the variance is small; of a Resize, two modes place pixels apart at some sides.
[[nodiscard]] bool part_unseen_by_attributes(const Graph& graph, const Node& a, const Node& b);

}  // namespace relayout
