// Makes a matrix product and the constant that is added to it one Gemm.
//
//     p = MatMul (x, W)
//     y = Add (p, b)           →      y = Gemm (x, W, b)

#include "base/positions.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

struct BiasedProduct {
  const Node *product = nullptr, *sum = nullptr;
  Value* bias = nullptr;
  std::vector<const Node*> taken, anchors;
  std::string detail;
};

bool is_matrix(const Value* value, PassContext& context) {
  const PartialDims dims = value != nullptr ? context.constants.dims(*value) : std::nullopt;
  return dims && dims->size() == 2;
}

/// Whether a constant has one number per column of the product, or one for all: nothing grows by adding it.
bool is_bias(const Value& value, const Value& weight, PassContext& context) {
  const auto found = context.constants.find(value);
  const auto* const constant = std::get_if<Constant>(&found);
  const PartialDims columns = context.constants.dims(weight);
  if (constant == nullptr || constant->dims.empty() || constant->dims.size() > 2 || !columns) return false;
  const bool is_row = constant->dims.size() == 1 || constant->dims.front() == 1;
  return is_row && constant->dims.back() == columns->back() && columns->back() > 0;
}

Match<BiasedProduct> match_sum(const Node& sum, PassContext& context) {
  constexpr int64_t kBroadcasting = 7;  // first opset whose Gemm repeats a row
  if (sum.opset() < kBroadcasting || sum.inputs().size() != 2) return NotApplicable{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Value *const product = sum.input(i), *const bias = sum.input(1 - i);
    const Node* const node = product != nullptr ? product->producer() : nullptr;
    if (node == nullptr || bias == nullptr || !node->is("MatMul") || &node->graph() != &sum.graph()) continue;
    if (product->sole_use() == nullptr || !is_matrix(node->input(0), context) || !is_matrix(node->input(1), context)) continue;
    const DataType type = context.constants.type_of(*node->input(1));
    const bool is_plain = type == DataType::float32 || type == DataType::float64 || type == DataType::float16;
    if (!is_plain || !is_bias(*bias, *node->input(1), context)) continue;
    if (is_excluded(*node, context.options)) return Skip{Reason::excluded, {}};
    return BiasedProduct{node, &sum, sum.input(1 - i), {&sum}, {}, {}};
  }
  return NotApplicable{};
}

/// In the place of the sum, in front of which all operands are.
void make_gemm(const BiasedProduct& found, PassContext& context) {
  Node &product = writable(*found.product), &sum = writable(*found.sum);
  Graph& graph = sum.graph();
  graph.edit(sum).set_op_type("Gemm");
  Value* const bias = found.bias;
  graph.set_input(sum, 0, product.input(0));
  graph.set_input(sum, 1, product.input(1));
  graph.set_input(sum, 2, bias);
  std::vector<Value*> freed;
  erase_node(product, freed);
  for (Value* const value : freed) release(*value, context);
}

}  // namespace

void product_bias(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, [](const Node& node) { return node.is("Add"); }, match_sum, make_gemm);
}

}  // namespace relayout::passes
