// PyTorch's rule as a plan of its own, for comparison: each operator follows the order of its first operand.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "layout/axis_order.h"
#include "layout/connections.h"
#include "layout/cost.h"
#include "layout/layout_graph.h"
#include "layout/orders.h"
#include "layout/plan.h"
#include "layout/ports.h"

namespace relayout {
namespace {

/// Forward, once: each node decides by what it finds.
class Propagation {
 public:
  explicit Propagation(const LayoutGraph& graph) : graph_(graph), connections_(graph), orders_(find_orders(graph, connections_)) {
    plan_.nodes.resize(graph.nodes.size());
    plan_.held.resize(graph.values.size());
    plan_.has_order.assign(graph.values.size(), true);
  }

  LayoutPlan run() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (connections_.producer(static_cast<int>(i)) < 0 && graph_.values[i].fixed) plan_.held[i] = *graph_.values[i].fixed;
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      step(static_cast<int>(i));
      if (orders_.is_shuffle[i]) continue;  // one copy, whatever order it is in
      const CostModel::Times times = default_costs().times(graph_, graph_.nodes[i], ports_at(i));
      plan_.contiguous_nanoseconds += times.contiguous;
      plan_.nanoseconds += plan_.nodes[i].is_ordered ? times.ordered : times.contiguous;
    }
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].is_output && is_tensor(static_cast<int>(i)))
        convert(static_cast<int>(i), graph_.values[i].fixed.value_or(AxisOrder{}), -1);
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool is_tensor(int value) const {
    return value >= 0 && graph_.values[static_cast<std::size_t>(value)].is_known() &&
           !graph_.values[static_cast<std::size_t>(value)].is_constant;
  }
  [[nodiscard]] Ports ports_at(std::size_t node) const {
    Ports out = plan_.nodes[node].ports;
    out.inputs.resize(graph_.nodes[node].inputs.size());
    return out;
  }

  /// A copy for one reader alone.
  void convert(int value, const AxisOrder& to, int reader) {
    const AxisOrder& held = plan_.held[static_cast<std::size_t>(value)];
    if ((is_contiguous(held) && is_contiguous(to)) || held == to) return;
    plan_.copies.push_back({value, held, to, {reader}});
    plan_.nanoseconds += default_costs().copy_nanoseconds(graph_.values[static_cast<std::size_t>(value)]);
  }

  void step(int index) {
    const LayoutNode& node = graph_.nodes[static_cast<std::size_t>(index)];
    NodePlan& plan = plan_.nodes[static_cast<std::size_t>(index)];
    std::optional<Ports> ports = wanted_ports(graph_, node);
    if (!ports) ports = follow(index);
    plan.is_shuffle = orders_.is_shuffle[static_cast<std::size_t>(index)];
    plan.is_ordered = ports.has_value();
    if (ports) plan.ports = std::move(*ports);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_tensor(node.inputs[i]) && reads_elements(node, i))
        convert(node.inputs[i], plan.is_ordered ? plan.ports.inputs[i] : AxisOrder{}, index);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!is_tensor(node.outputs[i]) || !plan.is_ordered || is_contiguous(plan.ports.outputs[i])) continue;
      plan_.held[static_cast<std::size_t>(node.outputs[i])] = plan.ports.outputs[i];
    }
  }

  /// The order of the first operand that is not smaller than the result.
  [[nodiscard]] std::optional<Ports> follow(int index) const {
    const LayoutNode& node = graph_.nodes[static_cast<std::size_t>(index)];
    const LayoutValue* const result = graph_.value(node.output(0));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = node.inputs[i];
      if (!is_tensor(input) || !reads_elements(node, i)) continue;
      const bool is_full = i == 0 || (result != nullptr && graph_.values[static_cast<std::size_t>(input)].dims == result->dims);
      if (!is_full) continue;
      const AxisOrder& held = plan_.held[static_cast<std::size_t>(input)];
      if (is_contiguous(held) && graph_.values[static_cast<std::size_t>(input)].dims == (result != nullptr ? result->dims : Dims{}))
        return std::nullopt;
      if (is_contiguous(held)) continue;
      if (orders_.is_shuffle[static_cast<std::size_t>(index)]) return shuffled(index, held);
      auto answer = ports_of(graph_, node, {false, i}, held);
      auto* const ports = std::get_if<Ports>(&answer);
      return ports != nullptr ? std::optional(std::move(*ports)) : std::nullopt;
    }
    return std::nullopt;
  }

  /// A channel shuffle keeps the order it gets, as one operator.
  [[nodiscard]] std::optional<Ports> shuffled(int index, const AxisOrder& held) const {
    const Ports& ports = orders_.ports[static_cast<std::size_t>(index)];
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

}  // namespace relayout
