// Lists a layout plan for reports, with its sums and the reason where channels-last ends.

#include "base/indexed.h"
#include "base/positions.h"
#include "layout/axis_order.h"
#include "layout/cost.h"
#include "layout/graph_shapes.h"
#include "layout/layout_graph.h"
#include "layout/layout_plan.h"
#include "layout/ports.h"
#include "model/node.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/layout.h"

namespace relayout::layout {
namespace {

class Listing {
 public:
  Listing(const LayoutGraph& graph, const LayoutPlan& plan)
      : graph_(graph), plan_(plan), connections_(graph), tensors_(graph.values.size(), -1) {}

  LayoutReport run() {
    number_tensors();
    for (const LayoutNodeId id : graph_.nodes.ids()) add_operator(id);
    for (const PlannedCopy& copy : plan_.copies) add_reorder(copy);
    for (const LayoutValueId value : plan_.packs) out_.packs.push_back(tensor_of(value));
    find_regions();
    add_up(out_);
    out_.predicted_gain = plan_.predicted_gain();
    out_.thrash_reason = thrash_reason(out_, plan_);
    out_.thrashes = !out_.thrash_reason.empty();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const LayoutValue& value(LayoutValueId id) const { return graph_.values[id]; }
  [[nodiscard]] int tensor_of(LayoutValueId value) const { return value == LayoutValueId::none ? -1 : tensors_[value]; }
  [[nodiscard]] const AxisOrder& held(LayoutValueId value) const { return plan_.held[value]; }

  void number_tensors() {
    for (const LayoutValueId id : graph_.values.ids()) {
      const LayoutValue& entry = graph_.values[id];
      const bool is_made = connections_.producer(id) != LayoutNodeId::none;
      const bool is_used = entry.is_output || is_made || !connections_.reads(id).empty();
      if (entry.is_constant || !is_used) continue;
      tensors_[id] = static_cast<int>(out_.tensors.size());
      TensorLayout& made = out_.tensors.emplace_back();
      made.name = entry.value->name();
      made.is_input = !is_made;
      made.is_output = entry.is_output;
      values_.push_back(id);
      if (!entry.is_known()) continue;
      made.type = entry.type;
      made.dims = entry.dims;
      made.bytes = entry.bytes();
      made.layout = order_name(plan_.held[id], entry.dims);
    }
  }

  void add_operator(LayoutNodeId index) {
    const LayoutNode& node = graph_.nodes[index];
    const NodePlan& plan = plan_.nodes[index];
    OperatorLayout& made = out_.operators.emplace_back();
    made.node = reported_name(*node.node);
    made.op_type = (node.node->domain().empty() ? "" : std::string(node.node->domain()) + ":") + node.node->op_type();
    made.wants = node.op != nullptr && node.op->layout == LayoutRule::wants;
    made.layout = layout_of(node, plan);
    made.nanoseconds = plan.is_ordered ? plan.times.ordered : plan.times.contiguous;
    for (const LayoutValueId input : node.inputs) {
      if (tensor_of(input) >= 0) made.inputs.push_back(tensor_of(input));
    }
    for (const LayoutValueId output : node.outputs) {
      if (tensor_of(output) >= 0) made.outputs.push_back(tensor_of(output));
    }
    if (plan.is_ordered) return;
    made.reason = plan.has_choice ? "contiguous is cheaper here" : plan.barrier;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const LayoutValueId input = node.inputs[i];
      made.loses |= input != LayoutValueId::none && !layout::is_contiguous(held(input)) && reads_elements(node, i);
    }
  }

  [[nodiscard]] std::string layout_of(const LayoutNode& node, const NodePlan& plan) const {
    if (!plan.has_choice) return plan.barrier.empty() ? "either" : "contiguous";
    if (!plan.is_ordered) return "contiguous";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != LayoutValueId::none && !layout::is_contiguous(plan.ports.inputs[i]))
        return order_name(plan.ports.inputs[i], value(node.inputs[i]).dims);
    }
    return order_name(plan.ports.outputs.front(), value(node.output(0)).dims);
  }

  void add_reorder(const PlannedCopy& copy) {
    TensorReorder made;
    made.tensor = tensor_of(copy.value);
    const LayoutValue& entry = value(copy.value);
    made.from = order_name(copy.from, entry.dims);
    made.to = order_name(copy.to, entry.dims);
    made.bytes = entry.bytes();
    const bool for_caller_alone = copy.readers.size() == 1 && copy.readers.front() == LayoutNodeId::none;
    made.inner = connections_.producer(copy.value) != LayoutNodeId::none && !for_caller_alone;
    for (const LayoutNodeId reader : copy.readers) {
      if (reader == LayoutNodeId::none) {
        made.readers.emplace_back();
        continue;
      }
      const OperatorLayout& op = out_.operators[index_of(reader)];
      made.readers.push_back(op.node);
      if (made.reason.empty()) made.reason = op.op_type + (op.reason.empty() ? " runs in " + op.layout : ": " + op.reason);
    }
    if (made.reason.empty()) made.reason = "callers get contiguous tensors";
    out_.reorders.push_back(std::move(made));
  }

