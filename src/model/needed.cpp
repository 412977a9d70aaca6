// Which nodes are needed: all upstream of given values or of a graph's outputs, through nested graphs too; all others of a graph are dead.
#include "model/needed.h"

#include <unordered_set>
#include <utility>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

std::unordered_set<const Node*> needed_nodes(std::vector<const Value*> values) {
  std::unordered_set<const Node*> out;
  std::vector<const Value*> open = std::move(values);
  while (!open.empty()) {
    const Node* const node = open.back()->producer();
    open.pop_back();
    if (node == nullptr || !out.insert(node).second) continue;
    for (const Value* const input : node->inputs()) {
      if (input != nullptr) open.push_back(input);
    }
    for (const auto& nested : node->subgraphs()) open.insert(open.end(), nested->outputs().begin(), nested->outputs().end());
  }
  return out;
}

std::unordered_set<const Node*> needed_nodes(const Graph& graph) {
  return needed_nodes({graph.outputs().begin(), graph.outputs().end()});
}

}  // namespace relayout
