// Computes the layout plan: from possible orders and their costs the cheapest cut, then its reorders and their gain.

#include "layout/layout_plan.h"

#include "base/indexed.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "layout/axis_order.h"
#include "layout/cost.h"
#include "layout/layout_cut.h"
#include "layout/layout_graph.h"
#include "layout/ports.h"
#include "ops/loops/strided.h"
#include "ops/op.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

/// Builds the choice between contiguous and each node's ports, and reads the solution.
class Planner {
 public:
  Planner(const LayoutGraph& graph, const PlanningOptions& options)
      : graph_(graph),
        options_(options),
        costs_(options.costs != nullptr ? *options.costs : default_costs()),
        connections_(graph),
        orders_(find_orders(graph, connections_)) {}

  LayoutPlan run() {
    plan_.nodes.resize(graph_.nodes.size());
    plan_.held.resize(graph_.values.size());
    plan_.has_order.assign(graph_.values.size(), false);
    for (const LayoutNodeId id : graph_.nodes.ids()) take_node(id);
    for (const LayoutValueId id : graph_.values.ids()) take_value(id);
    pin();
    const Modes modes = solve(problem_);
    for (const LayoutNodeId id : graph_.nodes.ids()) plan_.nodes[id].is_ordered = has_choice(id) && modes[orders_.op_of[id]];
    for (std::size_t i = 0; i < taken_.size(); ++i) note_copies(i, modes);
    plan_.nanoseconds = base_ + cost(problem_, modes);
    plan_.contiguous_nanoseconds = base_ + cost(problem_, Modes(problem_.ops.size(), false));
    plan_.packs = find_packs(graph_, connections_, plan_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool has_choice(LayoutNodeId node) const { return orders_.op_of[node] != OperatorId::none; }

  void take_node(LayoutNodeId index) {
    const LayoutNode& node = graph_.nodes[index];
    NodePlan& plan = plan_.nodes[index];
    plan.ports = orders_.ports[index];
    plan.barrier = orders_.barriers[index];
    plan.is_shuffle = orders_.is_shuffle[index];
    plan.has_choice = has_choice(index);
    if (plan.ports.inputs.empty()) plan.ports.inputs.resize(node.inputs.size());
    // A shuffle is one copy in any order; fused operators cost the same in either mode.
    if (!plan.is_shuffle && !orders_.is_fused[index]) plan.times = costs_.times(graph_, node, plan.ports);
    base_ += plan.has_choice ? std::min(plan.times.contiguous, plan.times.ordered) : plan.times.contiguous;
    if (!plan.has_choice) return;
    const OperatorId op = orders_.op_of[index];
    if (op >= problem_.ops.end_id()) problem_.ops.resize(index_of(op) + 1);
    problem_.ops[op].gain += plan.times.contiguous - plan.times.ordered;
  }

  /// Number of an order among those of a value; 0 is contiguous.
  static int number(std::vector<AxisOrder>& known, const AxisOrder& order) {
    if (is_contiguous(order)) return 0;
    const auto found = std::ranges::find(known, order);
    if (found != known.end()) return static_cast<int>(found - known.begin()) + 1;
    known.push_back(order);
    return static_cast<int>(known.size());
  }

  void take_value(LayoutValueId index) {
    const LayoutValue& value = graph_.values[index];
    if (!value.is_known() || value.is_constant) return;
    std::vector<AxisOrder> orders;
    LayoutCut::Value entry;
    const LayoutNodeId maker = connections_.producer(index);
    if (maker != LayoutNodeId::none && has_choice(maker)) {
      const auto& ports = orders_.ports[maker];
      entry.order = number(orders, ports.outputs[connections_.output_index(index)]);
      entry.op = entry.order == 0 ? OperatorId::none : orders_.op_of[maker];
    } else if (maker == LayoutNodeId::none && value.fixed) {
      entry.order = number(orders, *value.fixed);
    }
    for (const Connections::Read& read : connections_.reads(index)) {
      if (!reads_elements(graph_.nodes[read.node], read.input)) continue;
      const int order = has_choice(read.node) ? number(orders, orders_.ports[read.node].inputs[read.input]) : 0;
      entry.readers.push_back({order == 0 ? OperatorId::none : orders_.op_of[read.node], order});
    }
    if (value.is_output) entry.readers.push_back({OperatorId::none, value.fixed ? number(orders, *value.fixed) : 0});
    if (orders.empty()) return;
    entry.copy_cost = costs_.copy_nanoseconds(value);
    plan_.has_order[index] = true;
    problem_.values.push_back(std::move(entry));
    taken_.push_back({index, std::move(orders)});
  }

  void pin() {
    if (options_.choice == LayoutChoice::automatic) return;
    for (const LayoutNodeId id : graph_.nodes.ids()) {
      const LayoutNode& node = graph_.nodes[id];
      if (!has_choice(id)) continue;
      auto& mode = problem_.ops[orders_.op_of[id]].mode;
      if (options_.choice == LayoutChoice::never) mode = false;
      if (options_.choice == LayoutChoice::always && node.op->layout == LayoutRule::wants) mode = true;
    }
  }

  void note_copies(std::size_t taken, const Modes& modes) {
    const auto& [index, orders] = taken_[taken];
    const LayoutCut::Value& entry = problem_.values[taken];
    const Dims& dims = graph_.values[index].dims;
    const auto order_at = [&](int number) {
      return number == 0 ? order_of(contiguous_axes(dims.size()), dims) : element_at(orders, number - 1);
    };
    const auto order_in_mode = [&](OperatorId op, int order) { return op == OperatorId::none || modes[op] ? order : 0; };
    const int held = order_in_mode(entry.op, entry.order);
    if (held != 0) plan_.held[index] = order_at(held);
    for (const int to : copies(entry, modes)) {
      PlannedCopy copy{index, order_at(held), order_at(to), {}};
      std::size_t reader = 0;
      for (const Connections::Read& read : connections_.reads(index)) {
        if (!reads_elements(graph_.nodes[read.node], read.input)) continue;
        const LayoutCut::Reader& entry_reader = entry.readers[reader++];
        if (order_in_mode(entry_reader.op, entry_reader.order) == to) copy.readers.push_back(read.node);
      }
      if (reader < entry.readers.size() && order_in_mode(OperatorId::none, entry.readers[reader].order) == to)
        copy.readers.push_back(LayoutNodeId::none);
      plan_.copies.push_back(std::move(copy));
    }
  }

  struct Taken {
    LayoutValueId value;
    std::vector<AxisOrder> orders;
  };
  const LayoutGraph& graph_;
  PlanningOptions options_;
  const CostModel& costs_;
  Connections connections_;
  Orders orders_;
  LayoutCut problem_;
  std::vector<Taken> taken_;  ///< values of the problem
  LayoutPlan plan_;
  int64_t base_ = 0;  ///< costs that no choice changes
};

}  // namespace

double LayoutPlan::predicted_gain() const noexcept {
  return nanoseconds > 0 ? static_cast<double>(contiguous_nanoseconds) / static_cast<double>(nanoseconds) : 1;
}

std::optional<AxisOrder> LayoutPlan::wanted(const LayoutGraph& graph, LayoutNodeId node, std::size_t input) const {
  const LayoutValueId value = graph.nodes[node].input(input);
  if (value == LayoutValueId::none || !has_order[value] || !reads_elements(graph.nodes[node], input)) return std::nullopt;
  if (nodes[node].is_ordered) return nodes[node].ports.inputs[input];
  const Dims& dims = graph.values[value].dims;
  return order_of(contiguous_axes(dims.size()), dims);
}

LayoutPlan plan_layout(const LayoutGraph& graph, const PlanningOptions& options) {
  return Planner(graph, options).run();
}

// Plans that reorder too much.
namespace {

// Reorders inside a graph are too many ("thrashing") above this share of all bytes, or from this number on with more than one for every
// kConvolutionsPerReorder convolutions.
constexpr double kMostInnerShare = 0.05;
constexpr int64_t kMostInnerReorders = 2, kConvolutionsPerReorder = 4;

}  // namespace

std::string thrash_reason(const LayoutReport& report, const LayoutPlan& plan) {
  const int64_t inner = std::ranges::count(report.reorders, true, &TensorReorder::inner);
  const double share = static_cast<double>(report.inner_reorder_bytes) / static_cast<double>(std::max<int64_t>(report.activation_bytes, 1));
  if (plan.nanoseconds > plan.contiguous_nanoseconds) return "everything contiguous would be faster";
  if (share > kMostInnerShare) return "tensors inside are reordered that hold more than 5 % of all bytes";
  if (inner >= kMostInnerReorders && inner * kConvolutionsPerReorder > report.convolutions) {
    return counted(inner, "reorder") + " inside for " + counted(report.convolutions, "convolution");
  }
  return {};
}

// Views with gaps that a reader needs dense, and their copies.
namespace {

/// Follows views downstream, and checks the needs of their readers.
class Gaps {
 public:
  Gaps(const LayoutGraph& graph, const Connections& connections, const LayoutPlan& plan)
      : graph_(graph), connections_(connections), plan_(plan), strides_(graph.values.size()) {}

