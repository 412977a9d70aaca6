// Keeps the role of each node in the proof, and sums up its result.

#include "proof/account.h"

#include "model/node.h"
#include "ops/op.h"
#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {
namespace {

/// Accounts for the nodes that compute a constant and are not yet accounted for; returns these.
template <class Nodes>
std::vector<const Node*> account_for(Side& side, Ref constant, Nodes& nodes) {
  std::vector<const Node*> makers;
  std::vector<Ref> open = {side.resolve(constant)};
  while (!open.empty()) {
    const Ref ref = open.back();
    open.pop_back();
    const Node* const node = ref ? ref.value->producer() : nullptr;
    if (node == nullptr || !side.constant(ref) || std::exchange(nodes[node].is_accounted, true)) continue;
    makers.push_back(node);
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->input(i) != nullptr) open.push_back(side.operand(ref, i));
    }
  }
  return makers;
}

/// Whether a node of the file computes a constant.
bool is_computed(const Side& side, const Node& node) {
  return &side.in_file(node) == &node && !node.is("Constant") && !node.is("Identity") && !node.is("Transpose");
}

/// Whether the node has no effect except through its outputs.
bool is_pure(const Side& side, const Node& node) {
  return find_op(node) != nullptr || node.domain().empty() || side.function_of(node) != nullptr;
}

}  // namespace

std::vector<Claim> Account::accept(Sides& sides, Look look) {
  for (Issue& issue : look.issues) note(std::move(issue));
  for (const Node* node : look.nodes_a) first_[node].is_accounted = true;
  for (const Node* node : look.nodes_b) second_[node].is_accounted = true;
  for (const Node* node : look.bypassed) first_[node].is_accounted = first_[node].is_bypassed = true;
  const Node* const fold = look.fold != nullptr ? &sides.b.in_file(*look.fold) : nullptr;
  for (const Node* node : look.folded) {
    FirstNode& folded = first_[node];
    folded.is_accounted = true;
    if (folded.folded_into == nullptr) folded.folded_into = fold;
  }
  for (const Node* node : look.rewritten) second_[&sides.b.in_file(*node)].is_rewritten = true;
  if (fold != nullptr && !second_[fold].fold) second_[fold].fold = look.near;
  for (const Ref constant : look.constants_a) {
    for (const Node* node : account_for(sides.a, constant, first_)) first_[node].is_evaluated = is_computed(sides.a, *node);
  }
  for (const Ref constant : look.constants_b) (void)account_for(sides.b, constant, second_);
  for (const auto& [tensor, is_permuted] : look.tensors) (is_permuted ? permuted_tensors_ : equal_tensors_).insert(tensor);
  for (const auto& [a, b] : look.graphs) sides.pair_graphs(*a, *b);
  for (const auto& [a, b] : look.equal_nodes) pair_nodes(sides, *a, *b, look.is_exclusive);
  return std::move(look.claims);
}

void Account::pair_nodes(Sides& sides, const Node& of_a, const Node& of_b, bool is_exclusive) {
  FirstNode& first = first_[&of_a];
  SecondNode& second = second_[&of_b];
  first.is_accounted = second.is_accounted = true;
  // A node in the body of an operator is no counterpart of a node in a file.
  if (&sides.a.in_file(of_a) != &of_a || &sides.b.in_file(of_b) != &of_b) return;
  if (second.partner == nullptr) {
    second.partner = &of_a;
    if (first.partner == nullptr) first.partner = &of_b;
  }
  if (is_exclusive && (second.partner != &of_a || first.partner != &of_b)) {
    note(issue_of_node(sides, Unexplained::Kind::node_changed, of_b, false,
                       "stands for several nodes of the other model that produce different values"));
  }
}

ProofResult Account::result() {
  ProofResult out;
  std::ranges::stable_sort(issues_, {}, &Issue::order);
  std::unordered_set<std::string> reported;
  for (Issue& issue : issues_) {
    if (reported.insert(issue.what.text).second) out.unexplained.push_back(std::move(issue.what));
  }
  for (const Value* tensor : permuted_tensors_) equal_tensors_.erase(tensor);
  out.unreached = std::move(unreached_);
  out.proved = out.unexplained.empty();
  for (const auto& [node, second] : second_) {
    out.folds += second.fold ? 1 : 0;
    out.near_folds += second.fold.value_or(0) > 0 ? 1 : 0;
    out.near_ulp = std::max(out.near_ulp, second.fold.value_or(0));
    out.rewritten += second.is_rewritten ? 1 : 0;
    out.nodes_equal += second.partner != nullptr ? 1 : 0;
  }
  for (const auto& [node, first] : first_) {
    out.folded_nodes += first.folded_into != nullptr ? 1 : 0;
    out.nodes_bypassed += first.is_bypassed ? 1 : 0;
    out.nodes_evaluated += first.is_evaluated ? 1 : 0;
    out.nodes_dead += first.is_dead ? 1 : 0;
  }
  out.permutations = static_cast<int64_t>(permuted_tensors_.size());
  out.tensors_equal = static_cast<int64_t>(equal_tensors_.size());
  return out;
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
