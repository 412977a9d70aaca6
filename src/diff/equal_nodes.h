#pragma once

#include <utility>
#include <vector>

#include "proof/account.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {

/// Nodes of both models that the proof pairs with none, because it compares what they make, as constants or as parts of a linear
/// operator: pairs of the same operator and attributes whose operands stand for each other, are equal constants, or are constants that
/// an issue tells the difference of.
[[nodiscard]] std::vector<std::pair<const Node*, const Node*>> pair_equal_nodes(proof::Sides& sides, const proof::Account& account);

}  // namespace relayout
