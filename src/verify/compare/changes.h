#pragma once

#include "relayout/graph.h"
#include "verify/compare/compare_nodes.h"
#include "verify/pair.h"

namespace relayout {

/// An operand of a Where behind which alone a model computes something that a proof leaves open: elements that the condition does not
/// choose hide it.
struct ChosenSide {
  const Node* where = nullptr;
  std::size_t operand = 0;  ///< 1: chosen where the condition is true; 2: where it is false
};

/// A value of both models that a proof leaves open, and the nodes upstream in which the models differ.
struct Change {
  const Value* a = nullptr;
  const Value* b = nullptr;
  std::vector<std::size_t> entries;  ///< of ProofResult::unexplained
  std::vector<const Node*> of_a;     ///< nodes that b lacks or has in another form
  std::vector<const Node*> of_b;
  std::vector<ChosenSide> sides_of_a, sides_of_b;  ///< behind which alone nodes of a, or of b, are open
};

/// The differences between two models: one change for each value that a proof leaves open. None for nodes that depend on no input, or on
/// dims alone, nor for nodes that no output depends on.
class Changes {
 public:
  /// `paired`: with a proof.
  Changes(const Pair& pair, const Paired& paired);

  [[nodiscard]] const std::vector<Change>& all() const noexcept { return changes_; }
  /// The change of a value of b, by its name; nullptr: none.
  [[nodiscard]] const Change* of_b(const std::string& tensor) const;

 private:
  std::vector<Change> changes_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// The first node of a change that `is_wanted` accepts; nullptr: none.
[[nodiscard]] const Node* find_changed(const Change& change, bool (*is_wanted)(const Node&));

}  // namespace relayout
