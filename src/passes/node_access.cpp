// The name of a node in passes, and the one way from reading a node to changing it.

#include "passes/node_access.h"

#include <string>

#include "relayout/graph.h"

namespace relayout::passes {

const std::string& name_in_findings(const Node& node) {
  if (!node.name().empty()) return node.name();
  for (const Value* output : node.outputs()) {
    if (output != nullptr) return output->name();
  }
  return node.name();
}

Node& writable(const Node& node) {
  return const_cast<Node&>(node);  // graphs own their nodes, and a rewrite may change its graph
}

}  // namespace relayout::passes
