// Spreads orders from the operators that want one to all that can adopt it, up to each node's barrier.

#include "base/indexed.h"
#include "base/positions.h"
#include "layout/axis_order.h"
#include "layout/layout_cut.h"
#include "layout/layout_graph.h"
#include "layout/ports.h"
#include "ops/op.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

/// Reshape [N, g·c, …] → [N, g, c, …], Transpose 0 2 1 3 …, Reshape back, perhaps with Identities between: one operator that copies from
/// any order into any.
struct Shuffle {
  std::vector<LayoutNodeId> nodes;
};

class Spread {
 public:
  Spread(const LayoutGraph& graph, const Connections& connections) : graph_(graph), connections_(connections) {
    const std::size_t count = graph.nodes.size();
    out_.op_of.assign(count, OperatorId::none);
    out_.ports.resize(count);
    out_.barriers.resize(count);
    out_.is_shuffle.assign(count, false);
    out_.is_fused.assign(count, false);
    tries_.assign(count, 0);
    shuffle_of_.resize(count);
    candidates_.resize(graph.values.size());
  }

  Orders run() {
    find_shuffles();
    for (const LayoutNodeId id : graph_.nodes.ids()) {
      if (auto ports = wanted_ports(graph_, graph_.nodes[id])) take(id, std::move(*ports), next_op_);
    }
    for (const LayoutNodeId id : fusing_convolutions(graph_)) {
      if (out_.op_of[id] == OperatorId::none || out_.is_fused[id]) continue;
      fuse_downstream(graph_.nodes[id], out_.op_of[id], out_.ports[id].outputs[0]);
    }
    for (const LayoutValueId id : graph_.values.ids()) {
      if (graph_.values[id].fixed) propose(id, *graph_.values[id].fixed);
    }
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const LayoutValueId value = queue_[i];
      const AxisOrder order = candidates_[value];
      if (const LayoutNodeId producer = connections_.producer(value); producer != LayoutNodeId::none)
        attempt(producer, {true, connections_.output_index(value)}, order);
      for (const Connections::Read& read : connections_.reads(value)) attempt(read.node, {false, read.input}, order);
    }
    return std::move(out_);
  }

 private:
  static constexpr int kMostTries = 4;  ///< per node, so that a node of many operands is not tried for each

  [[nodiscard]] const Dims* dims_of(LayoutValueId value) const {
    const LayoutValue* const entry = graph_.value(value);
    return entry != nullptr && entry->is_known() ? &entry->dims : nullptr;
  }

  void propose(LayoutValueId value, const AxisOrder& order) {
    const LayoutValue* const entry = graph_.value(value);
    if (entry == nullptr || !entry->is_known() || entry->is_constant || is_contiguous(order)) return;
    AxisOrder& known = candidates_[value];
    if (!known.empty()) return;
    known = order;
    queue_.push_back(value);
  }

  void take(LayoutNodeId node, Ports ports, OperatorId op) {
    const LayoutNode& entry = graph_.nodes[node];
    const auto all_contiguous = [](const std::vector<AxisOrder>& orders) { return std::ranges::all_of(orders, is_contiguous); };
    if (all_contiguous(ports.inputs) && all_contiguous(ports.outputs)) return;
    for (std::size_t i = 0; i < entry.inputs.size(); ++i) propose(entry.inputs[i], ports.inputs[i]);
    for (std::size_t i = 0; i < entry.outputs.size(); ++i) propose(entry.outputs[i], ports.outputs[i]);
    out_.ports[node] = std::move(ports);
    out_.op_of[node] = op;
    next_op_ = std::max(next_op_, next_of(op));
  }

  void attempt(LayoutNodeId node, NodePort port, const AxisOrder& order) {
    if (out_.op_of[node] != OperatorId::none || tries_[node] >= kMostTries) return;
    if (!port.is_output && !reads_elements(graph_.nodes[node], port.index)) return;
    ++tries_[node];
    if (shuffle_of_[node]) return attempt_shuffle(shuffles_[*shuffle_of_[node]], node, port, order);
    auto answer = ports_of(graph_, graph_.nodes[node], port, order);
    if (auto* const ports = std::get_if<Ports>(&answer)) {
      take(node, std::move(*ports), next_op_);
      if (out_.op_of[node] != OperatorId::none) out_.barriers[node].clear();
    } else if (out_.barriers[node].empty()) {
      out_.barriers[node] = std::get<Barrier>(answer);
    }
  }

  /// The order comes from the whole shuffle's operand or result; inside, views follow it.
  void attempt_shuffle(const Shuffle& shuffle, LayoutNodeId node, NodePort port, const AxisOrder& order) {
    if (!(node == shuffle.nodes.front() && !port.is_output) && !(node == shuffle.nodes.back() && port.is_output)) return;
    std::vector<Ports> all;
    AxisOrder inside = order;
    for (const LayoutNodeId part : shuffle.nodes) {
      const LayoutNode& entry = graph_.nodes[part];
      if (part == shuffle.nodes.back()) {
        Ports last{std::vector<AxisOrder>(entry.inputs.size()), {order}};
        last.inputs[0] = inside;
        all.push_back(std::move(last));
        break;
      }
      auto answer = ports_of(graph_, entry, {false, 0}, inside);
      auto* const ports = std::get_if<Ports>(&answer);
      if (ports == nullptr) return;
      inside = ports->outputs[0];
      all.push_back(std::move(*ports));
    }
    const OperatorId op = next_op_;
    for (std::size_t i = 0; i < all.size(); ++i) take(shuffle.nodes[i], std::move(all[i]), op);
  }

  /// The only reader of a value, if it reads it as its first operand.
  [[nodiscard]] LayoutNodeId first_operand_reader(LayoutValueId value) const {
    const LayoutNodeId reader = only_reader(graph_, connections_, value);
    return reader != LayoutNodeId::none && graph_.nodes[reader].input(0) == value ? reader : LayoutNodeId::none;
  }

  [[nodiscard]] bool is(LayoutNodeId node, std::string_view op_type) const {
    const LayoutNode& entry = graph_.nodes[node];
    return entry.op != nullptr && entry.op->name == op_type;
  }

  /// Gives the post-ops of a convolution its order and its operator.
  void fuse_downstream(const LayoutNode& anchor, OperatorId op, const AxisOrder& order) {
    LayoutValueId value = anchor.output(0);
    for (bool is_first = true;; is_first = false) {
      const LayoutNodeId reader = post_op_of(graph_, connections_, value, is_first);
      if (reader == LayoutNodeId::none || out_.op_of[reader] != OperatorId::none) return;
      const LayoutNode& node = graph_.nodes[reader];
      const auto input = find_position(node.inputs, value);
      auto answer = ports_of(graph_, node, {false, input}, order);
      auto* const ports = std::get_if<Ports>(&answer);
      if (ports == nullptr) return;
      take(reader, std::move(*ports), op);
      out_.is_fused[reader] = true;
      value = node.output(0);
    }
  }

  void find_shuffles() {
    for (const LayoutNodeId first : graph_.nodes.ids()) {
      if (!is(first, "Reshape")) continue;
      Shuffle shuffle{{first}};
      const LayoutNodeId middle = next_part(shuffle);
      const LayoutNodeId last = middle != LayoutNodeId::none && is(middle, "Transpose") ? next_part(shuffle) : LayoutNodeId::none;
      if (last == LayoutNodeId::none || !is(last, "Reshape") || !is_shuffle(first, middle, last)) continue;
      for (const LayoutNodeId node : shuffle.nodes) {
        shuffle_of_[node] = shuffles_.size();
        out_.is_shuffle[node] = true;
      }
      shuffles_.push_back(std::move(shuffle));
    }
  }

  /// Appends the only reader of the last part, after any Identities between; returns it, or none.
  LayoutNodeId next_part(Shuffle& shuffle) const {
    while (true) {
      const LayoutNodeId reader = first_operand_reader(graph_.nodes[shuffle.nodes.back()].output(0));
      if (reader == LayoutNodeId::none) return LayoutNodeId::none;
      shuffle.nodes.push_back(reader);
      if (!is(reader, "Identity")) return reader;
    }
  }

  [[nodiscard]] bool is_shuffle(LayoutNodeId first, LayoutNodeId middle, LayoutNodeId last) const {
    const LayoutNode& opens = graph_.nodes[first];
    const Dims* const whole = dims_of(opens.input(0));
    const Dims* const open = dims_of(opens.output(0));
    const Dims* const back = dims_of(graph_.nodes[last].output(0));
    if (whole == nullptr || open == nullptr || back == nullptr || *whole != *back || whole->size() < 3) return false;
    if (open->size() != whole->size() + 1 || (*open)[0] != (*whole)[0] || (*open)[1] * (*open)[2] != (*whole)[1]) return false;
    if (!std::equal(whole->begin() + 2, whole->end(), open->begin() + 3)) return false;
    Dims wanted = contiguous_axes(open->size());
    std::swap(wanted[1], wanted[2]);
    return permutation_of(*graph_.nodes[middle].node, open->size()) == wanted;
  }

  const LayoutGraph& graph_;
  const Connections& connections_;
  Orders out_;
  IdVector<LayoutNodeId, int> tries_;
  IdVector<LayoutNodeId, std::optional<std::size_t>> shuffle_of_;
  std::vector<Shuffle> shuffles_;
  IdVector<LayoutValueId, AxisOrder> candidates_;  ///< empty: none yet
  std::vector<LayoutValueId> queue_;               ///< values whose neighbours are to be tried
  OperatorId next_op_{};
};

}  // namespace

Orders find_orders(const LayoutGraph& graph, const Connections& connections) {
  return Spread(graph, connections).run();
}

// Nodes that are one operator with a convolution. No border between layouts then prevents the executor from fusing them.
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
