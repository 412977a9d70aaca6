#pragma once

#include <cstdint>

#include "model/functions.h"
#include "passes/pass.h"
#include "relayout/graph.h"

namespace relayout::passes {

/// Puts the nodes of a function in the place of a call, whose outputs they take over. `body` has the names of the call's operands. Returns
/// the number of nodes put in, those without a reader included.
int64_t expand(Node& call, const Graph& function, FunctionBody& body, PassContext& context);

/// Whether an If can be replaced by one of its graphs, or a Loop by one run of its body.
[[nodiscard]] bool can_inline(const Node& holder, const Graph& graph);
/// Does so. A Loop then gives what its first run gives, whether it would run or not.
void inline_graph(Node& holder, const Graph& graph, PassContext& context);

}  // namespace relayout::passes
