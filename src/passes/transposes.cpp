// Transpose nodes that --io, --emit and --layout insert: the place of each among the nodes (right after the node that makes its input,
// first, or last), its name `x/Transpose`; removal at outputs.

#include "passes/transposes.h"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/positions.h"
#include "model/attributes.h"
#include "model/node_message.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

using Place = std::list<Node>::iterator;

Node& insert(Graph& graph, Place place, const NewTranspose& transpose) {
  onnx::NodeProto message = node_message("Transpose", {transpose.input.name()}, {transpose.output}, transpose.name);
  set_integers(message, "perm", transpose.permutation);
  return graph.insert_before(place, message);
}

/// The place right after the node of the graph that makes `source`; nothing without such a node.
std::optional<Place> place_after(Graph& graph, const Value& source) {
  if (source.producer() == nullptr || &source.graph() != &graph) return std::nullopt;
  return std::next(graph.position_of(*source.producer()));
}

}  // namespace

Node& insert_after_source(Graph& graph, const NewTranspose& transpose) {
  return insert(graph, place_after(graph, transpose.input).value_or(graph.nodes().begin()), transpose);
}

Node& insert_last(Graph& graph, const NewTranspose& transpose) {
  return insert(graph, graph.nodes().end(), transpose);
}

Node& OrderedTransposes::insert_after_source(Graph& graph, const NewTranspose& transpose) {
  if (const auto place = place_after(graph, transpose.input)) return insert(graph, *place, transpose);
  return insert(graph, fronts_.try_emplace(&graph, graph.nodes().begin()).first->second, transpose);
}

std::string transpose_name(const std::string& value) {
  return value + "/Transpose";
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
