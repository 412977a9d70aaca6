// Tells for each operator which operands and results share an order, and why channels-last ends at one.

#include "layout/ports.h"

#include "base/positions.h"
#include "layout/axis_order.h"
#include "layout/layout_graph.h"
#include "model/node.h"
#include "ops/op.h"
#include "ops/op_history.h"
#include "relayout/error.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

using Answer = std::variant<Ports, Barrier>;

/// A node with one of its ports in an order: the argument of a rule.
class Query {
 public:
  Query(const LayoutGraph& graph, const LayoutNode& node, NodePort port, const AxisOrder& order)
      : graph_(graph), node_(node), port_(port), order_(order) {}

  [[nodiscard]] const LayoutNode& node() const { return node_; }
  [[nodiscard]] NodePort port() const { return port_; }
  [[nodiscard]] const AxisOrder& order() const { return order_; }
  [[nodiscard]] Attributes attributes() const { return Attributes(*node_.node); }
  [[nodiscard]] const LayoutValue* input(std::size_t index) const { return known(node_.input(index)); }
  [[nodiscard]] const LayoutValue* output(std::size_t index) const { return known(node_.output(index)); }
  /// Dims of the port in question, which is known.
  [[nodiscard]] const Dims& dims() const {
    return graph_.value(port_.is_output ? node_.output(port_.index) : node_.input(port_.index))->dims;
  }
  /// The same query for another port.
  [[nodiscard]] Query at(NodePort port) const { return {graph_, node_, port, order_}; }
  [[nodiscard]] bool is_first_input() const { return !port_.is_output && port_.index == 0; }
  [[nodiscard]] bool is_first_output() const { return port_.is_output && port_.index == 0; }

  /// All ports contiguous.
  [[nodiscard]] Ports contiguous() const {
    Ports out;
    const auto fill = [&](const std::vector<LayoutValueId>& values, std::vector<AxisOrder>& orders) {
      for (const LayoutValueId value : values) {
        const LayoutValue* const entry = known(value);
        orders.push_back(entry != nullptr ? order_of(contiguous_axes(entry->dims.size()), entry->dims) : AxisOrder{});
      }
    };
    fill(node_.inputs, out.inputs);
    fill(node_.outputs, out.outputs);
    return out;
  }

 private:
  [[nodiscard]] const LayoutValue* known(LayoutValueId number) const {
    const LayoutValue* const value = graph_.value(number);
    return value != nullptr && value->is_known() ? value : nullptr;
  }
  const LayoutGraph& graph_;
  const LayoutNode& node_;
  NodePort port_;
  const AxisOrder& order_;
};

using Rule = Answer (*)(const Query& query);

/// Every port of the rank of the one in question shares its order; others are contiguous.
Answer share_by_rank(const Query& query) {
  const AxisOrder axes = extend(query.order(), query.dims());
  Ports out = query.contiguous();
  const auto spread = [&](std::size_t count, bool outputs) {
    for (std::size_t i = 0; i < count; ++i) {
      const LayoutValue* const value = outputs ? query.output(i) : query.input(i);
      if (value != nullptr && value->dims.size() == axes.size()) (outputs ? out.outputs : out.inputs)[i] = order_of(axes, value->dims);
    }
  };
  spread(query.node().inputs.size(), false);
  spread(query.node().outputs.size(), true);
  return out;
}

/// Elementwise with broadcasting: operands of the result's rank share its order, those of lower rank are read contiguous.
Answer elementwise(const Query& query) {
  const LayoutValue* const result = query.output(0);
  if (result == nullptr || result->dims.size() != query.dims().size()) return "operand of lower rank";
  return share_by_rank(query);
}

/// First operand and first result share the order.
Answer first_to_first(const Query& query) {
  const LayoutValue *const x = query.input(0), *const y = query.output(0);
  if (!query.is_first_input() && !query.is_first_output()) return "operand is read contiguous";
  if (x == nullptr || y == nullptr || x->dims.size() != y->dims.size()) return "changes the rank";
  const AxisOrder axes = extend(query.order(), query.dims());
  Ports out = query.contiguous();
  out.inputs[0] = order_of(axes, x->dims);
  out.outputs[0] = order_of(axes, y->dims);
  return out;
}

