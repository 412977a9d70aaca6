// Plans the layout of the nodes that will run, and tells in which order each wants its operands.
#include "exec/layout_guide.h"

#include "base/indexed.h"
#include "exec/inference.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "layout/layout_graph.h"
#include "layout/layout_plan.h"
#include "relayout/types.h"

namespace relayout::exec {

LayoutGuide::LayoutGuide(const Program& program, const std::vector<NodeId>& nodes, const IdVector<ValueId, ValueState>& states,
                         const layout::PlanningOptions& options) {
  for (const NodeId index : nodes) {
    const ProgramNode& node = program.nodes()[index];
    nodes_[index] = graph_.nodes.end_id();
    layout::LayoutNode made{node.node, node.node->subgraphs().empty() ? node.op : nullptr, {}, {}};
    for (const ValueId input : node.inputs) made.inputs.push_back(id_of(program, states, input));
    for (const ValueId output : node.outputs) made.outputs.push_back(id_of(program, states, output));
    graph_.nodes.add(std::move(made));
    for (const ValueId output : node.outputs) {
      if (output != ValueId::none) graph_.values[values_.at(output)].is_output = program.is_output(output);
    }
  }
  answers_ = layout::see_through_sequences(graph_);
  plan_ = layout::plan_layout(graph_, options);
}

layout::LayoutValueId LayoutGuide::id_of(const Program& program, const IdVector<ValueId, ValueState>& states, ValueId value) {
  if (value == ValueId::none) return layout::LayoutValueId::none;
  const auto [entry, is_new] = values_.try_emplace(value, graph_.values.end_id());
  if (!is_new) return entry->second;
  layout::LayoutValue& made = graph_.values[graph_.values.add()];
  const ValueState& state = states[value];
  made.value = program.values()[value];
  if (state.is_tensor() && layout::is_plannable(state.info->type, state.info->dims)) {
    made.type = state.info->type;
    made.dims = state.info->dims;
    // A result of an earlier plan keeps its order.
    if (state.strides && layout::is_dense(made.dims, *state.strides)) made.fixed = layout::order_of_strides(made.dims, *state.strides);
  }
  made.is_constant = state.constant != nullptr;
  if (state.constant && state.constant->is_loaded()) made.integers = layout::small_integers(state.constant->tensor());
  return entry->second;
}

layout::LayoutNodeId LayoutGuide::place_of(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? layout::LayoutNodeId::none : answers_[found->second];
}

std::optional<layout::AxisOrder> LayoutGuide::wanted(NodeId node, std::size_t input) const {
  const layout::LayoutNodeId place = place_of(node);
  return place == layout::LayoutNodeId::none ? std::nullopt : plan_.wanted(graph_, place, input);
}

std::optional<layout::AxisOrder> LayoutGuide::made(NodeId node, std::size_t output) const {
  const layout::LayoutNodeId place = place_of(node);
  const layout::LayoutValueId value =
      place == layout::LayoutNodeId::none ? layout::LayoutValueId::none : graph_.nodes[place].output(output);
  if (value == layout::LayoutValueId::none || !plan_.has_order[value]) return std::nullopt;
  const layout::AxisOrder& held = plan_.held[value];
  const Dims& dims = graph_.values[value].dims;
  return held.empty() ? layout::order_of(layout::contiguous_axes(dims.size()), dims) : held;
}

std::optional<bool> LayoutGuide::is_ordered(NodeId node) const {
  const layout::LayoutNodeId place = place_of(node);
  if (place == layout::LayoutNodeId::none || !plan_.nodes[place].has_choice) return std::nullopt;
  return plan_.nodes[place].is_ordered;
}

bool LayoutGuide::has_order(ValueId value) const {
  const auto found = values_.find(value);
  return found != values_.end() && plan_.has_order[found->second];
}

}  // namespace relayout::exec
