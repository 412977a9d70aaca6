// Helpers for one Transpose node, inserted or reconnected, that --io, --emit and --layout share.

#include "passes/transposes.h"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "base/positions.h"
#include "model/attributes.h"
#include "model/node_message.h"
#include "relayout/graph.h"

namespace relayout::passes {

Node* insert_transpose(Graph& graph, std::list<Node>::iterator position, Value& input, const std::string& output, const std::string& name,
                       std::span<const int64_t> permutation) {
  onnx::NodeProto message = node_message("Transpose", {input.name()}, {output}, name);
  set_integers(message, "perm", permutation);
  return &graph.insert_before(position, message);
}

std::size_t permutation_rank(const Node& transpose) {
  const Attributes attributes(transpose);
  return attributes.has_reference() ? 0 : attributes.integers("perm").size();
}

void attach_through(Graph& graph, Node& node) {
  Value& inner = *node.input(0);
  Value& outer = *node.output(0);
  const std::vector<Use> uses(inner.uses().begin(), inner.uses().end());
  for (const Use& use : uses) {
    if (use.node != &node) use.node->graph().set_input(*use.node, as_size(use.index), &outer);
  }
  graph.attach(inner, node);
}

}  // namespace relayout::passes
