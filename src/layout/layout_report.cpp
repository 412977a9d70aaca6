// A plan in words: regions that run channels-last, reorders with their readers, and operators that lose channels-last with the reason.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "layout/axis_order.h"
#include "layout/connections.h"
#include "layout/layout_graph.h"
#include "layout/plan.h"
#include "layout/ports.h"
#include "layout/shapes.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/layout.h"

namespace relayout {
namespace {

// Changing layouts inside of a graph is too much ("thrashing") above this share of all bytes, or from this many on with more than one for
// every so many convolutions.
constexpr double kMostInnerShare = 0.05;
constexpr int64_t kMostInnerReorders = 2, kConvolutionsPerReorder = 4;

class Reporter {
 public:
  Reporter(const LayoutGraph& graph, const LayoutPlan& plan) : graph_(graph), plan_(plan), connections_(graph) {}

  LayoutReport run() {
    number_tensors();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) add_operator(static_cast<int>(i));
    for (const PlannedCopy& copy : plan_.copies) add_reorder(copy);
    for (const int value : plan_.packs) out_.packs.push_back(tensor_of(value));
    find_regions();
    add_up();
    judge();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const LayoutValue& value(int number) const { return graph_.values[static_cast<std::size_t>(number)]; }
  [[nodiscard]] int tensor_of(int value) const { return value < 0 ? -1 : tensors_[static_cast<std::size_t>(value)]; }
  [[nodiscard]] const AxisOrder& held(int value) const { return plan_.held[static_cast<std::size_t>(value)]; }

  static std::string name_of(const Node& node) {
    const Value* const first = node.output(0);
    return !node.name().empty() || first == nullptr ? node.name() : first->name();
  }

  void number_tensors() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const LayoutValue& entry = graph_.values[i];
      tensors_.push_back(-1);
      const bool is_used =
          entry.is_output || connections_.producer(static_cast<int>(i)) >= 0 || !connections_.reads(static_cast<int>(i)).empty();
      if (entry.is_constant || !is_used) continue;
      tensors_.back() = static_cast<int>(out_.tensors.size());
      TensorLayout& made = out_.tensors.emplace_back();
      made.name = entry.value->name();
      made.is_input = connections_.producer(static_cast<int>(i)) < 0;
      made.is_output = entry.is_output;
      values_.push_back(static_cast<int>(i));
      if (!entry.is_known()) continue;
      made.type = entry.type;
      made.dims = entry.dims;
      made.bytes = entry.bytes();
      made.layout = order_name(plan_.held[i], entry.dims);
    }
  }

