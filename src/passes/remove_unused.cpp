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
  for (auto at = graph.nodes().end(); at != graph.nodes().begin() && context.may_rewrite();) {
    Node& node = *--at;
    for (const auto& nested : node.subgraphs()) remove_nodes(*nested, context);
    const bool is_dead = std::ranges::all_of(node.outputs(), [](const Value* output) { return output == nullptr || is_unused(*output); });
    if (!is_dead || !is_removable(node) || is_excluded(node, context.options)) continue;
    note(context, node.op_type(), name_in_findings(node));
    ++context.rewrites;
    ++at;
    std::vector<Value*> freed;
    erase_node(node, freed);
  }
}

void remove_initializers(Graph& graph, PassContext& context) {
  for (const Node& node : graph.nodes()) {
    for (const auto& nested : node.subgraphs()) remove_initializers(*nested, context);
  }
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
  remove_initializers(graph, context);
}

}  // namespace relayout
