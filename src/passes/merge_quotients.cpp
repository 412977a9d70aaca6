// Makes a product with the reciprocal of a root one quotient.
//
//     r = Div (1, s)
//     y = Mul (x, r)           →      y = Div (x, s)          where s is a root, so that 1 / s does not overflow

#include "model/node.h"
#include "ops/constants.h"
#include "ops/operands.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

struct Quotient {
  const Node *reciprocal = nullptr, *product = nullptr;
  Value *dividend = nullptr, *divisor = nullptr;
  std::vector<const Node*> taken, anchors;
  std::string detail;
};

bool is_one(const Value* value, PassContext& context) {
  if (value == nullptr) return false;
  const auto found = context.constants.find(*value);
  const auto* const constant = std::get_if<Constant>(&found);
  return constant != nullptr && !constant->strings && constant->dims.empty() && context.constants.type_of(*value) == constant->type &&
         reals_of(constant->load()) == std::vector<double>{1};
}

/// What a node divides 1 by; nullptr for other nodes.
Value* divisor_of_one(const Node& node, PassContext& context) {
  if (node.is("Reciprocal")) return node.input(0);
  return node.is("Div") && is_one(node.input(0), context) ? node.input(1) : nullptr;
}

Match<Quotient> match_product(const Node& product, PassContext& context) {
  constexpr int64_t kBroadcasting = 7;  // first opset whose Div repeats operands as numpy does
  if (product.opset() < kBroadcasting || product.inputs().size() != 2) return NotApplicable{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Value* const factor = product.input(i);
    const Node* const node = factor != nullptr ? factor->producer() : nullptr;
    if (node == nullptr || product.input(1 - i) == nullptr || &node->graph() != &product.graph()) continue;
    if (factor->sole_use() == nullptr) continue;
    Value* const divisor = divisor_of_one(*node, context);
    if (divisor == nullptr || divisor->producer() == nullptr || !divisor->producer()->is("Sqrt")) continue;
    if (is_excluded(*node, context.options)) return Skip{Reason::excluded, {}};
    return Quotient{node, &product, product.input(1 - i), divisor, {&product}, {}, {}};
  }
  return NotApplicable{};
}

void make_quotient(const Quotient& found, PassContext& context) {
  Node &reciprocal = writable(*found.reciprocal), &product = writable(*found.product);
  Graph& graph = product.graph();
  graph.edit(product).set_op_type("Div");
  graph.set_input(product, 0, found.dividend);
  graph.set_input(product, 1, found.divisor);
  std::vector<Value*> freed;
  erase_node(reciprocal, freed);
  for (Value* const value : freed) release(*value, context);
}

}  // namespace

void merge_quotients(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, [](const Node& node) { return node.is("Mul"); }, match_product, make_quotient);
}

}  // namespace relayout::passes
