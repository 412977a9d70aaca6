#pragma once

#include <utility>
#include <vector>

#include "proof/account.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {

/// Nodes that make constants in both models, which the proof pairs with none because it compares what they make: pairs of the same
/// operator and attributes whose operands stand for each other, or are equal constants.
[[nodiscard]] std::vector<std::pair<const Node*, const Node*>> pair_constant_nodes(proof::Sides& sides, const proof::Account& account);

}  // namespace relayout
