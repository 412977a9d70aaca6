// Nodes and constants that no claim reached: dead code of the second model is compared by name, what is left over on either side is listed.

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "proof/nodes.h"
#include "proof/prover.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {
namespace {

using Values = std::vector<const Value*>;

Values outputs_of(const Graph& graph) {
  return {graph.outputs().begin(), graph.outputs().end()};
}

/// Nodes that values depend on, those in nested graphs included.
std::unordered_set<const Node*> needed_nodes(Values open) {
  std::unordered_set<const Node*> out;
  while (!open.empty()) {
    const Node* const node = open.back()->producer();
    open.pop_back();
    if (node == nullptr || !out.insert(node).second) continue;
    for (const Value* input : node->inputs()) {
      if (input != nullptr) open.push_back(input);
    }
    for (const auto& nested : node->subgraphs()) open.insert(open.end(), nested->outputs().begin(), nested->outputs().end());
  }
  return out;
}

const Graph& top_of(const Graph& graph) {
  const Graph* out = &graph;
  while (out->outer() != nullptr) out = out->outer();
  return *out;
}

/// Without effect but through its outputs.
bool is_pure(const Side& side, const Node& node) {
  return node.domain().empty() || side.function_of(node) != nullptr;
}

}  // namespace

/// What no output of the second model needs is compared with what the first one calls by the same name.
void Prover::claim_leftovers() {
  for (const auto& function : b_.model().functions()) {
    if (graphs_.contains(function.get())) continue;
    for (const auto& other : a_.model().functions()) {
      const auto& of_a = *other->function();
      const auto& of_b = *function->function();
      if (of_a.name() != of_b.name() || of_a.domain() != of_b.domain() || of_a.overload() != of_b.overload()) continue;
      Look look;
      pair_graphs(*other, nullptr, *function, nullptr, look);
      accept(std::move(look));
    }
  }
  settle_all();
  const std::vector<const Node*>& nodes = b_.nodes();
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Node& node = *nodes[i];
    const auto graph = graphs_.find(&node.graph());
    if (accounted_b_.contains(&node) || graph == graphs_.end()) continue;
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      const Value* const namesake = graph->second->find(output->name());
      const Node* const made = namesake != nullptr ? namesake->producer() : nullptr;
      if (made == nullptr || !same_operator(*made, node)) continue;
      open_.push_back({{namesake}, {output}, {}, {}, {}, {}, &node});
      settle_all();
    }
  }
  for (const Initializer& initializer : b_.model().graph().initializers()) {
    const Value& value = *initializer.value;
    if (!value.uses().empty() || value.is_output() || value.is_overridable()) continue;
    const Value* const namesake = a_.model().graph().find(value.name());
    if (namesake != nullptr && namesake->initializer() != nullptr) {
      open_.push_back({{namesake}, {&value}, {}, {}, {}, {}, nullptr});
      settle_all();
    } else {
      issues_.push_back({{Unexplained::Kind::tensor, value.name(),
                          "constant " + quote(value.name()) + " was not there, and nothing reads it", 0, 0, false},
                         std::numeric_limits<int64_t>::max()});
    }
  }
}

void Prover::list_leftovers() {
  const auto is_told_with_owner = [](const Node& node, const std::unordered_set<const Node*>& accounted) {
    return node.graph().owner() != nullptr && !accounted.contains(node.graph().owner());
  };
  // Nodes that only outputs without a counterpart need are told of with those.
  const auto needed_by = [](const Model& model, const Values& outputs) {
    auto out = needed_nodes(outputs);
    for (const auto& function : model.functions()) out.merge(needed_nodes(outputs_of(*function)));
    return out;
  };
  std::unordered_set<const Graph*> paired_a;
  for (const auto& [b, a] : graphs_) paired_a.insert(a);
  const auto all_b = needed_by(b_.model(), outputs_of(b_.model().graph()));
  const auto needed_b = needed_by(b_.model(), outputs_b_);
  for (const Node* node : b_.nodes()) {
    if (accounted_b_.contains(node) || is_told_with_owner(*node, accounted_b_) || !graphs_.contains(&top_of(node->graph()))) continue;
    if (all_b.contains(node) && !needed_b.contains(node)) continue;
    issues_.push_back(issue_of_node(Unexplained::Kind::node_added, *node, false, "was not there"));
  }
  const auto all_a = needed_by(a_.model(), outputs_of(a_.model().graph()));
  const auto needed_a = needed_by(a_.model(), outputs_a_);
  for (const Node* node : a_.nodes()) {
    if (accounted_a_.contains(node) || is_told_with_owner(*node, accounted_a_) || !paired_a.contains(&top_of(node->graph()))) continue;
    if (needed_a.contains(node) || (!all_a.contains(node) && !is_pure(a_, *node))) {
      issues_.push_back(issue_of_node(Unexplained::Kind::node_removed, *node, true, "is gone"));
    } else if (!all_a.contains(node)) {
      ++result_.nodes_dead;
    }
  }
}

}  // namespace relayout::proof
