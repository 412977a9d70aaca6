// Who makes and who reads each value of a layout graph, indexed once.

#include "layout/connections.h"

#include <cstddef>
#include <vector>

#include "layout/layout_graph.h"

namespace relayout {

Connections::Connections(const LayoutGraph& graph)
    : producers_(graph.values.size(), -1), first_(graph.values.size() + 1, 0), output_indices_(graph.values.size(), 0) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayoutNode& node = graph.nodes[i];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] < 0) continue;
      producers_[static_cast<std::size_t>(node.outputs[k])] = static_cast<int>(i);
      output_indices_[static_cast<std::size_t>(node.outputs[k])] = k;
    }
    for (const int input : node.inputs) {
      if (input >= 0) ++first_[static_cast<std::size_t>(input) + 1];
    }
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  reads_.resize(static_cast<std::size_t>(first_.back()));
  std::vector<int> next(first_.begin(), first_.end() - 1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayoutNode& node = graph.nodes[i];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] < 0) continue;
      reads_[static_cast<std::size_t>(next[static_cast<std::size_t>(node.inputs[k])]++)] = {static_cast<int>(i), k};
    }
  }
}

}  // namespace relayout
