#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "model/functions.h"
#include "passes/pass.h"
#include "relayout/graph.h"

namespace relayout::passes {

/// Puts the nodes of a function in the place of a call, whose outputs they take over. `body` has the names of the call's operands. Returns
/// the number of nodes put in, those without a reader included.
int64_t expand(Node& call, const Graph& function, FunctionBody& body, PassContext& context);

/// Whether an If can be replaced by one of its graphs, or a Loop by one run of its body.
[[nodiscard]] bool can_inline(const Node& holder, const Graph& graph);
/// How many values of a model's graphs have a name.
using NameCounts = std::unordered_map<std::string, int64_t>;
/// Calls `visit` for each value of a graph: inputs, initializers, and those that its nodes make.
void for_each_own_value(const Graph& graph, const std::function<void(const Value&)>& visit);
/// Does so. A Loop then gives what its first run gives, whether it would run or not. Values that alone have their name in `names` keep it.
void inline_graph(Node& holder, const Graph& graph, PassContext& context, const NameCounts* names = nullptr);
/// Removes a Loop that never runs its body: it gives the values that it would carry, and `stacks`, one for each scan output that it has.
void skip_loop(Node& holder, const Graph& body, std::vector<TensorData> stacks, PassContext& context);

}  // namespace relayout::passes
