// Decides which operators run channels-last, at the least sum of lost gains and copies.
#include "layout/layout_cut.h"

#include "base/indexed.h"
#include "layout/flow_network.h"

namespace relayout::layout {
namespace {

std::vector<int> sorted_once(std::vector<int> orders) {
  std::ranges::sort(orders);
  const auto repeated = std::ranges::unique(orders);
  orders.erase(repeated.begin(), repeated.end());
  return orders;
}

/// Operators on the source's side run channels-last (mode 1), those on the sink's side contiguous (mode 0). A value
/// that p makes and c1, c2 … read costs one copy, of cost r, if p runs channels-last and some reader does not: a node u with an edge p→u of
/// capacity r, and edges u→ci that no cut may take. The reverse case has a node w, with edges ci→w and an edge w→p of capacity r. Each term
/// is one that a cut can express, so the least cut is the least cost.
class Network {
 public:
  explicit Network(const LayoutCut& problem) : problem_(problem), network_(static_cast<int>(problem.ops.size())) {
    for (const OperatorId op : problem.ops.ids()) add_op(op, problem.ops[op]);
    for (const LayoutCut::Value& value : problem.values) add_value(value);
  }
  [[nodiscard]] Modes solve() const {
    const std::vector<bool> side = network_.source_side();
    Modes out(problem_.ops.size());
    for (const OperatorId op : out.ids()) out[op] = problem_.ops[op].mode.value_or(side[index_of(op)]);
    return out;
  }

 private:
  /// The network's first nodes are the operators.
  static int number(OperatorId op) { return static_cast<int>(op); }

  /// Operators without a choice are source or sink themselves.
  [[nodiscard]] int node_of(OperatorId op) const {
    const auto& mode = problem_.ops[op].mode;
    if (!mode) return number(op);
    return *mode ? network_.source() : network_.sink();
  }

  void add_op(OperatorId op, const LayoutCut::Op& entry) {
    if (entry.mode) return;
    if (entry.gain > 0) network_.add(network_.source(), number(op), entry.gain);
    if (entry.gain < 0) network_.add(number(op), network_.sink(), -entry.gain);
  }

  void add_value(const LayoutCut::Value& value) {
    if (value.copy_cost <= 0 || value.readers.empty()) return;
    const int source = network_.source(), sink = network_.sink();
    // The network node that is on the source's side when the value is produced in `order`.
    const int maker = value.order == 0 ? sink : value.op == OperatorId::none ? source : node_of(value.op);
    add_contiguous_copy(value, maker);
    std::vector<int> orders;
    for (const LayoutCut::Reader& reader : value.readers) {
      if (reader.order != 0) orders.push_back(reader.order);
    }
    for (const int order : sorted_once(std::move(orders))) add_ordered_copy(value, order, order == value.order ? maker : sink);
  }

  /// The cost of a copy when the producer is in mode 1 and some reader needs the value contiguous.
  void add_contiguous_copy(const LayoutCut::Value& value, int maker) {
    if (maker == network_.sink()) return;
    std::vector<int> readers;
    for (const LayoutCut::Reader& reader : value.readers) {
      const int node = reader.order == 0 ? network_.sink() : reader.op == OperatorId::none ? network_.source() : node_of(reader.op);
      if (node != network_.source()) readers.push_back(node);
    }
    share(maker, readers, value.copy_cost, true);
  }

  /// The cost of a copy when some reader needs the value in `order` and `maker` is not in mode 1 (the sink: never produces it so).
  void add_ordered_copy(const LayoutCut::Value& value, int order, int maker) {
    if (maker == network_.source()) return;
    std::vector<int> readers;
    for (const LayoutCut::Reader& reader : value.readers) {
      if (reader.order != order) continue;
      const int node = reader.op == OperatorId::none ? network_.source() : node_of(reader.op);
      if (node != network_.sink()) readers.push_back(node);
    }
    share(maker, readers, value.copy_cost, false);
  }

  /// Adds `cost` once when `one` is on one side and any of `many` on the other: `one` on the source's side when `outwards`.
  void share(int one, const std::vector<int>& many, int64_t cost, bool outwards) {
    const auto add = [&](int from, int to, bool limited) {
      if (!outwards) std::swap(from, to);
      if (limited) {
        network_.add(from, to, cost);
      } else {
        network_.bind(from, to);
      }
    };
    const int terminal = outwards ? network_.sink() : network_.source();
    if (many.empty()) return;
    if (std::ranges::find(many, terminal) != many.end()) return add(one, terminal, true);
    if (many.size() == 1) return add(one, many.front(), true);
    const int shared = network_.add_node();
    add(one, shared, true);
    for (const int node : many) add(shared, node, false);
  }

  const LayoutCut& problem_;
  FlowNetwork network_;
};

}  // namespace

Modes solve(const LayoutCut& problem) {
  return Network(problem).solve();
}

std::vector<int> copies(const LayoutCut::Value& value, const Modes& modes) {
  const auto order_of = [&](OperatorId op, int order) { return op == OperatorId::none || modes[op] ? order : 0; };
  const int held = order_of(value.op, value.order);
  std::vector<int> out;
  for (const LayoutCut::Reader& reader : value.readers) {
    const int needed = order_of(reader.op, reader.order);
    if (needed != held) out.push_back(needed);
  }
  return sorted_once(std::move(out));
}

int64_t cost(const LayoutCut& problem, const Modes& modes) {
  int64_t out = 0;
  for (const OperatorId op : problem.ops.ids()) {
    const int64_t gain = problem.ops[op].gain;
    if (modes[op] == (gain < 0)) out += modes[op] ? -gain : gain;
  }
  for (const LayoutCut::Value& value : problem.values) {
    out += value.copy_cost * static_cast<int64_t>(copies(value, modes).size());
  }
  return out;
}

}  // namespace relayout::layout
