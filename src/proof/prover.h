#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "proof/affine.h"
#include "proof/linear.h"
#include "proof/recompute.h"
#include "proof/shapes.h"
#include "proof/side.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// "`a` of the first model, `behind_a` applied, is `b` of the second, `behind_b` applied."
struct Claim {
  Ref a, b;
  Steps behind_a, behind_b;
  Ref origin_a, origin_b;        ///< the two values where the affines began to be collected; none in a plain claim
  const Node* reader = nullptr;  ///< of the second model, for messages; nullptr: a graph output
  bool has_passed = false;       ///< the affines have passed other operators
  bool is_flat = false;          ///< of the elements in row-major order: dims may differ
  [[nodiscard]] bool is_plain() const { return behind_a.empty() && behind_b.empty() && !is_flat; }
};

/// An entry of the answer and where it belongs: place of its node in its model.
struct Issue {
  Unexplained what;
  int64_t order = 0;
};

/// What one look at a claim showed: what is wrong with it, what it rests on, and what of both models it accounts for. Looking changes
/// nothing, so that another reading of the second model can be looked at instead.
struct Look {
  std::vector<Issue> issues;
  std::vector<Claim> claims;
  std::vector<const Node*> nodes_a, nodes_b;           ///< accounted for
  std::vector<const Node*> bypassed;                   ///< of the first model: the second does without
  std::vector<const Node*> folded;                     ///< of the first model: taken up by a linear operator
  std::vector<Ref> constants_a, constants_b;           ///< used by value, with all that makes them
  std::vector<std::pair<const Value*, bool>> tensors;  ///< of the second model: right; whether stored in another order
  std::vector<std::pair<const Graph*, const Graph*>> graphs;
  const Node* fold = nullptr;                                    ///< of the second model: its weight was recomputed
  double near = 0;                                               ///< of that fold, see Recomputed
  std::vector<std::pair<const Node*, const Node*>> equal_nodes;  ///< the same operator with the same attributes
  bool is_exclusive = false;                                     ///< those may have no other counterparts: they make random values
};

/// The proof: claims about pairs of values, from the graph outputs down. A claim holds when both values are made by the same operator of
/// operands for which claims hold; affines that only one model has are carried along until a linear operator accounts for them.
/// Names are hints (which of several readings to try first), never evidence. A claim that fails is written down and then taken for
/// granted, so that one wrong node shows as one.
class Prover {
 public:
  Prover(const Model& a, const Model& b);
  [[nodiscard]] ProofResult run();

 private:
  // prover.cpp: the loop, and what was accounted for.
  void claim_interface();
  void settle_all();
  void settle(Claim claim);
  [[nodiscard]] Ref namesake(const Claim& claim) const;
  void accept(Look look);
  void account_for(Side& side, Ref constant, std::unordered_set<const Node*>& accounted, bool is_first);
  void pair_graphs(const Graph& a, const Call* call_a, const Graph& b, const Call* call_b, Look& look);
  [[nodiscard]] ProofResult result();

  // examine.cpp: one look at a claim without affines.
  [[nodiscard]] Look examine(Claim claim);
  void examine_plain(Claim claim, Look& look);
  [[nodiscard]] bool examine_leaves(const Claim& claim, Look& look);
  void examine_nodes(const Claim& claim, Look& look);
  /// Everything of two nodes of the same operator but their operands and nested graphs.
  void compare_heads(const Claim& claim, std::string_view ignored, Look& look);
  void examine_operands(const Claim& claim, std::size_t first, Look& look);
  void examine_bodies(const Claim& claim, Look& look);
  [[nodiscard]] bool step_down(Claim& claim, Look& look);
  [[nodiscard]] bool examine_moved_quantizer(const Claim& claim, Look& look);
  void resynchronize(const Claim& claim, Look& look);
  [[nodiscard]] bool same_input(const Value& a, const Value& b) const;
  void compare_tensors(const Claim& claim, Look& look, const Value* leaf);
  [[nodiscard]] std::optional<Difference> tensor_difference(Ref a, Ref b);

