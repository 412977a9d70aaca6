#pragma once

#include <utility>
#include <vector>

#include "diff/matching.h"
#include "proof/account.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {

/// A node of both models with different constants, and adjacent nodes that only one model has and that a fold may have absorbed.
struct ChangedPair {
  const Node* a = nullptr;
  const Node* b = nullptr;
  std::vector<const Node*> gone;   ///< of the first model
  std::vector<const Node*> added;  ///< of the second
};

/// Pairs of nodes that the proof reaches but leaves unpaired because one of their constants differs. `equal` are the known pairs.
[[nodiscard]] std::vector<ChangedPair> find_changed_pairs(const proof::Sides& sides, const proof::Account& account,
                                                          const Matching& matching,
                                                          const std::vector<std::pair<const Node*, const Node*>>& equal);

}  // namespace relayout
