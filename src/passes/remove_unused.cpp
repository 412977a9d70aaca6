// Nodes whose results nobody reads, and initializers that nobody reads:
//
//     a = Shape (x)          (gone, and w with it)
//     b = Gather (a, w)
//
// Stays: what a caller sees (graph inputs and outputs, overridable initializers), opset imports, nodes of unknown operators or domains.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/interrupt.h"
#include "model/walk.h"
#include "passes/cleanup.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

void note(PassContext& context, std::string op_type, std::string name) {
  context.findings.push_back({std::string(context.pass), std::move(op_type), std::move(name)});
}

/// Backwards, so that a chain goes in one sweep.
void remove_nodes(Graph& graph, PassContext& context) {
  for_each_node_backwards(graph, [&](Node& node) {
    if (!context.may_rewrite() || !is_dead(node) || is_excluded(node, context.options)) return;
    note(context, node.op_type(), name_in_findings(node));
    ++context.rewrites;
    std::vector<Value*> freed;
    erase_node(node, freed);
  });
}

void remove_initializers(Graph& graph, PassContext& context) {
  for (auto at = graph.initializers().begin(); at != graph.initializers().end() && context.may_rewrite();) {
    Initializer& initializer = *at++;
    if (!is_unused(*initializer.value) || !is_removable(initializer, context)) continue;
    note(context, "initializer", initializer.value->name());
    ++context.rewrites;
    graph.erase_initializer(initializer);
  }
}

}  // namespace

void remove_unused(Graph& graph, PassContext& context) {
  check_interrupt();
  remove_nodes(graph, context);
  for_each_graph<Nested::before>(graph, [&](Graph& nested) { remove_initializers(nested, context); });
}

}  // namespace relayout
