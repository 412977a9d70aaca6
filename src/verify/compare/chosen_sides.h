#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "model/functions.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout {

/// An operand of a Where behind which alone a model computes something that a proof leaves open: elements that the condition does not
/// choose hide it.
struct ChosenSide {
  const Node* where = nullptr;
  std::size_t operand = 0;  ///< 1: chosen where the condition is true; 2: where it is false
};

/// Finds such operands in one of two models.
class ChosenSides {
 public:
  /// Whether a value of the other model is to be equal to one of this model.
  using IsPartner = std::function<bool(const Value& mine, const Value& theirs)>;
  ChosenSides(const Model& model, const Model& other, const ProofResult& proof, bool is_first, IsPartner is_partner);

  /// Those among the nodes that compute a value from others where `ends` holds, in nested graphs and functions too. `more`: nodes that are
  /// open besides those that the proof tells.
  [[nodiscard]] std::vector<ChosenSide> of(const Value& value, const std::function<bool(const Value&)>& ends,
                                           const std::vector<const Node*>& more) const;

 private:
  using Nodes = std::vector<const Node*>;
  /// The nodes between, but for those that only this operand leads to.
  [[nodiscard]] Nodes reach(const Value& value, const std::function<bool(const Value&)>& ends, const ChosenSide& without) const;
  /// Whether this operand of a Where that is open itself may be another value than that of the other model's.
  [[nodiscard]] bool is_other_operand(const ChosenSide& side) const;

  const Model& other_;
  Functions functions_;
  std::unordered_set<const Node*> open_;  ///< about which there is an entry of another kind than constants, or that the proof did not reach
  IsPartner is_partner_;
};

}  // namespace relayout
