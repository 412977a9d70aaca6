// Finds a minimum cut of any flow network and knows nothing of layouts.
// It runs the first phase of highest-label push-relabel (Goldberg and Tarjan, 1988; Cherkassky and Goldberg, 1997): a minimum cut does not
// need the excess returned to the source. Heights come from breadth-first searches from the sink; the gap rule retires nodes that cannot
// reach it. Augmenting-path methods take thousands of phases on long chains of small gains.
#include "layout/flow_network.h"

#include <span>

#include "base/positions.h"

namespace relayout::layout {
namespace {

/// A number that is not negative, as an index.
std::size_t at(int number) {
  return as_size(number);
}

/// Nodes by height, and those among them that have excess: linked lists in arrays, with the first node of each height.
class Levels {
 public:
  struct Active {
    int node, height;
  };

  explicit Levels(int nodes)
      : all_(at(nodes) + 1, kNone), active_(at(nodes) + 1, kNone), next_(at(nodes)), previous_(at(nodes)), next_active_(at(nodes)) {}

  void enter(int node, int height) {
    int& first = all_[at(height)];
    if (first != kNone) previous_[at(first)] = node;
    next_[at(node)] = first;
    previous_[at(node)] = kNone;
    first = node;
    tallest_ = std::max(tallest_, height);
  }

  void leave(int node, int height) {
    const int next = next_[at(node)], previous = previous_[at(node)];
    (previous != kNone ? next_[at(previous)] : all_[at(height)]) = next;
    if (next != kNone) previous_[at(next)] = previous;
  }

  [[nodiscard]] bool is_empty(int height) const { return all_[at(height)] == kNone; }

  /// A node that waits for its turn already must not be activated again.
  void activate(int node, int height) {
    next_active_[at(node)] = active_[at(height)];
    active_[at(height)] = node;
    highest_ = std::max(highest_, height);
  }

  /// Removes an active node of the greatest height. It may have lost its excess since.
  std::optional<Active> take_active() {
    for (; highest_ >= 0; --highest_) {
      int& waiting = active_[at(highest_)];
      if (waiting == kNone) continue;
      const int node = waiting;
      waiting = next_active_[at(node)];
      return Active{node, highest_};
    }
    return std::nullopt;
  }

  /// Removes all nodes above a height; calls drop(node) for each.
  template <class Drop>
  void clear_above(int limit, const Drop& drop) {
    for (int height = limit + 1; height <= tallest_; ++height) {
      for (int node = all_[at(height)]; node != kNone; node = next_[at(node)]) drop(node);
      all_[at(height)] = active_[at(height)] = kNone;
    }
    tallest_ = limit;
    highest_ = std::min(highest_, limit);
  }

  void clear() {
    clear_above(-1, [](int) {});
  }

 private:
  static constexpr int kNone = -1;
  std::vector<int> all_, active_;  ///< the first node of each height
  std::vector<int> next_, previous_, next_active_;
  int highest_ = -1, tallest_ = -1;
};

class PushRelabel {
 public:
  struct Arc {
    int to;
    int reverse;  ///< index of the opposite arc
    int64_t residual;
  };

  /// `most` exceeds every possible flow.
  PushRelabel(int nodes, int source, int sink, int64_t most)
      : nodes_(nodes), source_(source), sink_(sink), most_(most), first_(at(nodes) + 1), levels_(nodes) {}

