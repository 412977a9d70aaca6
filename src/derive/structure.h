// Declares the comparison of two graphs by structure: the same nodes, with contents of their own.

#pragma once

#include <string>
#include <unordered_map>

#include "relayout/graph.h"

namespace relayout::derive {

/// For each initializer and Constant of the first graph, that of the second in its place.
using Counterparts = std::unordered_map<const Value*, const Value*>;

/// The first difference in words; "": both compute the same, but for the contents of `counterparts`, which are of equal types and dims.
[[nodiscard]] std::string structural_difference(const Graph& a, const Graph& b, Counterparts& counterparts);

}  // namespace relayout::derive