  /// Joins the tensors that one operator reads or writes in an order other than contiguous into one region.
  void find_regions() {
    IdVector<LayoutValueId, LayoutValueId> parent(graph_.values.size());
    for (const LayoutValueId id : parent.ids()) parent[id] = id;
    const auto root = [&](LayoutValueId value) {
      while (parent[value] != value) value = parent[value] = parent[parent[value]];
      return value;
    };
    IdVector<LayoutNodeId, LayoutValueId> anchors(graph_.nodes.size(), LayoutValueId::none);
    for (const LayoutNodeId id : graph_.nodes.ids()) {
      if (!plan_.nodes[id].is_ordered) continue;
      const auto join = [&](const std::vector<LayoutValueId>& values, const std::vector<AxisOrder>& orders) {
        for (std::size_t k = 0; k < values.size(); ++k) {
          if (tensor_of(values[k]) < 0 || is_contiguous(orders[k])) continue;
          if (anchors[id] == LayoutValueId::none) anchors[id] = values[k];
          parent[root(values[k])] = root(anchors[id]);
        }
      };
      join(graph_.nodes[id].inputs, plan_.nodes[id].ports.inputs);
      join(graph_.nodes[id].outputs, plan_.nodes[id].ports.outputs);
    }
    IdVector<LayoutValueId, std::optional<std::size_t>> numbers(graph_.values.size());
    const auto region_of = [&](LayoutValueId value) {
      auto& number = numbers[root(value)];
      if (!number) {
        number = out_.regions.size();
        out_.regions.emplace_back();
      }
      return *number;
    };
    for (const LayoutNodeId id : anchors.ids()) {
      if (anchors[id] == LayoutValueId::none) continue;
      LayoutRegion& region = out_.regions[region_of(anchors[id])];
      const OperatorLayout& op = out_.operators[index_of(id)];
      if (region.operators++ == 0) region.first = op.node;
      region.last = op.node;
      region.convolutions += op.wants ? 1 : 0;
    }
    for (std::size_t i = 0; i < out_.tensors.size(); ++i) {
      if (!is_contiguous(held(values_[i]))) out_.tensors[i].region = static_cast<int>(region_of(values_[i]));
    }
  }

  const LayoutGraph& graph_;
  const LayoutPlan& plan_;
  Connections connections_;
  IdVector<LayoutValueId, int> tensors_;  ///< index of the tensor that shows a value; -1: not shown
  std::vector<LayoutValueId> values_;     ///< per tensor
  LayoutReport out_;
};

LayoutReport report_graph(const Graph& graph, Shapes& shapes, const LayoutRequest& request, const CostModel& costs) {
  const LayoutGraph planned = layout_graph(graph, shapes);
  LayoutReport out = Listing(planned, plan_layout(planned, {request.choice, &costs})).run();
  out.assumed = shapes.assumed();
  if (request.compare) out.propagation = sum_up_propagation(planned);
  for (const LayoutNode& entry : planned.nodes) {
    const Node& node = *entry.node;
    const std::vector<std::string_view> attributes = node.subgraph_attributes();
    auto attribute = attributes.begin();
    for_each_nested_shapes(node, shapes, request.sizes, [&](const Graph& nested, Shapes& inside) {
      out.nested.push_back({reported_name(node), node.op_type(), std::string(*attribute++), report_graph(nested, inside, request, costs)});
    });
  }
  return out;
}

}  // namespace

LayoutReport report_layout(const Graph& graph, const LayoutRequest& request, const CostModel& costs) {
  Shapes shapes(graph, request.sizes);
  return report_graph(graph, shapes, request, costs);
}

}  // namespace relayout::layout

namespace relayout {

LayoutReport report_layout(const Graph& graph, const LayoutRequest& request) {
  return layout::report_layout(graph, request, layout::default_costs());
}

}  // namespace relayout

namespace relayout::layout {

// Sums and shares.
namespace {

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void add_tensor(LayoutReport& report, const TensorLayout& tensor) {
  report.activation_bytes += tensor.bytes;
  const bool is_ordered = tensor.region >= 0;
  if (is_ordered) {
    report.ordered_bytes += tensor.bytes;
    report.regions[as_size(tensor.region)].bytes += tensor.bytes;
  }
  const bool could_be = !tensor.is_input && tensor.dims.size() > 3 && tensor.layout == "contiguous";
  if (is_ordered || could_be) report.orderable_bytes += tensor.bytes;
}

}  // namespace

void add_up(LayoutReport& report) {
  report.convolutions = std::ranges::count(report.operators, true, &OperatorLayout::wants);
  for (const TensorLayout& tensor : report.tensors) add_tensor(report, tensor);
  for (const TensorReorder& reorder : report.reorders) {
    report.reorder_bytes += reorder.bytes;
    if (reorder.inner) report.inner_reorder_bytes += reorder.bytes;
  }
  for (LayoutRegion& region : report.regions) region.share = share(region.bytes, report.activation_bytes);
  report.ordered_share = share(report.ordered_bytes, report.orderable_bytes);
  report.reorder_share = share(report.reorder_bytes, report.activation_bytes);
}

}  // namespace relayout::layout
