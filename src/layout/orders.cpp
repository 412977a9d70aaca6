// Spreads orders from the operators that want one to all that can take it up.

#include "layout/orders.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "layout/axis_order.h"
#include "layout/connections.h"
#include "layout/fusion.h"
#include "layout/layout_graph.h"
#include "layout/permutation.h"
#include "layout/ports.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Reshape [N, g·c, …] → [N, g, c, …], Transpose 0 2 1 3 …, Reshape back, perhaps with Identities between: one operator that copies from
/// any order into any.
struct Shuffle {
  std::vector<int> nodes;
};

class Spread {
 public:
  Spread(const LayoutGraph& graph, const Connections& connections) : graph_(graph), connections_(connections) {
    const std::size_t count = graph.nodes.size();
    out_.op_of.assign(count, -1);
    out_.ports.resize(count);
    out_.barriers.resize(count);
    out_.is_shuffle.assign(count, false);
    out_.is_fused.assign(count, false);
    tries_.assign(count, 0);
    shuffle_of_.assign(count, -1);
    candidates_.resize(graph.values.size());
  }

  Orders run() {
    find_shuffles();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (auto ports = wanted_ports(graph_, graph_.nodes[i])) take(static_cast<int>(i), std::move(*ports), next_op_);
    }
    // Of several convolutions that end in one Add, the last takes it, as the executor does.
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const LayoutNode& node = graph_.nodes[i];
      if (out_.op_of[i] >= 0 && !out_.is_fused[i] && (is(static_cast<int>(i), "Conv") || is(static_cast<int>(i), "ConvTranspose"))) {
        fuse_behind(node, out_.op_of[i], out_.ports[i].outputs[0]);
      }
    }
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].fixed) propose(static_cast<int>(i), *graph_.values[i].fixed);
    }
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const int value = queue_[i];
      const AxisOrder order = candidates_[static_cast<std::size_t>(value)];
      if (const int producer = connections_.producer(value); producer >= 0)
        attempt(producer, {true, connections_.output_index(value)}, order);
      for (const Connections::Read& read : connections_.reads(value)) attempt(read.node, {false, read.input}, order);
    }
    return std::move(out_);
  }

 private:
  static constexpr int kMostTries = 4;  ///< of one node, so that a node of many operands is not asked by each

  [[nodiscard]] const Dims* dims_of(int value) const {
    const LayoutValue* const entry = graph_.value(value);
    return entry != nullptr && entry->is_known() ? &entry->dims : nullptr;
  }

  void propose(int value, const AxisOrder& order) {
    const LayoutValue* const entry = graph_.value(value);
    if (entry == nullptr || !entry->is_known() || entry->is_constant || is_contiguous(order)) return;
    AxisOrder& known = candidates_[static_cast<std::size_t>(value)];
    if (!known.empty()) return;
    known = order;
    queue_.push_back(value);
  }

  void take(int node, Ports ports, int op) {
    const LayoutNode& entry = graph_.nodes[static_cast<std::size_t>(node)];
    const auto all_contiguous = [](const std::vector<AxisOrder>& orders) { return std::ranges::all_of(orders, is_contiguous); };
    if (all_contiguous(ports.inputs) && all_contiguous(ports.outputs)) return;
    for (std::size_t i = 0; i < entry.inputs.size(); ++i) propose(entry.inputs[i], ports.inputs[i]);
    for (std::size_t i = 0; i < entry.outputs.size(); ++i) propose(entry.outputs[i], ports.outputs[i]);
    out_.ports[static_cast<std::size_t>(node)] = std::move(ports);
    out_.op_of[static_cast<std::size_t>(node)] = op;
    next_op_ = std::max(next_op_, op + 1);
  }

  void attempt(int node, NodePort port, const AxisOrder& order) {
    const auto index = static_cast<std::size_t>(node);
    if (out_.op_of[index] >= 0 || tries_[index] >= kMostTries) return;
    if (!port.is_output && !reads_elements(graph_.nodes[index], port.index)) return;
    ++tries_[index];
    if (shuffle_of_[index] >= 0) return attempt_shuffle(shuffles_[static_cast<std::size_t>(shuffle_of_[index])], node, port, order);
    auto answer = ports_of(graph_, graph_.nodes[index], port, order);
    if (auto* const ports = std::get_if<Ports>(&answer)) {
      take(node, std::move(*ports), next_op_);
      if (out_.op_of[index] >= 0) out_.barriers[index].clear();
    } else if (out_.barriers[index].empty()) {
      out_.barriers[index] = std::get<Barrier>(answer);
    }
  }

  /// The order comes from the whole shuffle's operand or result; inside, views follow it.
  void attempt_shuffle(const Shuffle& shuffle, int node, NodePort port, const AxisOrder& order) {
    if (!(node == shuffle.nodes.front() && !port.is_output) && !(node == shuffle.nodes.back() && port.is_output)) return;
    std::vector<Ports> all;
    AxisOrder inside = order;
    for (const int part : shuffle.nodes) {
      const LayoutNode& entry = graph_.nodes[static_cast<std::size_t>(part)];
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
    const int op = next_op_;
    for (std::size_t i = 0; i < all.size(); ++i) take(shuffle.nodes[i], std::move(all[i]), op);
  }

  /// The one node that reads a value, once, and nothing else does; -1 when there is none.
  [[nodiscard]] int any_only_reader(int value) const {
    if (value < 0 || graph_.values[static_cast<std::size_t>(value)].is_output) return -1;
    const auto reads = connections_.reads(value);
    return reads.size() == 1 ? reads[0].node : -1;
  }
  /// The same, as its first operand.
  [[nodiscard]] int only_reader(int value) const {
    const int reader = any_only_reader(value);
    return reader >= 0 && graph_.nodes[static_cast<std::size_t>(reader)].input(0) == value ? reader : -1;
  }

  [[nodiscard]] bool is(int node, std::string_view op_type) const {
    const LayoutNode& entry = graph_.nodes[static_cast<std::size_t>(node)];
    return entry.op != nullptr && entry.op->name == op_type;
  }

  /// What runs as a part of a convolution has its order: its one operator with it.
  void fuse_behind(const LayoutNode& anchor, int op, const AxisOrder& order) {
    int value = anchor.output(0);
    for (bool is_first = true;; is_first = false) {
      const int reader = any_only_reader(value);
      if (reader < 0 || out_.op_of[static_cast<std::size_t>(reader)] >= 0) return;
      const LayoutNode& node = graph_.nodes[static_cast<std::size_t>(reader)];
      if (!fuses(graph_, node, value, is_first)) return;
      const auto input = static_cast<std::size_t>(std::ranges::find(node.inputs, value) - node.inputs.begin());
      auto answer = ports_of(graph_, node, {false, input}, order);
      auto* const ports = std::get_if<Ports>(&answer);
      if (ports == nullptr) return;
      take(reader, std::move(*ports), op);
      out_.is_fused[static_cast<std::size_t>(reader)] = true;
      value = node.output(0);
    }
  }

  void find_shuffles() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int first = static_cast<int>(i);
      if (!is(first, "Reshape")) continue;
      Shuffle shuffle{{first}};
      const int middle = next_part(shuffle);
      const int last = middle >= 0 && is(middle, "Transpose") ? next_part(shuffle) : -1;
      if (last < 0 || !is(last, "Reshape") || !is_shuffle(first, middle, last)) continue;
      for (const int node : shuffle.nodes) {
        shuffle_of_[static_cast<std::size_t>(node)] = static_cast<int>(shuffles_.size());
        out_.is_shuffle[static_cast<std::size_t>(node)] = true;
      }
      shuffles_.push_back(std::move(shuffle));
    }
  }

  /// Appends the only reader of the last part, and further ones as long as they are Identities; the last appended, or -1.
  int next_part(Shuffle& shuffle) const {
    while (true) {
      const int reader = only_reader(graph_.nodes[static_cast<std::size_t>(shuffle.nodes.back())].output(0));
      if (reader < 0) return -1;
      shuffle.nodes.push_back(reader);
      if (!is(reader, "Identity")) return reader;
    }
  }

  [[nodiscard]] bool is_shuffle(int first, int middle, int last) const {
    const LayoutNode& opens = graph_.nodes[static_cast<std::size_t>(first)];
    const Dims* const whole = dims_of(opens.input(0));
    const Dims* const open = dims_of(opens.output(0));
    const Dims* const back = dims_of(graph_.nodes[static_cast<std::size_t>(last)].output(0));
    if (whole == nullptr || open == nullptr || back == nullptr || *whole != *back || whole->size() < 3) return false;
    if (open->size() != whole->size() + 1 || (*open)[0] != (*whole)[0] || (*open)[1] * (*open)[2] != (*whole)[1]) return false;
    if (!std::equal(whole->begin() + 2, whole->end(), open->begin() + 3)) return false;
    Dims wanted = contiguous_axes(open->size());
    std::swap(wanted[1], wanted[2]);
    return permutation_of(*graph_.nodes[static_cast<std::size_t>(middle)].node, open->size()) == wanted;
  }

  const LayoutGraph& graph_;
  const Connections& connections_;
  Orders out_;
  std::vector<int> tries_, shuffle_of_;
  std::vector<Shuffle> shuffles_;
  std::vector<AxisOrder> candidates_;  ///< per value; empty: none yet
  std::vector<int> queue_;             ///< values whose neighbours are to be asked
  int next_op_ = 0;
};

}  // namespace

Orders find_orders(const LayoutGraph& graph, const Connections& connections) {
  return Spread(graph, connections).run();
}

}  // namespace relayout
