#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// A Transpose to be inserted. Its output is a new value, or an existing one without a source.
struct NewTranspose {
  Value& input;
  std::string output;
  std::string name;
  Dims permutation;
};

/// Inserts it right after the node of `graph` that makes its input; as the first node if there is none, as for graph inputs and captured
/// values.
Node& insert_after_source(Graph& graph, const NewTranspose& transpose);
/// Inserts it as the last node.
Node& insert_last(Graph& graph, const NewTranspose& transpose);
/// Inserts Transposes as insert_after_source() does, but keeps those at the front of a graph in the order of insertion.
class OrderedTransposes {
 public:
  Node& insert_after_source(Graph& graph, const NewTranspose& transpose);

 private:
  std::unordered_map<const Graph*, std::list<Node>::iterator> fronts_;  ///< the first nodes that were there before
};

/// The name of the Transpose that makes a new value, or reads it: VALUE/Transpose.
[[nodiscard]] std::string transpose_name(const std::string& value);
/// Entries of a Transpose's `perm`; 0 when they are not given in the node.
[[nodiscard]] std::size_t permutation_rank(const Node& transpose);
/// Removes a node whose output is a graph output: its input's producer and readers move to the output.
void attach_through(Graph& graph, Node& node);

}  // namespace relayout::passes
