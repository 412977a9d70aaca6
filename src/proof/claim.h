// Declares the data of the proof: claims that two values are equal, issues, and what one look at a claim finds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proof/chain.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// "`a` of the first model with `downstream_a` applied equals `b` of the second with `downstream_b` applied."
struct Claim {
  Ref a, b;
  Steps downstream_a, downstream_b;
  Ref origin_a, origin_b;        ///< the two values where the collection of affines began; none in a plain claim
  const Node* reader = nullptr;  ///< of the second model, for messages; nullptr: a graph output
  bool has_passed = false;       ///< the affines have passed other operators
  bool is_flat = false;          ///< about the elements in row-major order: dims may differ
  bool as_numbers = false;       ///< `b` may be of int32 where `a` is of int64
  [[nodiscard]] bool is_plain() const { return downstream_a.empty() && downstream_b.empty() && !is_flat; }
};

/// An entry of the result with its position: that of its node in its model.
struct Issue {
  Unexplained what;
  int64_t order = 0;
  const Node* node = nullptr;     ///< the node that it concerns, if any
  const Node* partner = nullptr;  ///< the node of the first model in its place, if any
  Ref a = {}, b = {};             ///< constants that differ
};

/// Result of one look at a claim: its issues, the claims that it depends on, and the nodes of both models that it accounts for. A look has
/// no side effects, so that another reading of the second model can be examined instead.
struct Look {
  std::string_view rule;      ///< the name of the rule that decided, unless it compared two nodes as they stand
  std::optional<Claim> next;  ///< what remains to be looked at, for a rule that only moves a claim upstream
  std::vector<Issue> issues;
  std::vector<Claim> claims;
  std::vector<const Node*> nodes_a, nodes_b;           ///< accounted for
  std::vector<const Node*> bypassed;                   ///< of the first model: absent in the second
  std::vector<const Node*> folded;                     ///< of the first model: absorbed by a linear operator
  std::vector<const Node*> rewritten;                  ///< of the second model: computes the result of other nodes of the first one
  std::vector<Ref> constants_a, constants_b;           ///< used by value, with all nodes that compute them
  std::vector<std::pair<const Value*, bool>> tensors;  ///< of the second model: right; whether stored in a different order
  std::vector<std::pair<const Graph*, const Graph*>> graphs;
  const Node* fold = nullptr;                                    ///< of the second model: its weight was recomputed
  double near = 0;                                               ///< distance of that fold, see Recomputed
  std::vector<std::pair<const Node*, const Node*>> equal_nodes;  ///< pairs of the same operator with the same attributes
  bool starts_anew = false;                                      ///< nodes that were passed on the way to the claim do not count
  bool is_ambiguous = false;                                     ///< the operator may be read in several ways
  bool is_exclusive = false;  ///< `equal_nodes` may have no other counterparts: they produce random values

  /// rules.cpp: adds everything except the rule and what remains to be looked at.
  void add(Look more);
  /// Accounts for the nodes and constants of two values, as read in the first and the second model.
  template <class Read>
  void account(const Read& a, const Read& b) {
    nodes_a.insert(nodes_a.end(), a.nodes.begin(), a.nodes.end());
    nodes_b.insert(nodes_b.end(), b.nodes.begin(), b.nodes.end());
    constants_a.insert(constants_a.end(), a.constants.begin(), a.constants.end());
    constants_b.insert(constants_b.end(), b.constants.begin(), b.constants.end());
  }
};

}  // namespace relayout::proof
