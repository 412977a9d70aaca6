// Finds the operators (Add, BatchNormalization, activations) that a plan treats as one with a convolution. No border between layouts then
// prevents the executor from fusing them.
#include "layout/post_ops.h"

#include <algorithm>

#include "layout/layout_graph.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/types.h"

namespace relayout::layout {

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

}  // namespace relayout::layout
