#pragma once

#include <cstddef>
#include <span>

#include "base/indexed.h"
#include "layout/layout_graph.h"

namespace relayout::layout {

/// The producer and the readers of each value of a layout graph.
class Connections {
 public:
  struct Read {
    LayoutNodeId node = LayoutNodeId::none;
    std::size_t input = 0;
  };
  explicit Connections(const LayoutGraph& graph);
  /// None: the value comes from outside.
  [[nodiscard]] LayoutNodeId producer(LayoutValueId value) const { return producers_[value]; }
  [[nodiscard]] std::size_t output_index(LayoutValueId value) const { return output_indices_[value]; }
  /// In node order, each once per read.
  [[nodiscard]] std::span<const Read> reads(LayoutValueId value) const { return reads_[value]; }

 private:
  IdVector<LayoutValueId, LayoutNodeId> producers_;
  IdVector<LayoutValueId, std::size_t> output_indices_;
  IdLists<LayoutValueId, Read> reads_;
};

/// The only reader of a value, which reads it once; none when there is none.
[[nodiscard]] LayoutNodeId only_reader(const LayoutGraph& graph, const Connections& connections, LayoutValueId value);

}  // namespace relayout::layout