  std::vector<LayoutValueId> run() {
    for (const LayoutNodeId id : graph_.nodes.ids()) follow(id);
    std::vector<LayoutValueId> out;
    for (const LayoutValueId id : strides_.ids()) {
      if (strides_[id] && needs_pack(id)) out.push_back(id);
    }
    return out;
  }

 private:
  [[nodiscard]] const LayoutValue& value(LayoutValueId id) const { return graph_.values[id]; }
  [[nodiscard]] const AxisOrder& held(LayoutValueId id) const { return plan_.held[id]; }
  [[nodiscard]] AxisOrder held_order(LayoutValueId id) const {
    return held(id).empty() ? order_of(contiguous_axes(value(id).dims.size()), value(id).dims) : held(id);
  }

  /// The strides with which a node reads its first operand: the operand's own, or those of a dense copy in the order that it wants.
  [[nodiscard]] Dims strides_read(LayoutNodeId node, LayoutValueId id) const {
    const auto wanted = plan_.wanted(graph_, node, 0);
    if (wanted && *wanted != held_order(id)) return strides_of(*wanted, value(id).dims);
    const auto& strides = strides_[id];
    return strides ? *strides : strides_of(held(id), value(id).dims);
  }

  /// Notes the strides of a view's results that are not dense in their planned order.
  void follow(LayoutNodeId index) {
    const LayoutNode& node = graph_.nodes[index];
    if (!is_view(node) || node.op->name == "Expand") return;
    const LayoutValue* const x = graph_.value(node.input(0));
    if (x == nullptr || !x->is_known() || x->is_constant) return;
    const Dims strides = strides_read(index, node.input(0));
    for (const LayoutValueId output : node.outputs) {
      if (output == LayoutValueId::none || !value(output).is_known()) continue;
      const auto seen = viewed(node, *x, strides, value(output).dims);
      if (!seen || element_count(value(output).dims) == 0) continue;
      const auto order = order_of_strides(value(output).dims, *seen);
      const bool in_order = order == held_order(output);
      // The node itself produces a planned order that strides do not give.
      if (plan_.has_order[output] && !in_order) continue;
      if (!in_order || !is_dense(value(output).dims, *seen)) strides_[output] = *seen;
    }
  }

