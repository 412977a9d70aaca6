#pragma once

#include "passes/pass.h"
#include "relayout/graph.h"

namespace relayout::passes {

/// --freeze: initializers that a caller could replace become constants.
void freeze(Graph& graph, PassContext& context);

}  // namespace relayout::passes
