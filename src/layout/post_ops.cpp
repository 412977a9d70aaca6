// Decides which nodes are one operator with a convolution in a layout plan (Add, BatchNormalization right after it, activations), and which
// of two convolutions takes an Add: the last. No border between layouts then prevents the executor from fusing them.
#include "layout/post_ops.h"

#include <algorithm>
#include <vector>

#include "layout/connections.h"
#include "layout/layout_graph.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

/// Whether a node that alone reads `value` runs as a part of the convolution before it.
bool fuses(const LayoutGraph& graph, const LayoutNode& node, LayoutValueId value, bool is_first) {
  const LayoutValue *const in = graph.value(value), *const out = graph.value(node.output(0));
  if (node.op == nullptr || in == nullptr || out == nullptr || !in->is_known() || !out->is_known()) return false;
  if (in->type != DataType::float32 || out->type != DataType::float32 || in->dims != out->dims) return false;
  if (node.op->name == "Add") {
    if (node.inputs.size() != 2) return false;
    const LayoutValue* const other = graph.value(node.inputs[node.inputs[0] == value ? 1 : 0]);
    return other != nullptr && other->is_known() && other->dims == out->dims;
  }
  if (node.input(0) != value) return false;
  const auto is_constant = [&](LayoutValueId input) { return input == LayoutValueId::none || graph.value(input)->is_constant; };
  if (!std::ranges::all_of(node.inputs.begin() + 1, node.inputs.end(), is_constant)) return false;
  if (node.op->name == "BatchNormalization") return is_first;
  return node.op->traits.has(Trait::post_op);
}

}  // namespace

std::vector<LayoutNodeId> fusing_convolutions(const LayoutGraph& graph) {
  std::vector<LayoutNodeId> out;
  for (const LayoutNodeId id : graph.nodes.ids()) {
    const Op* const op = graph.nodes[id].op;
    if (op != nullptr && op->layout == LayoutRule::wants && op->traits.has(Trait::linear)) out.push_back(id);
  }
  std::ranges::reverse(out);
  return out;
}

LayoutNodeId post_op_of(const LayoutGraph& graph, const Connections& connections, LayoutValueId value, bool is_first) {
  const LayoutNodeId reader = only_reader(graph, connections, value);
  return reader != LayoutNodeId::none && fuses(graph, graph.nodes[reader], value, is_first) ? reader : LayoutNodeId::none;
}

}  // namespace relayout::layout