Answer convolution(const Query& query) {
  const auto wanted = query.input(0);
  if (wanted == nullptr || query.output(0) == nullptr || wanted->dims.size() < 3) return "too few dims";
  if (!query.is_first_input() && !query.is_first_output()) return "operand is read contiguous";
  Ports out = query.contiguous();
  const AxisOrder axes = channels_last_axes(wanted->dims.size());
  out.inputs[0] = order_of(axes, wanted->dims);
  out.outputs[0] = order_of(axes, query.output(0)->dims);
  if ((query.is_first_input() ? out.inputs[0] : out.outputs[0]) != query.order()) return "wants channels-last";
  return out;
}

/// As convolution; the tensor that is added has the order of the result.
Answer fused_convolution(const Query& query) {
  constexpr std::size_t kAdded = 3;
  const LayoutValue *const added = query.input(kAdded), *const out = query.output(0);
  if (added == nullptr) return convolution(query);
  if (out == nullptr || added->dims != out->dims) return "the added tensor has other dims";
  const bool is_for_added = !query.port().is_output && query.port().index == kAdded;
  Answer answer = is_for_added ? convolution(query.at({true, 0})) : convolution(query);
  if (auto* const ports = std::get_if<Ports>(&answer)) ports->inputs[kAdded] = ports->outputs[0];
  return answer;
}

/// Its indices have the order of the result, too, in whatever order they number elements.
Answer max_pool(const Query& query) {
  if (query.output(1) == nullptr) return first_to_first(query);
  if (query.attributes().integer("storage_order", 0) != 0) return "no kernel for channels-last gives indices by columns";
  return share_by_rank(query);
}

/// One number, repeated, has any order.
Answer expand(const Query& query) {
  const LayoutValue* const x = query.input(0);
  if (!query.is_first_output() || x == nullptr || element_count(x->dims) != 1) return first_to_first(query);
  Ports out = query.contiguous();
  out.outputs[0] = query.order();
  return out;
}

Answer batch_normalization(const Query& query) {
  if (query.attributes().integer("training_mode", 0) != 0) return "trains";
  return first_to_first(query);
}

Answer dequantize(const Query& query) {
  if (query.attributes().integer("block_size", 0) != 0) return "blocks of one axis";
  return first_to_first(query);
}

Answer dropout(const Query& query) {
  if (query.output(1) != nullptr) return "its mask is requested";
  return first_to_first(query);
}

Answer softmax(const Query& query) {
  if (query.node().node->opset() < kOneAxisOpset) {
    // Dims from the axis on count as one.
    const int64_t rank = std::ssize(query.dims());
    const int64_t axis = std::clamp<int64_t>(from_front(softmax_axis(*query.node().node), rank), 0, rank);
    const auto large = std::ranges::count_if(query.dims().begin() + axis, query.dims().end(), [](int64_t dim) { return dim != 1; });
    if (large > 1) return "several dims are one axis below opset 13";
  }
  return first_to_first(query);
}

/// The normalized dims must be the innermost ones.
Answer layer_normalization(const Query& query) {
  if (!query.is_first_input() && !query.is_first_output()) return "operand is read contiguous";
  const int64_t axis = from_front(query.attributes().integer("axis", -1), std::ssize(query.dims()));
  const AxisOrder& order = query.order();
  const auto normalized = std::ranges::count_if(order, [&](int64_t dim) { return dim >= axis; });
  for (auto i = static_cast<std::ptrdiff_t>(order.size()) - normalized; i < static_cast<std::ptrdiff_t>(order.size()); ++i) {
    if (element_at(order, i) < axis) return "normalizes dims that are not innermost";
  }
  return first_to_first(query);
}

Answer resize(const Query& query) {
  const LayoutValue *const x = query.input(0), *const y = query.output(0);
  if (x == nullptr || y == nullptr || x->dims.size() != y->dims.size()) return "changes the rank";
  for (std::size_t i = 0; i < std::min<std::size_t>(2, x->dims.size()); ++i) {
    if (x->dims[i] != y->dims[i]) return "resizes batch or channels";
  }
  return first_to_first(query);
}

