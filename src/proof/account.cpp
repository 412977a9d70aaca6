// The bookkeeping of what settled claims account for, and the answer that it adds up to.

#include "proof/account.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {

std::vector<Claim> Account::accept(Sides& sides, Look look) {
  for (Issue& issue : look.issues) note(std::move(issue));
  accounted_a_.insert(look.nodes_a.begin(), look.nodes_a.end());
  accounted_b_.insert(look.nodes_b.begin(), look.nodes_b.end());
  accounted_a_.insert(look.bypassed.begin(), look.bypassed.end());
  bypassed_.insert(look.bypassed.begin(), look.bypassed.end());
  accounted_a_.insert(look.folded.begin(), look.folded.end());
  const Node* const fold = look.fold != nullptr ? &sides.b.in_file(*look.fold) : nullptr;
  for (const Node* node : look.folded) folded_.emplace(node, fold);
  for (const Node* node : look.rewritten) rewritten_.insert(&sides.b.in_file(*node));
  if (fold != nullptr) folds_.emplace(fold, look.near);
  for (const Ref constant : look.constants_a) account_for(sides.a, constant, accounted_a_, true);
  for (const Ref constant : look.constants_b) account_for(sides.b, constant, accounted_b_, false);
  for (const auto& [tensor, is_permuted] : look.tensors) (is_permuted ? permuted_tensors_ : equal_tensors_).insert(tensor);
  for (const auto& [a, b] : look.graphs) sides.pair_graphs(*a, *b);
  for (const auto& [a, b] : look.equal_nodes) {
    accounted_a_.insert(a);
    accounted_b_.insert(b);
    // A node in the body of an operator is no counterpart of one in a file.
    if (&sides.a.in_file(*a) != a || &sides.b.in_file(*b) != b) continue;
    const bool is_first = partners_b_.emplace(b, a).second && partners_a_.emplace(a, b).second;
    const bool is_other = partners_b_.at(b) != a || partners_a_.at(a) != b;
    if (look.is_exclusive && !is_first && is_other) {
      note(issue_of_node(sides, Unexplained::Kind::node_changed, *b, false,
                         "stands for several nodes of the other model, each of which gives values of its own"));
    }
  }
  return std::move(look.claims);
}

void Account::account_for(Side& side, Ref constant, std::unordered_set<const Node*>& accounted, bool is_first) {
  std::vector<Ref> open = {side.resolve(constant)};
  while (!open.empty()) {
    const Ref ref = open.back();
    open.pop_back();
    const Node* const node = ref ? ref.value->producer() : nullptr;
    if (node == nullptr || !side.constant(ref) || !accounted.insert(node).second) continue;
    if (is_first && &side.in_file(*node) == node && !node->is("Constant") && !node->is("Identity") && !node->is("Transpose"))
      evaluated_.insert(node);
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->input(i) != nullptr) open.push_back(side.operand(ref, i));
    }
  }
}

ProofResult Account::result() {
  ProofResult out;
  std::ranges::stable_sort(issues_, {}, &Issue::order);
  std::unordered_set<std::string> told;
  for (Issue& issue : issues_) {
    if (told.insert(issue.what.text).second) out.unexplained.push_back(std::move(issue.what));
  }
  for (const Value* tensor : permuted_tensors_) equal_tensors_.erase(tensor);
  out.unreached = std::move(unreached_);
  out.proved = out.unexplained.empty();
  out.folds = static_cast<int64_t>(folds_.size());
  for (const auto& [fold, near] : folds_) {
    out.near_folds += near > 0 ? 1 : 0;
    out.near_ulp = std::max(out.near_ulp, near);
  }
  out.folded_nodes = static_cast<int64_t>(folded_.size());
  out.rewritten = static_cast<int64_t>(rewritten_.size());
  out.permutations = static_cast<int64_t>(permuted_tensors_.size());
  out.tensors_equal = static_cast<int64_t>(equal_tensors_.size());
  out.nodes_equal = static_cast<int64_t>(partners_b_.size());
  out.nodes_bypassed = static_cast<int64_t>(bypassed_.size());
  out.nodes_evaluated = static_cast<int64_t>(evaluated_.size());
  out.nodes_dead = static_cast<int64_t>(dead_.size());
  return out;
}

}  // namespace relayout::proof