  // fold.cpp: claims with affines, and linear operators.
  void examine_affine(Claim claim, Look& look);
  [[nodiscard]] bool pass(const Claim& claim, Look& look);
  struct Candidate;
  struct Pair;
  [[nodiscard]] bool examine_linear(const Claim& claim, Look& look);
  [[nodiscard]] bool examine_product(const Claim& claim, Look& look);
  [[nodiscard]] bool examine_pair(const Claim& claim, Pair pair, Look& look);
  void compare_operators(const Claim& claim, const Pair& pair, Look& look);
  [[nodiscard]] std::vector<Candidate> candidates(const Pair& pair);
  [[nodiscard]] Candidate most_likely(const Pair& pair, std::vector<Candidate> holding);
  [[nodiscard]] bool changes_nothing(const Pair& pair, const Candidate& candidate);
  [[nodiscard]] Recomputed try_candidate(const Pair& pair, const Candidate& candidate, bool thorough);
  void accept_fold(const Claim& claim, const Pair& pair, const Candidate& candidate, double near, Look& look);
  void reject_fold(const Claim& claim, const Pair& pair, const Candidate& candidate, Look& look);
  void give_up(const Claim& claim, Look& look);
  [[nodiscard]] bool spend(const Steps& steps);

  // flat.cpp: claims about elements in row-major order.
  void pass_reshapes(Ref& at, bool is_first, Look& look);
  [[nodiscard]] bool examine_reshaped(const Claim& claim, Look& look);
  void examine_flat(Claim claim, Look& look);
  [[nodiscard]] bool examine_flat_elements(const Claim& claim, Look& look);

  // Messages.
  [[nodiscard]] Issue issue_of_node(Unexplained::Kind kind, const Node& node, bool in_first, const std::string& text);
  [[nodiscard]] Issue issue_of_reader(Unexplained::Kind kind, const Claim& claim, const std::string& text);
  /// The second model reads what the claim is about, where the first one reads `wanted`.
  [[nodiscard]] Issue issue_of_other_value(const Claim& claim, const Value& wanted);
  [[nodiscard]] int64_t order_of(const Claim& claim) const;

  // leftovers.cpp: nodes that no claim reached.
  void claim_leftovers();
  void list_leftovers();

  Side a_, b_;
  Shapes shapes_a_, shapes_b_;
  std::vector<Claim> open_;
  struct PairHash {
    std::size_t operator()(const std::pair<Ref, Ref>& pair) const { return RefHash()(pair.first) * 1000003 + RefHash()(pair.second); }
  };
  std::unordered_set<std::pair<Ref, Ref>, PairHash> claimed_, claimed_flat_;
  std::unordered_map<std::pair<Ref, Ref>, std::optional<Difference>, PairHash> differences_;
  std::unordered_map<const Value*, const Value*> inputs_;                 ///< of paired graphs and functions: b's → a's
  std::unordered_map<const Graph*, const Graph*> graphs_;                 ///< b's nested graphs and functions → a's
  std::unordered_map<const Node*, const Node*> partners_a_, partners_b_;  ///< first counterpart
  std::unordered_set<const Node*> accounted_a_, accounted_b_;
  std::unordered_set<const Node*> bypassed_, folded_, evaluated_;
  std::unordered_map<const Node*, double> folds_;  ///< and how near they are, see Recomputed
  std::unordered_set<const Value*> equal_tensors_, permuted_tensors_;
  std::vector<Issue> issues_;
  std::vector<const Value*> outputs_a_, outputs_b_;  ///< graph outputs that have a counterpart
  int64_t settled_ = 0;
  std::size_t lanes_ = 0;    ///< that were carried along so far
  bool is_probing_ = false;  ///< within a look at what one of several readings rests on
  ProofResult result_;
};

}  // namespace relayout::proof
