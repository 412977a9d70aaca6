#pragma once

#include <unordered_set>
#include <vector>

#include "diff/change_list.h"
#include "diff/changed_pairs.h"
#include "proof/account.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {

/// Nodes of two models that have a change of their own, or need none.
struct ToldNodes {
  std::unordered_set<const Node*> a, b;
};

/// Lists what the proof leaves open, with what differs: its issues, and nodes that stand for each other with other constants. Adds the
/// nodes that it lists to `told`.
void list_unexplained(proof::Sides& sides, const proof::Account& account, const std::vector<ChangedPair>& changed_pairs, ToldNodes& told,
                      ChangeList& changes);

}  // namespace relayout
