#pragma once

#include <unordered_set>

#include "ops/element_types.h"
#include "relayout/graph.h"

namespace relayout {

/// The counterpart in one model of a value of the other model; both should be equal.
struct Partner {
  const Value* value = nullptr;
  bool by_structure = false;   ///< found by operators and positions, because the name is gone
  bool channels_last = false;  ///< b's value has a's second axis last
  bool before_jump = false;    ///< operand of results that jump, in both models: those are compared first
};

/// Maps values of nodes in `b`'s main graph to the values of `a` that should be equal. First by name, unless a fold of the nodes downstream
/// left the name at another value, and upstream of Casts with which only b leaves its 16 bits; then by operator and position next to paired
/// values, where a folded chain (BatchNormalization and the like) counts as its convolution. Leaves out nodes that no output depends on. A
/// hint, never a proof.
[[nodiscard]] std::unordered_map<const Value*, Partner> pair_values(const Graph& a, const Graph& b);

/// Whether a node casts real numbers to a type that holds them all: what is said about its result holds for its operand.
[[nodiscard]] bool widens(const Node& node, const ElementTypes& types);

/// Whether no input reaches a value: it is stored, or follows from stored constants.
[[nodiscard]] bool is_out_of_reach(const Value& value);
/// The results of nodes for which that is so.
[[nodiscard]] std::unordered_set<const Value*> values_out_of_reach(const Graph& graph);

/// Values that depend on no input, or on the dims of inputs alone.
[[nodiscard]] std::unordered_set<const Value*> values_known_by_dims(const Graph& graph);

}  // namespace relayout