/// Axes of a reduction as flags, or nothing when they are computed.
std::optional<std::vector<bool>> reduced_axes(const Query& query, std::size_t rank) {
  const Node& node = *query.node().node;
  Dims axes;
  if (node.is("ArgMax") || node.is("ArgMin")) {
    axes = {query.attributes().integer("axis", 0)};
  } else if (argument_is_operand(node.op_type(), node.opset())) {
    if (const LayoutValue* const given = query.input(1)) {
      if (!given->integers) return std::nullopt;
      axes = *given->integers;
    }
    if (axes.empty() && query.attributes().integer("noop_with_empty_axes", 0) != 0) return std::vector<bool>(rank, false);
  } else {
    axes = query.attributes().integers("axes");
  }
  std::vector<bool> out(rank, axes.empty());
  for (const int64_t axis : axes) {
    const auto place = checked_axis(axis, rank);
    if (!place) return std::nullopt;
    out[*place] = true;
  }
  return out;
}

Answer reduce(const Query& query) {
  if (query.attributes().integer("keepdims", 1) != 0) return first_to_first(query);
  if (!query.is_first_input()) return "drops dims";
  const auto reduced = reduced_axes(query, query.dims().size());
  if (!reduced || query.output(0) == nullptr) return "its axes are computed";
  Ports out = query.contiguous();
  out.inputs[0] = query.order();
  AxisOrder rest;
  for (const int64_t axis : query.order()) {
    if (!element_at(*reduced, axis)) rest.push_back(axis - std::count(reduced->begin(), reduced->begin() + axis, true));
  }
  out.outputs[0] = std::move(rest);
  return out;
}

Answer gather(const Query& query) {
  const LayoutValue *const x = query.input(0), *const indices = query.input(1);
  if (x == nullptr || indices == nullptr) return "operands of unknown shape";
  if (indices->dims.size() == 1) return first_to_first(query);
  if (!indices->dims.empty() || !query.is_first_input()) return "indices of several dims";
  const int64_t axis = from_front(query.attributes().integer("axis", 0), std::ssize(x->dims));
  Ports out = query.contiguous();
  out.inputs[0] = query.order();
  out.outputs[0].clear();
  for (const int64_t dim : query.order()) {
    if (dim != axis) out.outputs[0].push_back(dim > axis ? dim - 1 : dim);
  }
  return out;
}

/// SequenceAt of a tensor whose sequence has been removed (see_through_sequences).
Answer sequence_at(const Query& query) {
  if (query.input(0) == nullptr) return "element of a sequence";
  return first_to_first(query);
}

Answer transpose(const Query& query) {
  const LayoutValue* const x = query.input(0);
  const auto permutation = x != nullptr ? permutation_of(*query.node().node, x->dims.size()) : std::nullopt;
  if (!permutation || query.output(0) == nullptr) return "operand of unknown shape";
  Ports out = query.contiguous();
  out.inputs[0] = query.is_first_input() ? query.order() : transposed(query.order(), inverse(*permutation));
  out.outputs[0] = query.is_first_input() ? transposed(query.order(), *permutation) : query.order();
  return out;
}

Answer reshape(const Query& query) {
  const LayoutValue *const x = query.input(0), *const y = query.output(0);
  if (x == nullptr || y == nullptr) return "operand of unknown shape";
  if (!query.is_first_input() && !query.is_first_output()) return "operand is read contiguous";
  const auto other = query.is_first_input() ? reshaped(query.order(), x->dims, y->dims) : reshaped(query.order(), y->dims, x->dims);
  if (!other) return "joins dims that are apart in memory";
  Ports out = query.contiguous();
  out.inputs[0] = query.is_first_input() ? query.order() : *other;
  out.outputs[0] = query.is_first_input() ? *other : query.order();
  return out;
}

struct Entry {
  std::string_view op_type;
  Rule rule;
};

