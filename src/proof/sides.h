#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "proof/claim.h"
#include "proof/recompute.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// Both models as the proof reads them, and the correspondences of their graphs and inputs.
class Sides {
 public:
  /// `widens`: see Side.
  Sides(const Model& first, const Model& second, bool widens);
  Side a, b;
  Shapes shapes_a, shapes_b;
  KnownFolds folds;
  std::unordered_set<const Value*> narrow_inputs;  ///< of the second model, of int64: hold numbers of 32 bits
  bool rounds_first = false;                       ///< the first model quantizes numbers
  bool is_probing = false;                         ///< within a look at the claims that one of several readings of an operator depends on

  void pair_inputs(const Value& of_a, const Value& of_b) { inputs_.emplace(&of_b, &of_a); }
  /// Pairs two graphs and their inputs. A graph of the second model has one counterpart.
  void pair_graphs(const Graph& of_a, const Graph& of_b);
  [[nodiscard]] bool same_input(const Value& of_a, const Value& of_b) const;
  /// The counterpart of a nested graph or function of the second model, or nullptr.
  [[nodiscard]] const Graph* graph_of_first(const Graph& of_b) const;
  /// Graphs of the first model with a counterpart.
  [[nodiscard]] std::unordered_set<const Graph*> paired_graphs() const;

  /// Whether two values have the same known type. Values of different types do not correspond, whatever is computed from them.
  [[nodiscard]] bool have_one_type(Ref of_a, Ref of_b);
  /// The difference of two constants; empty if either is not constant, or if their types or dims differ. Cached.
  [[nodiscard]] std::optional<Difference> tensor_difference(Ref of_a, Ref of_b);
  /// Counts the lanes of carried affines; false if their total is too large.
  [[nodiscard]] bool spend(std::size_t lanes);

 private:
  std::unordered_map<RefPair, std::optional<Difference>, RefPairHash> differences_;
  std::unordered_map<const Value*, const Value*> inputs_;  ///< inputs of paired graphs and functions: b's → a's
  std::unordered_map<const Graph*, const Graph*> graphs_;  ///< nested graphs and functions: b's → a's
  std::size_t lanes_ = 0;
};

// Issues, in the order of their nodes in the second model.

[[nodiscard]] int64_t order_of(const Sides& sides, const Claim& claim);
[[nodiscard]] Issue issue_of_node(const Sides& sides, Unexplained::Kind kind, const Node& node, bool in_first, const std::string& text);
[[nodiscard]] Issue issue_of_reader(const Sides& sides, Unexplained::Kind kind, const Claim& claim, const std::string& text);
/// The second model reads the claim's value where the first one reads `wanted`.
[[nodiscard]] Issue issue_of_other_value(const Sides& sides, const Claim& claim, const Value& wanted);

}  // namespace relayout::proof
