#pragma once

#include <optional>
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

/// The role of a node of the first model in the proof.
struct FirstNode {
  bool is_accounted = false;          ///< an examined claim depends on it
  const Node* partner = nullptr;      ///< its first counterpart
  const Node* folded_into = nullptr;  ///< the linear operator of the second model that absorbed it
  bool is_bypassed = false;           ///< the second model does without it
  bool is_evaluated = false;          ///< its result is a constant that the second model stores
  bool is_dead = false;               ///< no output needs it
  /// The node of the second model that now does its work, or nullptr.
  [[nodiscard]] const Node* successor() const noexcept { return partner != nullptr ? partner : folded_into; }
};

/// The role of a node of the second model in the proof.
struct SecondNode {
  bool is_accounted = false;      ///< an examined claim depends on it
  const Node* partner = nullptr;  ///< its first counterpart
  bool is_rewritten = false;      ///< it computes the result of other nodes of the first model
  std::optional<double> fold;     ///< of a linear operator with recomputed constants: their distance, see Recomputed
};

/// Nodes and constants of both models that examined claims account for, and the differences that remain unexplained.
class Account {
 public:
  /// Records the findings of a look; returns the claims that it depends on.
  [[nodiscard]] std::vector<Claim> accept(Sides& sides, Look look);
  void note(Issue issue) { issues_.push_back(std::move(issue)); }
  /// Lists nodes that no claim reached.
  void list_leftovers(const Sides& sides);
  /// repairs.cpp: adds to issues what would settle them.
  void note_repairs(Sides& sides);
  /// Called once, at the end.
  [[nodiscard]] ProofResult result();

  // The records by node and by constant, for reports.
  [[nodiscard]] const std::vector<Issue>& issues() const noexcept { return issues_; }
  [[nodiscard]] const FirstNode& of_first(const Node& node) const { return find(first_, node); }
  [[nodiscard]] const SecondNode& of_second(const Node& node) const { return find(second_, node); }
  /// Constants of the second model with the bytes of the first in a different order.
  [[nodiscard]] const std::unordered_set<const Value*>& permuted_tensors() const noexcept { return permuted_tensors_; }

 private:
  template <class Record>
  static const Record& find(const std::unordered_map<const Node*, Record>& nodes, const Node& node) {
    static const Record kNone{};
    const auto found = nodes.find(&node);
    return found != nodes.end() ? found->second : kNone;
  }
  void pair_nodes(Sides& sides, const Node& of_a, const Node& of_b, bool is_exclusive);

  std::unordered_map<const Node*, FirstNode> first_;
  std::unordered_map<const Node*, SecondNode> second_;
  std::unordered_set<const Value*> equal_tensors_, permuted_tensors_;
  std::vector<Issue> issues_;
  std::vector<std::string> unreached_;  ///< see ProofResult
};

}  // namespace relayout::proof
