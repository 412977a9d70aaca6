// Applies PyTorch's rule to a model, where each operator follows its first operand, so that reports can compare plans.

#include "layout/axis_order.h"
#include "layout/cost.h"
#include "layout/layout_cut.h"
#include "layout/layout_graph.h"
#include "layout/layout_plan.h"
#include "layout/ports.h"
#include "relayout/layout.h"

namespace relayout::layout {
namespace {

/// One pass downstream: each node decides by the orders of its operands.
class Propagation {
 public:
  explicit Propagation(const LayoutGraph& graph) : graph_(graph), connections_(graph), orders_(find_orders(graph, connections_)) {
    plan_.nodes.resize(graph.nodes.size());
    plan_.held.resize(graph.values.size());
    plan_.has_order.assign(graph.values.size(), true);
  }

  LayoutPlan run() {
    for (const LayoutValueId id : graph_.values.ids()) {
      const auto& fixed = graph_.values[id].fixed;
      if (connections_.producer(id) == LayoutNodeId::none && fixed) plan_.held[id] = *fixed;
    }
    for (const LayoutNodeId id : graph_.nodes.ids()) {
      step(id);
      if (orders_.is_shuffle[id]) continue;  // one copy, whatever order it is in
      const CostModel::Times times = default_costs().times(graph_, graph_.nodes[id], ports_at(id));
      plan_.contiguous_nanoseconds += times.contiguous;
      plan_.nanoseconds += plan_.nodes[id].is_ordered ? times.ordered : times.contiguous;
    }
    for (const LayoutValueId id : graph_.values.ids()) {
      const LayoutValue& value = graph_.values[id];
      if (value.is_output && is_tensor(id)) convert(id, value.fixed.value_or(AxisOrder{}), LayoutNodeId::none);
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool is_tensor(LayoutValueId id) const {
    const LayoutValue* const value = graph_.value(id);
    return value != nullptr && value->is_known() && !value->is_constant;
  }
  [[nodiscard]] Ports ports_at(LayoutNodeId node) const {
    Ports out = plan_.nodes[node].ports;
    out.inputs.resize(graph_.nodes[node].inputs.size());
    return out;
  }

  /// A copy for one reader alone.
  void convert(LayoutValueId value, const AxisOrder& to, LayoutNodeId reader) {
    const AxisOrder& held = plan_.held[value];
    if ((is_contiguous(held) && is_contiguous(to)) || held == to) return;
    plan_.copies.push_back({value, held, to, {reader}});
    plan_.nanoseconds += default_costs().copy_nanoseconds(graph_.values[value]);
  }

  void step(LayoutNodeId index) {
    const LayoutNode& node = graph_.nodes[index];
    NodePlan& plan = plan_.nodes[index];
    std::optional<Ports> ports = wanted_ports(graph_, node);
    if (!ports) ports = follow(index);
    plan.is_shuffle = orders_.is_shuffle[index];
    plan.is_ordered = ports.has_value();
    if (ports) plan.ports = std::move(*ports);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_tensor(node.inputs[i]) && reads_elements(node, i))
        convert(node.inputs[i], plan.is_ordered ? plan.ports.inputs[i] : AxisOrder{}, index);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!is_tensor(node.outputs[i]) || !plan.is_ordered || is_contiguous(plan.ports.outputs[i])) continue;
      plan_.held[node.outputs[i]] = plan.ports.outputs[i];
    }
  }

  /// Ports in the order of the first operand that is not smaller than the result.
  [[nodiscard]] std::optional<Ports> follow(LayoutNodeId index) const {
    const LayoutNode& node = graph_.nodes[index];
    const LayoutValue* const result = graph_.value(node.output(0));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const LayoutValueId input = node.inputs[i];
      if (!is_tensor(input) || !reads_elements(node, i)) continue;
      const bool is_full = i == 0 || (result != nullptr && graph_.values[input].dims == result->dims);
      if (!is_full) continue;
      const AxisOrder& held = plan_.held[input];
      if (is_contiguous(held) && graph_.values[input].dims == (result != nullptr ? result->dims : Dims{})) return std::nullopt;
      if (is_contiguous(held)) continue;
      if (orders_.is_shuffle[index]) return shuffled(index, held);
      auto answer = ports_of(graph_, node, {false, i}, held);
      auto* const ports = std::get_if<Ports>(&answer);
      return ports != nullptr ? std::optional(std::move(*ports)) : std::nullopt;
    }
    return std::nullopt;
  }

  /// A channel shuffle keeps the order of its operand, as one operator.
  [[nodiscard]] std::optional<Ports> shuffled(LayoutNodeId index, const AxisOrder& held) const {
    const Ports& ports = orders_.ports[index];
    return !ports.inputs.empty() && ports.inputs[0] == held ? std::optional(ports) : std::nullopt;
  }

  const LayoutGraph& graph_;
  Connections connections_;
  Orders orders_;
  LayoutPlan plan_;
};

}  // namespace

LayoutPlan propagate_layout(const LayoutGraph& graph) {
  return Propagation(graph).run();
}

LayoutPropagation sum_up_propagation(const LayoutGraph& graph) {
  const LayoutPlan plan = propagate_layout(graph);
  LayoutPropagation out;
  out.reorders = static_cast<int64_t>(plan.copies.size());
  for (const PlannedCopy& copy : plan.copies) out.bytes += graph.values[copy.value].bytes();
  out.predicted_gain = plan.predicted_gain();
  return out;
}

}  // namespace relayout::layout
