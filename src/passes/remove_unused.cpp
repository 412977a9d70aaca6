// Removes nodes and initializers whose results nothing needs, in reverse order, so that a chain goes in one sweep.
//
//     a = Shape (x)          (gone, and w with it)
//     b = Gather (a, w)
//
// The public interface (graph inputs and outputs, overridable initializers), opset imports, and nodes of unknown operators or domains stay.

#include "base/interrupt.h"
#include "model/walk.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

struct DeadNode {
  const Node* node;
};

Match<DeadNode> match_dead(const Node& node, PassContext& context) {
  if (!is_dead(node) || is_excluded(node, context.options)) return NotApplicable{};
  return DeadNode{&node};
}

void remove_dead_node(const DeadNode& dead) {
  std::vector<Value*> freed;
  erase_node(writable(*dead.node), freed);
}

/// In reverse order, so that a chain is removed in one sweep.
void remove_nodes(Graph& graph, PassContext& context) {
  for_each_node_backwards(graph, [&](const Node& node) {
    rewrite_one(FindingSubject(node), context, [&] { return match_dead(node, context); }, remove_dead_node);
  });
}

struct DeadInitializer {
  Initializer* initializer;
};

Match<DeadInitializer> match_dead(Initializer& initializer, PassContext& context) {
  if (!is_unused(*initializer.value) || !is_removable(initializer, context)) return NotApplicable{};
  return DeadInitializer{&initializer};
}

void remove_initializers(Graph& graph, PassContext& context) {
  const auto remove_dead_node = [&](const DeadInitializer& dead) { graph.erase_initializer(*dead.initializer); };
  for (auto at = graph.initializers().begin(); at != graph.initializers().end();) {
    Initializer& initializer = *at++;
    rewrite_one({"initializer", initializer.value->name()}, context, [&] { return match_dead(initializer, context); }, remove_dead_node);
  }
}

}  // namespace

void remove_unused(Graph& graph, PassContext& context) {
  check_interrupt();
  remove_nodes(graph, context);
  for_each_graph<Nested::before>(graph, [&](Graph& nested) { remove_initializers(nested, context); });
}

}  // namespace relayout::passes