  void add_operator(int index) {
    const LayoutNode& node = graph_.nodes[static_cast<std::size_t>(index)];
    const NodePlan& plan = plan_.nodes[static_cast<std::size_t>(index)];
    OperatorLayout& made = out_.operators.emplace_back();
    made.node = name_of(*node.node);
    made.op_type = (node.node->domain().empty() ? "" : std::string(node.node->domain()) + ":") + node.node->op_type();
    made.wants = node.op != nullptr && node.op->layout == LayoutRule::wants;
    out_.convolutions += made.wants ? 1 : 0;
    made.layout = layout_of(node, plan);
    made.nanoseconds = plan.is_ordered ? plan.times.ordered : plan.times.contiguous;
    for (const int input : node.inputs) {
      if (tensor_of(input) >= 0) made.inputs.push_back(tensor_of(input));
    }
    for (const int output : node.outputs) {
      if (tensor_of(output) >= 0) made.outputs.push_back(tensor_of(output));
    }
    if (plan.is_ordered) return;
    made.reason = plan.has_choice ? "contiguous is cheaper here" : plan.barrier;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = node.inputs[i];
      made.loses |= input >= 0 && !is_contiguous(held(input)) && reads_elements(node, i);
    }
  }

  [[nodiscard]] std::string layout_of(const LayoutNode& node, const NodePlan& plan) const {
    if (!plan.has_choice) return plan.barrier.empty() ? "either" : "contiguous";
    if (!plan.is_ordered) return "contiguous";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] >= 0 && !is_contiguous(plan.ports.inputs[i])) return order_name(plan.ports.inputs[i], value(node.inputs[i]).dims);
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
    const bool for_caller_alone = copy.readers.size() == 1 && copy.readers.front() < 0;
    made.inner = connections_.producer(copy.value) >= 0 && !for_caller_alone;
    for (const int reader : copy.readers) {
      if (reader < 0) {
        made.readers.emplace_back();
        continue;
      }
      const OperatorLayout& op = out_.operators[static_cast<std::size_t>(reader)];
      made.readers.push_back(op.node);
      if (made.reason.empty()) made.reason = op.op_type + (op.reason.empty() ? " runs in " + op.layout : ": " + op.reason);
    }
    if (made.reason.empty()) made.reason = "callers get contiguous tensors";
    out_.reorders.push_back(std::move(made));
  }

  /// Tensors of an order that the same operator reads and writes in that order are one region.
  void find_regions() {
    std::vector<int> parent(out_.tensors.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int tensor) {
      while (parent[static_cast<std::size_t>(tensor)] != tensor) {
        tensor = parent[static_cast<std::size_t>(tensor)] = parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(tensor)])];
      }
      return tensor;
    };
    std::vector<int> anchors(graph_.nodes.size(), -1);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!plan_.nodes[i].is_ordered) continue;
      const auto join = [&](const std::vector<int>& values, const std::vector<AxisOrder>& orders) {
        for (std::size_t k = 0; k < values.size(); ++k) {
          const int tensor = tensor_of(values[k]);
          if (tensor < 0 || is_contiguous(orders[k])) continue;
          if (anchors[i] < 0) anchors[i] = tensor;
          parent[static_cast<std::size_t>(root(tensor))] = root(anchors[i]);
        }
      };
      join(graph_.nodes[i].inputs, plan_.nodes[i].ports.inputs);
      join(graph_.nodes[i].outputs, plan_.nodes[i].ports.outputs);
    }
    std::vector<int> numbers(out_.tensors.size(), -1);
    const auto region_of = [&](int tensor) {
      int& number = numbers[static_cast<std::size_t>(root(tensor))];
      if (number < 0) {
        number = static_cast<int>(out_.regions.size());
        out_.regions.emplace_back();
      }
      return number;
    };
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      if (anchors[i] < 0) continue;
      LayoutRegion& region = out_.regions[static_cast<std::size_t>(region_of(anchors[i]))];
      const OperatorLayout& op = out_.operators[i];
      if (region.operators++ == 0) region.first = op.node;
      region.last = op.node;
      region.convolutions += op.wants ? 1 : 0;
    }
    for (std::size_t i = 0; i < out_.tensors.size(); ++i) {
      if (is_contiguous(held(values_[i]))) continue;
      out_.tensors[i].region = region_of(static_cast<int>(i));
      out_.regions[static_cast<std::size_t>(out_.tensors[i].region)].bytes += out_.tensors[i].bytes;
    }
  }

  void add_up() {
    for (std::size_t i = 0; i < out_.tensors.size(); ++i) {
      const TensorLayout& tensor = out_.tensors[i];
      out_.activation_bytes += tensor.bytes;
      const bool is_ordered = !is_contiguous(held(values_[i]));
      if (is_ordered) out_.ordered_bytes += tensor.bytes;
      const bool could_be = !tensor.is_input && tensor.dims.size() > 3 && tensor.layout == "contiguous";
      if (is_ordered || could_be) out_.orderable_bytes += tensor.bytes;
    }
    for (const TensorReorder& reorder : out_.reorders) {
      out_.reorder_bytes += reorder.bytes;
      if (reorder.inner) out_.inner_reorder_bytes += reorder.bytes;
    }
    if (plan_.nanoseconds > 0) {
      out_.predicted_gain = static_cast<double>(plan_.contiguous_nanoseconds) / static_cast<double>(plan_.nanoseconds);
    }
  }

  void judge() {
    const int64_t inner = std::ranges::count(out_.reorders, true, &TensorReorder::inner);
    const double share = static_cast<double>(out_.inner_reorder_bytes) / static_cast<double>(std::max<int64_t>(out_.activation_bytes, 1));
    if (plan_.nanoseconds > plan_.contiguous_nanoseconds) {
      out_.thrash_reason = "everything contiguous would be faster";
    } else if (share > kMostInnerShare) {
      out_.thrash_reason = "tensors inside are reordered that hold more than 5 % of all bytes";
    } else if (inner >= kMostInnerReorders && inner * kConvolutionsPerReorder > out_.convolutions) {
      out_.thrash_reason = std::to_string(inner) + " reorders inside for " + std::to_string(out_.convolutions) + " convolutions";
    }
    out_.thrashes = !out_.thrash_reason.empty();
  }

  const LayoutGraph& graph_;
  const LayoutPlan& plan_;
  Connections connections_;
  std::vector<int> tensors_;  ///< per value; -1: not shown
  std::vector<int> values_;   ///< per tensor
  LayoutReport out_;
};

LayoutPropagation compare(const LayoutGraph& planned) {
  const LayoutPlan followed = propagate_layout(planned);
  LayoutPropagation out;
  out.reorders = static_cast<int64_t>(followed.copies.size());
  for (const PlannedCopy& copy : followed.copies) out.bytes += planned.values[static_cast<std::size_t>(copy.value)].bytes();
  if (followed.nanoseconds > 0) {
    out.predicted_gain = static_cast<double>(followed.contiguous_nanoseconds) / static_cast<double>(followed.nanoseconds);
  }
  return out;
}

LayoutReport report_graph(const Graph& graph, Shapes& shapes, const LayoutRequest& request) {
  const LayoutGraph planned = layout_graph(graph, shapes);
  LayoutReport out = Reporter(planned, plan_layout(planned, {request.choice, request.costs})).run();
  out.assumed = shapes.assumed();
  if (request.compare) out.propagation = compare(planned);
  for (const LayoutNode& entry : planned.nodes) {
    const Node& node = *entry.node;
    for (const auto& nested : node.subgraphs()) {
      Shapes inner(*nested, sizes_inside(node, *nested, shapes, request.sizes), &shapes);
      const bool is_named = !node.name().empty() || node.output(0) == nullptr;
      NestedLayout made{is_named ? node.name() : node.output(0)->name(), node.op_type(), {}, report_graph(*nested, inner, request)};
      for (const onnx::AttributeProto& attribute : node.message().attribute()) {
        if (attribute.has_g() && &attribute.g() == nested->message()) made.attribute = attribute.name();
      }
      out.nested.push_back(std::move(made));
    }
  }
  return out;
}

}  // namespace

LayoutReport report_layout(const Graph& graph, const LayoutRequest& request) {
  Shapes shapes(graph, request.sizes);
  return report_graph(graph, shapes, request);
}

}  // namespace relayout
