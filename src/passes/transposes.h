#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>

#include "relayout/graph.h"

namespace relayout::passes {

/// Inserts a Transpose from `input` to `output` before `position`. The output is a new value, or an existing one without a source.
Node* insert_transpose(Graph& graph, std::list<Node>::iterator position, Value& input, const std::string& output, const std::string& name,
                       std::span<const int64_t> permutation);
/// Entries of a Transpose's `perm`; 0 when they are not given in the node.
[[nodiscard]] std::size_t permutation_rank(const Node& transpose);
/// Removes a node whose output is a graph output: its input's producer and readers move to the output.
void attach_through(Graph& graph, Node& node);

}  // namespace relayout::passes
