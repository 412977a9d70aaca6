// Turns the const node that a matcher of a pass has read into one that its rewrite may change.

#include "passes/node_access.h"

#include "relayout/graph.h"

namespace relayout::passes {

Node& writable(const Node& node) {
  return const_cast<Node&>(node);  // graphs own their nodes, and a rewrite may change its graph
}

}  // namespace relayout::passes
