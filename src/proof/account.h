#pragma once

#include <cstdint>
#include <string>
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

/// Nodes and constants of both models that the looks at claims have accounted for, and the differences that they have not explained.
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

  // The same node by node and constant by constant, for those who show it.
  [[nodiscard]] const std::vector<Issue>& issues() const noexcept { return issues_; }
  /// The first counterpart of a node of either model, or nullptr.
  [[nodiscard]] const Node* partner_of_a(const Node& node) const { return find(partners_a_, node); }
  [[nodiscard]] const Node* partner_of_b(const Node& node) const { return find(partners_b_, node); }
  [[nodiscard]] bool has_accounted_for_first(const Node& node_of_a) const { return accounted_a_.contains(&node_of_a); }
  [[nodiscard]] bool is_bypassed(const Node& node_of_a) const { return bypassed_.contains(&node_of_a); }
  [[nodiscard]] bool is_evaluated(const Node& node_of_a) const { return evaluated_.contains(&node_of_a); }
  [[nodiscard]] bool is_dead(const Node& node_of_a) const { return dead_.contains(&node_of_a); }
  /// The linear operator of the second model that took up a node of the first, or nullptr.
  [[nodiscard]] const Node* folded_into(const Node& node_of_a) const { return find(folded_, node_of_a); }
  /// Linear operators of the second model whose constants were recomputed, and how near they are, see Recomputed.
  [[nodiscard]] const std::unordered_map<const Node*, double>& folds() const noexcept { return folds_; }
  /// Constants of the second model that are the first's bytes in another order.
  [[nodiscard]] const std::unordered_set<const Value*>& permuted_tensors() const noexcept { return permuted_tensors_; }

 private:
  using Links = std::unordered_map<const Node*, const Node*>;
  [[nodiscard]] static const Node* find(const Links& links, const Node& node) {
    const auto found = links.find(&node);
    return found != links.end() ? found->second : nullptr;
  }
  void account_for(Side& side, Ref constant, std::unordered_set<const Node*>& accounted, bool is_first);

  Links partners_a_, partners_b_;  ///< first counterpart
  std::unordered_set<const Node*> accounted_a_, accounted_b_;
  Links folded_;  ///< of the first model → by whom
  std::unordered_set<const Node*> bypassed_, evaluated_, dead_, rewritten_;
  std::unordered_map<const Node*, double> folds_;  ///< and how near they are, see Recomputed
  std::unordered_set<const Value*> equal_tensors_, permuted_tensors_;
  std::vector<Issue> issues_;
  std::vector<std::string> unreached_;  ///< see ProofResult
};

}  // namespace relayout::proof
