// Multiply-accumulates of a whole graph, and the operators whose products they leave out.
#include "inspect/macs.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/checked.h"
#include "layout/shapes.h"
#include "model/walk.h"
#include "ops/macs.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using DimsOf = std::function<const Dims*(const Value*)>;

bool is_recurrent(const Node& node) {
  return node.is("LSTM") || node.is("GRU") || node.is("RNN");
}

/// At each step of each sequence, every element of W [directions, gates · hidden, input] and R [directions, gates · hidden, hidden] is a
/// factor once. Input 0 is [steps, sequences, input], with `layout` = 1 [sequences, steps, input].
std::optional<int64_t> macs_of_recurrent(const Node& node, const DimsOf& dims_of) {
  const Dims *const x = dims_of(node.input(0)), *const w = dims_of(node.input(1)), *const r = dims_of(node.input(2));
  if (x == nullptr || w == nullptr || r == nullptr || x->size() != 3) return std::nullopt;
  const auto steps = checked_mul((*x)[0], (*x)[1]);
  const auto factors = checked_add(element_count(*w), element_count(*r));
  return steps && factors ? checked_mul(*steps, *factors) : std::nullopt;
}

std::optional<int64_t> macs_of_any(const Node& node, const DimsOf& dims_of) {
  return is_recurrent(node) ? macs_of_recurrent(node, dims_of) : macs_of(node, dims_of);
}

const Graph* function_of(const Node& node) {
  for (const std::unique_ptr<Graph>& function : node.graph().model().functions()) {
    const onnx::FunctionProto& called = *function->function();
    if (called.name() == node.op_type() && called.domain() == node.domain()) return function.get();
  }
  return nullptr;
}

/// Whether the node, or a graph or function that it runs, adds up products.
bool adds_up_products(const Node& node) {
  if (has_trait(node, Trait::multiplies)) return true;
  bool found = false;
  const auto visit = [&](const Node& inner) { found = found || adds_up_products(inner); };
  for (const std::unique_ptr<Graph>& graph : node.subgraphs()) for_each_node(static_cast<const Graph&>(*graph), visit);
  // A valid model's functions do not call each other in a circle.
  if (const Graph* const function = function_of(node); function != nullptr && !found) for_each_node(*function, visit);
  return found;
}

}  // namespace

std::optional<int64_t> count_macs(const Graph& graph, Shapes& shapes) {
  if (shapes.has_misfits()) return std::nullopt;
  int64_t total = 0;
  for (const Node& node : graph.nodes()) {
    const auto sum = macs_of_any(node, [&](const Value* value) { return shapes.dims_of(value); });
    const auto next = sum ? checked_add(total, *sum) : std::nullopt;
    if (!next) return std::nullopt;
    total = *next;
  }
  return total;
}

std::map<std::string, int64_t> operators_without_macs(const Graph& graph, Shapes& shapes) {
  std::map<std::string, int64_t> out;
  const DimsOf dims_of = [&](const Value* value) { return shapes.dims_of(value); };
  for (const Node& node : graph.nodes()) {
    if (macs_of_any(node, dims_of) != 0 || !adds_up_products(node)) continue;
    const Dims* const result = node.outputs().empty() ? nullptr : dims_of(node.output(0));
    if (result != nullptr && std::ranges::find(*result, 0) != result->end()) continue;
    ++out[node.domain().empty() ? node.op_type() : std::string(node.domain()) + ":" + node.op_type()];
  }
  return out;
}

}  // namespace relayout
