// Compares nodes, functions and initializers that no output needs by name, and lists the rest.

#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "ops/op.h"
#include "proof/account.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/prover.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::proof {
namespace {

/// Whether the node has no effect except through its outputs.
bool is_pure(const Side& side, const Node& node) {
  return find_op(node) != nullptr || node.domain().empty() || side.function_of(node) != nullptr;
}

}  // namespace

void Prover::claim_leftovers() {
  claim_functions();
  claim_nodes();
  claim_initializers();
}

/// Compares functions that have no callers.
void Prover::claim_functions() {
  for (const auto& function : sides_.b.model().functions()) {
    if (sides_.graph_of_first(*function) != nullptr) continue;
    for (const auto& other : sides_.a.model().functions()) {
      const auto& of_a = *other->function();
      const auto& of_b = *function->function();
      if (of_a.name() != of_b.name() || of_a.domain() != of_b.domain() || of_a.overload() != of_b.overload()) continue;
      Look look;
      pair_graphs(sides_, *other, nullptr, *function, nullptr, look);
      accept(std::move(look));
    }
  }
  settle_all();
}

void Prover::claim_nodes() {
  const std::vector<const Node*>& nodes = sides_.b.nodes();
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Node& node = *nodes[i];
    const Graph* const graph = sides_.graph_of_first(node.graph());
    if (account_.of_second(node).is_accounted || graph == nullptr) continue;
    const Node* const partner = hints_.partner ? hints_.partner(node) : nullptr;
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      const Value* const namesake = partner != nullptr ? partner->output(as_size(output->output_index())) : graph->find(output->name());
      const Node* const made = namesake != nullptr ? namesake->producer() : nullptr;
      if (made == nullptr || !same_operator(*made, node)) continue;
      open_.push_back({{namesake}, {output}, {}, {}, {}, {}, &node});
      settle_all();
    }
  }
}

void Prover::claim_initializers() {
  for (const Initializer& initializer : sides_.b.model().graph().initializers()) {
    const Value& value = *initializer.value;
    if (!value.uses().empty() || value.is_output() || value.is_overridable()) continue;
    const Value* const namesake = sides_.a.model().graph().find(value.name());
    if (namesake != nullptr && namesake->initializer() != nullptr) {
      open_.push_back({{namesake}, {&value}, {}, {}, {}, {}, nullptr});
      settle_all();
    } else {
      account_.note({{Unexplained::Kind::tensor, value.name(), "constant " + quote(value.name()) + " was not there, and nothing reads it",
                      0, 0, false},
                     std::numeric_limits<int64_t>::max()});
    }
  }
}

void Account::list_leftovers(const Sides& sides) {
  // A node inside an open node is reported with that node.
  const auto is_open_in_a = [this](const Node* node) { return node != nullptr && !of_first(*node).is_accounted; };
  const auto is_open_in_b = [this](const Node* node) { return node != nullptr && !of_second(*node).is_accounted; };
  // A node that a graph output needs but no claim reached is upstream of an issue, and reported with that.
  const auto needed_by_functions = [](const Model& model) {
    std::unordered_set<const Node*> out;
    for (const auto& function : model.functions()) out.merge(needed_nodes(*function));
    return out;
  };
  const auto needed_in_b = needed_nodes(sides.b.model().graph());
  const auto needed_by_functions_b = needed_by_functions(sides.b.model());
  for (const Node* node : sides.b.nodes()) {
    if (!is_open_in_b(node) || is_open_in_b(node->graph().owner())) continue;
    if (sides.graph_of_first(node->graph().top()) == nullptr) continue;
    if (needed_in_b.contains(node) && !needed_by_functions_b.contains(node)) {
      if (&node->graph() == &sides.b.model().graph()) {
        const Value* const output = first_output(*node);
        unreached_.push_back(output != nullptr ? output->name() : "");
      }
      continue;
    }
    note(issue_of_node(sides, Unexplained::Kind::node_added, *node, false, "was not there"));
  }
  const auto paired_a = sides.paired_graphs();
  const auto needed_in_a = needed_nodes(sides.a.model().graph());
  const auto needed_by_functions_a = needed_by_functions(sides.a.model());
  for (const Node* node : sides.a.nodes()) {
    if (!is_open_in_a(node) || is_open_in_a(node->graph().owner()) || !paired_a.contains(&node->graph().top())) continue;
    const bool is_needed = needed_in_a.contains(node) || needed_by_functions_a.contains(node);
    if (needed_by_functions_a.contains(node) || (!is_needed && !is_pure(sides.a, *node))) {
      note(issue_of_node(sides, Unexplained::Kind::node_removed, *node, true, "is gone"));
    } else if (!is_needed) {
      first_[node].is_dead = true;
    }
  }
}

}  // namespace relayout::proof
