#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "layout/layout_graph.h"

namespace relayout {

/// Who makes and who reads each value of a layout graph.
class Connections {
 public:
  struct Read {
    int node;
    std::size_t input;
  };
  explicit Connections(const LayoutGraph& graph);
  /// -1: it comes in.
  [[nodiscard]] int producer(int value) const { return producers_[static_cast<std::size_t>(value)]; }
  [[nodiscard]] std::size_t output_index(int value) const { return output_indices_[static_cast<std::size_t>(value)]; }
  /// In node order, each once per read.
  [[nodiscard]] std::span<const Read> reads(int value) const {
    const auto first = static_cast<std::size_t>(first_[static_cast<std::size_t>(value)]);
    return std::span(reads_).subspan(first, static_cast<std::size_t>(first_[static_cast<std::size_t>(value) + 1]) - first);
  }

 private:
  std::vector<int> producers_, first_;
  std::vector<std::size_t> output_indices_;
  std::vector<Read> reads_;
};

}  // namespace relayout
