#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// What the looks at claims have accounted for in both models, and what they have not explained.
class Account {
 public:
  /// Writes down what a look showed; returns the claims that it rests on.
  [[nodiscard]] std::vector<Claim> accept(Sides& sides, Look look);
  void note(Issue issue) { issues_.push_back(std::move(issue)); }
  [[nodiscard]] bool has_accounted_for(const Node& node_of_b) const { return accounted_b_.contains(&node_of_b); }
  /// leftovers.cpp: nodes that no claim reached.
  void list_leftovers(const Sides& sides);
  /// Once, at the end.
  [[nodiscard]] ProofResult result();

 private:
  void account_for(Side& side, Ref constant, std::unordered_set<const Node*>& accounted, bool is_first);

  std::unordered_map<const Node*, const Node*> partners_a_, partners_b_;  ///< first counterpart
  std::unordered_set<const Node*> accounted_a_, accounted_b_;
  std::unordered_set<const Node*> bypassed_, folded_, evaluated_;
  std::unordered_map<const Node*, double> folds_;  ///< and how near they are, see Recomputed
  std::unordered_set<const Value*> equal_tensors_, permuted_tensors_;
  std::vector<Issue> issues_;
  int64_t dead_ = 0;
};

}  // namespace relayout::proof
