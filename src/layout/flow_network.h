#pragma once

#include <cstdint>
#include <vector>

namespace relayout::layout {

/// A directed graph with capacities between a source and a sink, and its minimum cut. Capacities are whole numbers (nanoseconds), so that
/// the result does not depend on the order of the work.
class FlowNetwork {
 public:
  explicit FlowNetwork(int nodes) : nodes_(nodes) {}
  [[nodiscard]] int source() const noexcept { return -1; }
  [[nodiscard]] int sink() const noexcept { return -2; }
  /// Adds a node; returns its number.
  int add_node() { return nodes_++; }
  /// Adds an edge of finite capacity; none when it is 0 or less.
  void add(int from, int to, int64_t capacity);
  /// Adds an edge that no cut may cross. Source and sink must not be connected by such edges alone.
  void bind(int from, int to);
  /// The largest of all source sides of minimum cuts: for each node, whether it is on that side.
  [[nodiscard]] std::vector<bool> source_side() const;

 private:
  struct Edge {
    int from, to;
    int64_t capacity;  ///< -1: unlimited
  };
  int nodes_;
  int64_t total_ = 0;  ///< of all finite capacities
  std::vector<Edge> edges_;
};

}  // namespace relayout::layout
