#pragma once

#include <utility>
#include <vector>

#include "proof/account.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {

/// Pairs of nodes that the proof leaves unpaired because it compares their results, as constants or as parts of a linear operator. The
/// nodes of a pair have the same operator and attributes. Their operands correspond to each other, are equal constants, or are constants
/// whose difference an issue reports.
[[nodiscard]] std::vector<std::pair<const Node*, const Node*>> pair_equal_nodes(proof::Sides& sides, const proof::Account& account);

}  // namespace relayout
