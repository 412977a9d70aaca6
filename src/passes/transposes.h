#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>

#include "relayout/graph.h"

namespace relayout::passes {

/// A Transpose node before `position` that makes `output` of `input`. The output becomes a new value, or takes the place of one left
/// without a source.
Node* insert_transpose(Graph& graph, std::list<Node>::iterator position, Value& input, const std::string& output, const std::string& name,
                       std::span<const int64_t> permutation);
/// Entries of a Transpose's `perm`; 0 when it is not written out.
[[nodiscard]] std::size_t permutation_rank(const Node& transpose);
/// Takes a node out whose output is a graph output: what makes its input makes the output, and readers of the one read the other.
void attach_through(Graph& graph, Node& node);

}  // namespace relayout::passes