  /// `edges`: from, to, capacity; called once.
  template <class Edges>
  void build(const Edges& edges) {
    for (const auto& edge : edges) {
      ++first_[at(edge.from) + 1];
      ++first_[at(edge.to) + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    arcs_.resize(2 * edges.size());
    std::vector<int> next(first_.begin(), first_.end() - 1);
    for (const auto& edge : edges) {
      const int there = next[at(edge.from)]++;
      const int back = next[at(edge.to)]++;
      arcs_[at(there)] = {edge.to, back, edge.capacity};
      arcs_[at(back)] = {edge.from, there, 0};
    }
  }

  void run() {
    const auto count = at(nodes_);
    excess_.assign(count, 0);
    height_.assign(count, nodes_);
    current_.assign(first_.begin(), first_.end() - 1);
    saturate_source();
    label_from_sink();
    while (const auto active = levels_.take_active()) {
      const auto [node, height] = *active;
      if (height_[at(node)] != height || excess_[at(node)] == 0) continue;
      discharge(node);
      if (work_ > kWorkPerLabelling * static_cast<int64_t>(count) + static_cast<int64_t>(arcs_.size())) label_from_sink();
    }
  }

  /// For each node, whether it can still reach the sink.
  [[nodiscard]] std::vector<bool> sink_side() const {
    std::vector<bool> reaches(at(nodes_), false);
    std::vector<int> queue{sink_};
    reaches[at(sink_)] = true;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for_each_arc_into(queue[i], [&](int from) {
        if (reaches[at(from)]) return;
        reaches[at(from)] = true;
        queue.push_back(from);
      });
    }
    return reaches;
  }

 private:
  static constexpr int64_t kWorkPerLabelling = 30;

  /// Calls visit(from) for each node with residual capacity towards `node`.
  template <class Visit>
  void for_each_arc_into(int node, const Visit& visit) const {
    for (int arc = first_[at(node)]; arc < first_[at(node) + 1]; ++arc) {
      const Arc& out = arcs_[at(arc)];
      if (arcs_[at(out.reverse)].residual > 0) visit(out.to);
    }
  }

  void saturate_source() {
    for (int arc = first_[at(source_)]; arc < first_[at(source_) + 1]; ++arc) {
      Arc& out = arcs_[at(arc)];
      add_excess(out.to, out.residual);
      arcs_[at(out.reverse)].residual += out.residual;
      out.residual = 0;
    }
  }

  /// Sets exact heights: distances to the sink. Nodes that cannot reach it are finished.
  void label_from_sink() {
    work_ = 0;
    std::ranges::fill(height_, nodes_);
    levels_.clear();
    height_[at(sink_)] = 0;
    std::vector<int> queue{sink_};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const int to = queue[i];
      for_each_arc_into(to, [&](int from) {
        if (from == source_ || height_[at(from)] != nodes_ || from == sink_) return;
        height_[at(from)] = height_[at(to)] + 1;
        queue.push_back(from);
        levels_.enter(from, height_[at(from)]);
        if (excess_[at(from)] > 0) levels_.activate(from, height_[at(from)]);
      });
    }
    std::ranges::copy(std::span(first_).first(at(nodes_)), current_.begin());
  }

  void discharge(int node) {
    while (excess_[at(node)] > 0) {
      const int end = first_[at(node) + 1];
      int& arc = current_[at(node)];
      for (; arc < end; ++arc) {
        Arc& out = arcs_[at(arc)];
        if (out.residual == 0 || height_[at(node)] != height_[at(out.to)] + 1) continue;
        push(node, out);
        if (excess_[at(node)] == 0) return;
      }
      work_ += end - first_[at(node)];
      relabel(node);
      if (height_[at(node)] >= nodes_) return;
    }
  }

  void push(int node, Arc& out) {
    const int64_t amount = std::min(excess_[at(node)], out.residual);
    out.residual -= amount;
    arcs_[at(out.reverse)].residual += amount;
    excess_[at(node)] -= amount;
    const bool wakes = out.to != sink_ && excess_[at(out.to)] == 0;
    add_excess(out.to, amount);
    if (wakes) levels_.activate(out.to, height_[at(out.to)]);
  }

  void relabel(int node) {
    work_ += kWorkPerLabelling;
    const int old = height_[at(node)];
    levels_.leave(node, old);
    if (levels_.is_empty(old)) {
      // No node above can reach the sink any more.
      levels_.clear_above(old, [this](int above) { height_[at(above)] = nodes_; });
      height_[at(node)] = nodes_;
      return;
    }
    int height = nodes_;
    for (int arc = first_[at(node)]; arc < first_[at(node) + 1]; ++arc) {
      const Arc& out = arcs_[at(arc)];
      if (out.residual > 0) height = std::min(height, height_[at(out.to)] + 1);
    }
    height_[at(node)] = height;
    current_[at(node)] = first_[at(node)];
    if (height < nodes_) levels_.enter(node, height);
  }

  /// Excess beyond any flow is as good as infinite.
  void add_excess(int node, int64_t amount) { excess_[at(node)] = std::min(most_, excess_[at(node)] + amount); }

  int nodes_, source_, sink_;
  int64_t most_;
  std::vector<int> first_;  ///< the first of a node's arcs
  std::vector<Arc> arcs_;
  std::vector<int64_t> excess_;
  std::vector<int> height_, current_;
  Levels levels_;
  int64_t work_ = 0;
};

}  // namespace

void FlowNetwork::add(int from, int to, int64_t capacity) {
  if (capacity <= 0 || from == to) return;
  edges_.push_back({from, to, capacity});
  total_ += capacity;
}

void FlowNetwork::bind(int from, int to) {
  if (from != to) edges_.push_back({from, to, -1});
}

std::vector<bool> FlowNetwork::source_side() const {
  const int source = nodes_, sink = nodes_ + 1;
  const auto number = [&](int node) { return node == -1 ? source : node == -2 ? sink : node; };
  std::vector<Edge> edges = edges_;
  for (Edge& edge : edges) {
    edge = {number(edge.from), number(edge.to), edge.capacity < 0 ? total_ + 1 : edge.capacity};
  }
  PushRelabel solver(nodes_ + 2, source, sink, total_ + 1);
  solver.build(edges);
  solver.run();
  std::vector<bool> out = solver.sink_side();
  out.resize(at(nodes_));
  out.flip();
  return out;
}

}  // namespace relayout::layout
