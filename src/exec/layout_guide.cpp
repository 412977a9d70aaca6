// Plans the layout of the nodes that will run, by default costs or those measured here, and tells in which order each wants its operands.

#include "exec/layout_guide.h"

#include "base/indexed.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "base/random.h"
#include "base/times.h"
#include "exec/inference.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "layout/cost.h"
#include "layout/layout_graph.h"
#include "layout/layout_plan.h"
#include "layout/ports.h"
#include "model/node.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
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

// Measured costs: operators timed alone in both layouts on this machine.
namespace {

constexpr int64_t kLongEnough = 10'000'000;  ///< nanoseconds
constexpr int kLeastRuns = 3, kMostRuns = 200;
constexpr int64_t kMostElements = int64_t{1} << 28;  ///< of all operands: larger ones keep their default

/// One node as a model by itself: operands and result contiguous, or passed channels-last.
class Bench {
 public:
  Bench(const layout::LayoutGraph& graph, const layout::LayoutNode& node, const layout::Ports* ordered)
      : graph_(graph), node_(node), ordered_(ordered) {
    const Model& model = node.node->graph().model();
    message_.set_ir_version(model.ir_version());
    for (const auto& import : model.message().opset_import()) *message_.add_opset_import() = import;
    message_.mutable_graph()->set_name("bench");
  }

  /// Nanoseconds of the fastest run; nothing when the node does not run.
  std::optional<int64_t> run(int threads) {
    if (!build()) return std::nullopt;
    try {
      const auto model = Model::from_bytes(message_.SerializeAsString(), "bench");
      ExecuteOptions options;
      options.threads = threads;
      options.layout = ordered_ != nullptr ? LayoutChoice::always : LayoutChoice::never;
      Executor executor(model->graph(), options);
      (void)executor.run(inputs_);
      auto best = std::numeric_limits<int64_t>::max();
      const Stopwatch all;
      for (int i = 0; i < kMostRuns && (i < kLeastRuns || all.nanoseconds() < kLongEnough); ++i) {
        const Stopwatch one;
        (void)executor.run(inputs_);
        best = std::min(best, one.nanoseconds());
      }
      return best;
    } catch (const Error& error) {
      if (is_interruption(error.kind())) throw;
      return std::nullopt;
    }
  }

 private:
  [[nodiscard]] bool is_last(const std::vector<layout::AxisOrder>& orders, std::size_t index, const layout::LayoutValue& value) const {
    return index < orders.size() && !layout::is_contiguous(orders[index]) &&
           orders[index] == layout::order_of(layout::channels_last_axes(value.dims.size()), value.dims);
  }

  bool build() {
    auto& graph = *message_.mutable_graph();
    onnx::NodeProto node = node_.node->message();
    node.clear_input();
    node.clear_output();
    int64_t elements = 0;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const layout::LayoutValue* const value = graph_.value(node_.inputs[i]);
      if (value == nullptr) {
        node.add_input("");
        continue;
      }
      const bool is_float = value->type == DataType::float32;
      if (!value->is_known() || (!is_float && !value->integers)) return false;
      elements += element_count(value->dims);
      if (elements > kMostElements) return false;
      add_operand("x" + std::to_string(i), *value, ordered_ != nullptr && is_last(ordered_->inputs, i, *value), node);
    }
    const layout::LayoutValue* const made = graph_.value(node_.output(0));
    if (made == nullptr || made->type != DataType::float32) return false;
    node.add_output("y");
    const bool last = ordered_ != nullptr && is_last(ordered_->outputs, 0, *made);
    *graph.add_node() = node;
    if (last) add_transpose("y", "z", layout::to_channels_last(made->dims.size()));
    add_port(*graph.add_output(), last ? "z" : "y", made->type, {});
    return true;
  }

