// Removes nodes that only hand on their operand.
//
//     y = Conv (x, W)                  z = Conv (x, W)
//     z = Identity (y)         →
//
// Identity, Dropout in inference, Transpose that moves nothing, Concat (Sum, Max, Min, Mean) of one operand, Cast to the type of its
// operand. A node stays if it passes a graph input, an initializer or another graph output to a graph output, since each of those has a
// name of its own.

#include "base/positions.h"
#include "model/node.h"
#include "ops/op.h"
#include "passes/affine.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

struct Removal {
  const Node* node = nullptr;
  std::vector<const Node*> taken;
  std::vector<const Node*> anchors;
  std::string detail;
};

bool moves_nothing(const Node& node) {
  const Attributes attributes(node);
  if (attributes.has_reference()) return false;
  const Dims permutation = attributes.integers("perm");
  if (permutation.empty()) return false;
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool keeps_type(const Node& node, PassContext& context) {
  const DataType from = context.constants.type_of(*node.input(0));
  return from != DataType::undefined && from == context.constants.type_of(*node.output(0));
}

bool does_nothing(const Node& node, PassContext& context) {
  if (node.input(0) == nullptr || node.output(0) == nullptr) return false;
  if (node.is("Transpose")) return moves_nothing(node);
  if (has_trait(node, Trait::casts)) return keeps_type(node, context);
  if (has_trait(node, Trait::one_is_itself)) return node.inputs().size() == 1;
  return passes_through(node, context);
}

/// Whether all readers of `of`, in nested graphs too, can refer to `value` by its name.
bool is_visible_to_readers(const Value& of, const Value& value) {
  return std::ranges::all_of(of.uses(), [&](const Use& use) { return use.node->graph().find(value.name()) == &value; });
}

Match<Removal> match_identity(const Node& node, PassContext& /*context*/) {
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    if (node.output(i) != nullptr && !is_unused(*node.output(i))) return NotApplicable{};
  }
  const Value& from = *node.input(0);
  const Value& to = *node.output(0);
  if (to.is_output()) {
    // The producer of the operand must be able to produce the graph output instead.
    const bool can_take_name = from.producer() != nullptr && &from.graph() == &node.graph() && !from.is_output();
    if (!can_take_name || !is_visible_to_readers(from, to)) return NotApplicable{};
  } else if (!is_visible_to_readers(to, from)) {
    return NotApplicable{};
  }
  return Removal{&node, {&node}, {}, {}};
}

void remove_node(Removal& removal, PassContext& context) {
  Node& node = writable(*removal.node);
  Graph& graph = node.graph();
  Value& from = *node.input(0);
  Value& to = *node.output(0);
  graph.set_input(node, 0, nullptr);
  if (to.is_output()) {
    Node& producer = *from.producer();
    const auto index = as_size(from.output_index());
    graph.replace_uses(from, to);
    graph.take_output(producer, index, to);
    context.constants.forget(to);
  } else {
    graph.replace_uses(to, from);
  }
  std::vector<Value*> freed;
  erase_node(node, freed);
  for (Value* value : freed) release(*value, context);
}

}  // namespace

void remove_identity(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, [&](const Node& node) { return does_nothing(node, context); }, match_identity, remove_node);
}

}  // namespace relayout::passes
