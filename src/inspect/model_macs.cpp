// Multiply-accumulates of a whole graph, and the operators whose products they leave out.
#include "inspect/model_macs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/checked.h"
#include "layout/shapes.h"
#include "model/functions.h"
#include "model/walk.h"
#include "ops/macs.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Whether the node, or a graph or function that it runs, adds up products.
bool adds_up_products(const Node& node, const Functions& functions) {
  if (has_trait(node, Trait::multiplies)) return true;
  bool found = false;
  const auto visit = [&](const Node& inner) { found = found || adds_up_products(inner, functions); };
  for (const std::unique_ptr<Graph>& graph : node.subgraphs()) for_each_node(static_cast<const Graph&>(*graph), visit);
  // A valid model's functions do not call each other in a circle.
  const Graph* const function = functions.called_by(node);
  if (function != nullptr && !found) for_each_node(*function, visit);
  return found;
}

}  // namespace

std::optional<int64_t> count_macs(const Graph& graph, Shapes& shapes) {
  if (!shapes.misfit().empty()) return std::nullopt;
  int64_t total = 0;
  for (const Node& node : graph.nodes()) {
    const auto sum = macs_of(node, [&](const Value* value) { return shapes.dims_of(value); });
    const auto next = sum ? checked_add(total, *sum) : std::nullopt;
    if (!next) return std::nullopt;
    total = *next;
  }
  return total;
}

std::map<std::string, int64_t> operators_without_macs(const Graph& graph, Shapes& shapes) {
  std::map<std::string, int64_t> out;
  const Functions functions(graph.model());
  const DimsOf dims_of = [&](const Value* value) { return shapes.dims_of(value); };
  for (const Node& node : graph.nodes()) {
    if (macs_of(node, dims_of) != 0 || !adds_up_products(node, functions)) continue;
    const Dims* const result = node.outputs().empty() ? nullptr : dims_of(node.output(0));
    if (result != nullptr && std::ranges::find(*result, 0) != result->end()) continue;
    ++out[node.domain().empty() ? node.op_type() : std::string(node.domain()) + ":" + node.op_type()];
  }
  return out;
}

}  // namespace relayout