  static std::optional<Dims> viewed(const LayoutNode& node, const LayoutValue& x, const Dims& strides, const Dims& dims) {
    const Traits traits = node.op->traits;
    const bool renames_dims = traits.has(Trait::keeps_order) && !traits.has(Trait::same_dims);
    if (renames_dims) return reshape_strides(TensorDesc{x.type, x.dims, strides}, dims);
    if (node.op->name != "Transpose") return dims.size() == strides.size() ? std::optional(strides) : std::nullopt;
    const auto permutation = permutation_of(*node.node, x.dims.size());
    if (!permutation) return std::nullopt;
    Dims out;
    for (const int64_t axis : *permutation) out.push_back(element_at(strides, axis));
    return out;
  }

  [[nodiscard]] bool needs_pack(LayoutValueId id) const {
    return std::ranges::any_of(connections_.reads(id), [&](const Connections::Read& read) {
      const auto wanted = plan_.wanted(graph_, read.node, read.input);
      if (wanted && *wanted != held_order(id)) return false;
      return needs_dense(graph_.nodes[read.node], read.input, *strides_[id]);
    });
  }

  /// Whether a kernel needs a dense copy of an operand with these strides.
  [[nodiscard]] bool needs_dense(const LayoutNode& node, std::size_t input, const Dims& strides) const {
    if (node.op == nullptr) return true;
    const Traits traits = node.op->traits;
    const LayoutValue& x = value(node.input(input));
    if (traits.has(Trait::linear) && !traits.convolution_weight())
      return x.type != DataType::float32 || input > 1 || !is_matrix(x.dims, strides) || is_stack(node, input);
    if (node.op->layout == LayoutRule::barrier) return true;
    return input == 0 && x.type == DataType::float32 && traits.has(Trait::dense);
  }

  /// Whether one of the last two dims is dense.
  static bool is_matrix(const Dims& dims, const Dims& strides) {
    if (dims.size() < 2) return false;
    const std::size_t last = dims.size() - 1;
    const int64_t row = strides[last - 1], column = strides[last];
    return ((column == 1 || dims[last] == 1) && row >= dims[last]) || ((row == 1 || dims[last - 1] == 1) && column >= dims[last - 1]);
  }
  /// Whether many matrices are multiplied by one: their rows are one long matrix.
  [[nodiscard]] bool is_stack(const LayoutNode& node, std::size_t input) const {
    const LayoutValue* const other = graph_.value(node.input(1));
    return input == 0 && value(node.input(0)).dims.size() > 2 && other != nullptr && other->dims.size() == 2;
  }

  const LayoutGraph& graph_;
  const Connections& connections_;
  const LayoutPlan& plan_;
  IdVector<LayoutValueId, std::optional<Dims>> strides_;  ///< of values that are not dense in their planned order
};

}  // namespace

std::vector<LayoutValueId> find_packs(const LayoutGraph& graph, const Connections& connections, const LayoutPlan& plan) {
  return Gaps(graph, connections, plan).run();
}

}  // namespace relayout::layout
