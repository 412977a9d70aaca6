// The one way from reading a node to changing it.

#include "passes/node_access.h"

#include "relayout/graph.h"

namespace relayout::passes {

Node& writable(const Node& node) {
  return const_cast<Node&>(node);  // graphs own their nodes, and a rewrite may change its graph
}

}  // namespace relayout::passes