  static void add_port(onnx::ValueInfoProto& port, const std::string& name, DataType type, const std::optional<Dims>& dims) {
    port.set_name(name);
    auto& tensor = *port.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(static_cast<int>(type));
    if (!dims) return;
    tensor.mutable_shape();
    for (const int64_t dim : *dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }

  void add_transpose(const std::string& from, const std::string& to, const Dims& permutation) {
    onnx::NodeProto node = node_message("Transpose", {from}, {to});
    set_integers(node, "perm", permutation);
    *message_.mutable_graph()->add_node() = std::move(node);
  }

  void add_operand(const std::string& name, const layout::LayoutValue& value, bool last, onnx::NodeProto& node) {
    auto& graph = *message_.mutable_graph();
    node.add_input(name);
    if (value.is_constant) {
      onnx::TensorProto& tensor = *graph.add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(static_cast<int>(value.type));
      for (const int64_t dim : value.dims) tensor.add_dims(dim);
      // Contents that steer the operator are kept; any numbers will do as weights.
      const auto bytes = [](const auto& values) {
        return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
      };
      if (value.integers) {
        tensor.set_data_type(onnx::TensorProto::INT64);
        tensor.set_raw_data(bytes(*value.integers));
      } else {
        tensor.set_raw_data(bytes(numbers(element_count(value.dims))));
      }
      return;
    }
    Dims dims = value.dims;
    const std::string given = last ? name + ".nhwc" : name;
    if (last) {
      const Dims permutation = layout::to_channels_last(dims.size());
      for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = element_at(value.dims, permutation[i]);
      add_transpose(given, name, layout::from_channels_last(dims.size()));
    }
    add_port(*graph.add_input(), given, value.type, dims);
    Tensor tensor(value.type, dims);
    std::ranges::copy(numbers(tensor.element_count()), tensor.data<float>());
    inputs_.emplace(given, Datum(std::move(tensor)));
  }

  static std::vector<float> numbers(int64_t count) {
    const RandomStream random(1, "bench");
    std::vector<float> out(as_size(count));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(random.below(i, 17)) / 16 - 0.5F;
    return out;
  }

  const layout::LayoutGraph& graph_;
  const layout::LayoutNode& node_;
  const layout::Ports* ordered_;
  onnx::ModelProto message_;
  Inputs inputs_;
};

/// Key under which a time is kept.
std::string key_of(const layout::LayoutGraph& graph, const layout::LayoutNode& node, const layout::Ports& ports) {
  std::string out = node.node->op_type();
  for (const onnx::AttributeProto& attribute : node.node->message().attribute()) out += "|" + attribute.SerializeAsString();
  const auto add = [&](const std::vector<layout::LayoutValueId>& values, const std::vector<layout::AxisOrder>& orders) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const layout::LayoutValue* const value = graph.value(values[i]);
      out += value != nullptr ? "|" + relayout::to_string(value->dims) : "|-";
      if (i < orders.size()) out += relayout::to_string(orders[i]);
    }
  };
  add(node.inputs, ports.inputs);
  add(node.outputs, ports.outputs);
  return out;
}

}  // namespace

int64_t MeasuredCosts::copy_nanoseconds(const layout::LayoutValue& value) const {
  return layout::default_costs().copy_nanoseconds(value);
}

layout::CostModel::Times MeasuredCosts::times(const layout::LayoutGraph& graph, const layout::LayoutNode& node,
                                              const layout::Ports& ports) const {
  const Times otherwise = layout::default_costs().times(graph, node, ports);
  const bool is_timed = node.op != nullptr && layout::depends_on_layout(*node.op);
  if (!is_timed || ports.outputs.empty()) return otherwise;
  const auto [entry, is_new] = known_.try_emplace(key_of(graph, node, ports), otherwise);
  if (!is_new) return entry->second;
  const auto contiguous = Bench(graph, node, nullptr).run(threads_);
  const auto ordered = contiguous ? Bench(graph, node, &ports).run(threads_) : std::nullopt;
  if (ordered) entry->second = {*contiguous, *ordered};
  return entry->second;
}

}  // namespace relayout::exec