/// Operators whose rule does not follow from the op table, sorted by name.
constexpr auto kEntries = std::to_array<Entry>({
    {"ArgMax", reduce},
    {"ArgMin", reduce},
    {"BatchNormalization", batch_normalization},
    {"Conv", convolution},
    {"ConvInteger", convolution},
    {"ConvTranspose", convolution},
    {"DepthToSpace", first_to_first},
    {"DequantizeLinear", dequantize},
    {"Dropout", dropout},
    {"DynamicQuantizeLinear", first_to_first},
    {"Expand", expand},
    {"FusedConv", fused_convolution},
    {"Gather", gather},
    {"GroupNormalization", first_to_first},
    {"Hardmax", softmax},
    {"Identity", first_to_first},
    {"InstanceNormalization", first_to_first},
    {"LRN", first_to_first},
    {"LayerNormalization", layer_normalization},
    {"LogSoftmax", softmax},
    {"LpNormalization", first_to_first},
    {"MaxPool", max_pool},
    {"MeanVarianceNormalization", first_to_first},
    {"Pad", first_to_first},
    {"QLinearConv", convolution},
    {"QuantizeLinear", dequantize},
    {"RMSNormalization", layer_normalization},
    {"Resize", resize},
    {"ReverseSequence", first_to_first},
    {"SequenceAt", sequence_at},
    {"Slice", share_by_rank},
    {"Softmax", softmax},
    {"SpaceToDepth", first_to_first},
    {"Split", share_by_rank},
    {"Tile", first_to_first},
    {"Transpose", transpose},
    {"Upsample", resize},
});
static_assert(std::ranges::is_sorted(kEntries, {}, &Entry::op_type));

Rule rule_of(const Op& op) {
  // An operator of another domain; some share their names with ONNX's.
  if (!op.domain.empty() && op.layout == LayoutRule::barrier) return nullptr;
  const auto* const entry = std::ranges::lower_bound(kEntries, op.name, {}, &Entry::op_type);
  if (entry != kEntries.end() && entry->op_type == op.name) return entry->rule;
  const Traits& traits = op.traits;
  if (op.layout == LayoutRule::view && traits.has(Trait::keeps_order)) return reshape;
  if (op.layout == LayoutRule::axis_mapped && traits.along() == Along::axes) return reduce;
  if (traits.has(Trait::pools) || traits.has(Trait::casts) || traits.along() == Along::axis_operand) return first_to_first;
  if (op.layout == LayoutRule::agnostic) return elementwise;
  if (op.layout == LayoutRule::axis_mapped) return share_by_rank;
  return nullptr;
}

}  // namespace

std::variant<Ports, Barrier> ports_of(const LayoutGraph& graph, const LayoutNode& node, NodePort port, const AxisOrder& order) {
  if (node.op == nullptr) return node.node->subgraphs().empty() ? "unknown operator" : "control flow";
  const Rule rule = rule_of(*node.op);
  if (rule == nullptr) return "reads and writes contiguous order only";
  const LayoutValue* const first = graph.value(node.output(0));
  if (first == nullptr || !first->is_known()) return "result of unknown shape";
  try {
    return rule({graph, node, port, order});
  } catch (const Error& error) {
    // Attributes that make no sense are reported when the node is run.
    return std::string("cannot be read: ") + error.what();
  }
}

std::optional<Ports> wanted_ports(const LayoutGraph& graph, const LayoutNode& node) {
  if (node.op == nullptr || node.op->layout != LayoutRule::wants) return std::nullopt;
  const LayoutValue* const x = graph.value(node.input(0));
  if (x == nullptr || !x->is_known() || x->is_constant) return std::nullopt;
  const AxisOrder order = order_of(channels_last_axes(x->dims.size()), x->dims);
  auto answer = ports_of(graph, node, {false, 0}, order);
  auto* const ports = std::get_if<Ports>(&answer);
  return ports != nullptr ? std::optional(std::move(*ports)) : std::nullopt;
}

bool reads_elements(const LayoutNode& node, std::size_t input) {
  return node.op == nullptr || node.op->traits.reads(input) == Reads::elements;
}

bool is_view(const LayoutNode& node) {
  return node.op != nullptr && (node.op->layout == LayoutRule::view || node.op->name == "SequenceAt");
}

}  // namespace relayout::layout
