#pragma once

#include <unordered_set>
#include <vector>

#include "diff/change_list.h"
#include "diff/changed_pairs.h"
#include "proof/account.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {

/// Nodes of two models that need no further change: they are listed already, or equal.
struct ListedNodes {
  std::unordered_set<const Node*> a, b;
};

/// Lists the differences that the proof leaves unexplained: its issues, and corresponding nodes with different constants. Adds the nodes
/// that it lists to `listed`.
void list_unexplained(proof::Sides& sides, const proof::Account& account, const std::vector<ChangedPair>& changed_pairs,
                      ListedNodes& listed, ChangeList& changes);

}  // namespace relayout
