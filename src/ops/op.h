// One line of the op table: layout rules (agnostic, wants, axis_mapped, view, barrier, shape_only), functions, and how a node's operator,
// kernel and traits are looked up.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/op_call.h"
#include "ops/traits.h"
#include "relayout/graph.h"

namespace relayout {

/// How an operator treats layouts. No default: an entry without a rule does not compile.
enum class LayoutRule : uint8_t {
  agnostic,     ///< all full-rank operands and results share one order
  wants,        ///< faster in channels-last: convolutions
  axis_mapped,  ///< same order on both sides, its axis attribute is logical
  view,         ///< moves no data: the order is mapped by strides
  barrier,      ///< reads and writes contiguous order only
  shape_only,   ///< reads no data
};

class Body;

/// Writes the body of one node of an operator that is a composition of standard ones (ops/body.h). Error{unsupported} for a form that has
/// no body.
using WriteBody = void (*)(Body& body);

/// One line of the op table: all facts about an operator. Other folders keep no lists of facts, only their own decisions.
struct Op {
  std::string_view name;
  int since;     ///< first opset of its domain with the operator
  int reviewed;  ///< newest opset whose text this code was compared with
  LayoutRule layout;
  Traits traits;
  Infer infer;  ///< nullptr for control flow, as compute
  Compute compute;
  View view = nullptr;
  bool in_place = false;  ///< may write its first output over its first input (elementwise)
  std::string_view domain = {};
  WriteBody body = nullptr;  ///< the executor runs the nodes of the body instead
};

/// The operator of the default domain, or nullptr.
[[nodiscard]] const Op* find_op(std::string_view name);
/// The operator of a node, also of another domain (ops/composed.h); nullptr for an operator in no table, and for a node that calls a
/// function of the model.
[[nodiscard]] const Op* find_op(const Node& node);
/// The operator of a node if it has a kernel: nullptr for control flow and for nodes with nested graphs.
[[nodiscard]] const Op* find_kernel(const Node& node);
/// The traits of a node's operator: Traits::none() for one that is not in the tables.
[[nodiscard]] Traits traits_of(const Node& node);
[[nodiscard]] inline bool has_trait(const Node& node, Trait trait) {
  return traits_of(node).has(trait);
}
[[nodiscard]] inline Arithmetic arithmetic_of(const Node& node) {
  return traits_of(node).arithmetic();
}
[[nodiscard]] inline Predicate predicate_of(const Node& node) {
  return traits_of(node).predicate();
}
/// Whether a node passes numbers on within given limits, or the larger or smaller of several: Clip, Max and Min; not Relu, whose limit is
/// not given.
[[nodiscard]] bool limits(const Node& node);
/// Whether a node only moves the elements of input 0 to other axes: Transpose, Reshape, Flatten, Squeeze, Unsqueeze.
[[nodiscard]] bool only_moves_axes(const Node& node);
/// The operand from which a node subtracts the largest of its numbers, or to which it adds its negative, as in a Softmax that is written
/// out; nullptr: none.
[[nodiscard]] const Value* less_its_largest(const Node& node);
/// The whole table of the default domain, by name.
[[nodiscard]] std::span<const Op> op_table();

}  // namespace relayout
