// The producer and the readers of each value of a layout graph, indexed once.

#include "layout/connections.h"

#include <cstddef>

#include "layout/layout_graph.h"

namespace relayout::layout {

Connections::Connections(const LayoutGraph& graph)
    : producers_(graph.values.size(), LayoutNodeId::none),
      output_indices_(graph.values.size()),
      reads_(graph.values.size(), [&graph](const auto& add) {
        for (const LayoutNodeId id : graph.nodes.ids()) {
          const LayoutNode& node = graph.nodes[id];
          for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            if (node.inputs[i] != LayoutValueId::none) add(node.inputs[i], Read{id, i});
          }
        }
      }) {
  for (const LayoutNodeId id : graph.nodes.ids()) {
    const LayoutNode& node = graph.nodes[id];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == LayoutValueId::none) continue;
      producers_[node.outputs[k]] = id;
      output_indices_[node.outputs[k]] = k;
    }
  }
}

LayoutNodeId only_reader(const LayoutGraph& graph, const Connections& connections, LayoutValueId value) {
  if (value == LayoutValueId::none || graph.values[value].is_output) return LayoutNodeId::none;
  const auto reads = connections.reads(value);
  return reads.size() == 1 ? reads[0].node : LayoutNodeId::none;
}

}  // namespace relayout::layout
