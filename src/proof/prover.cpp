// The loop over open claims, from the graph outputs upstream, and the bookkeeping of what the settled ones account for.

#include "proof/prover.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/interrupt.h"
#include "base/text.h"
#include "proof/interface.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::proof {
namespace {

/// A's values paired with B's: by name, what is left by place.
template <class Visit>
void for_each_pair(const std::vector<const Value*>& a, const std::vector<const Value*>& b, const Visit& visit) {
  std::unordered_map<std::string_view, const Value*> by_name;
  for (const Value* value : b) by_name.emplace(value->name(), value);
  std::vector<const Value*> rest_a;
  for (const Value* value : a) {
    const auto found = by_name.find(value->name());
    if (found == by_name.end()) {
      rest_a.push_back(value);
    } else {
      visit(*value, *found->second);
      by_name.erase(found);
    }
  }
  std::size_t next = 0;
  for (const Value* value : b) {
    if (by_name.contains(value->name()) && next < rest_a.size()) visit(*rest_a[next++], *value);
  }
}

std::vector<const Value*> outputs_of(const Model& model) {
  return {model.graph().outputs().begin(), model.graph().outputs().end()};
}

}  // namespace

Prover::Prover(const Model& a, const Model& b) : a_(a), b_(b), shapes_a_(a_), shapes_b_(b_) {}

ProofResult Prover::run() {
  claim_interface();
  settle_all();
  claim_leftovers();
  list_leftovers();
  return result();
}

void Prover::claim_interface() {
  for (Unexplained& difference : compare_interfaces(a_.model(), b_.model())) issues_.push_back({std::move(difference), -1});
  graphs_.emplace(&b_.model().graph(), &a_.model().graph());
  const std::vector<const Value*> frozen = frozen_inputs(a_.model(), b_.model());
  for (const Value* value : frozen) a_.freeze(*value);
  std::vector<const Value*> inputs = callers_inputs(a_.model());
  const std::unordered_set<const Value*> is_frozen(frozen.begin(), frozen.end());
  std::erase_if(inputs, [&](const Value* value) { return is_frozen.contains(value); });
  Look look;
  for_each_pair(inputs, callers_inputs(b_.model()), [&](const Value& a, const Value& b) {
    inputs_.emplace(&b, &a);
    // What an overridable input is when the caller says nothing.
    if (a.initializer() != nullptr && b.initializer() != nullptr) compare_tensors({{&a}, {&b}, {}, {}, {}, {}, nullptr}, look, &b);
  });
  for_each_pair(outputs_of(a_.model()), outputs_of(b_.model()),
                [&](const Value& a, const Value& b) { look.claims.push_back({{&a}, {&b}, {}, {}, {}, {}, nullptr}); });
  accept(std::move(look));
}

void Prover::settle_all() {
  // Each claim goes down in at least one model. Copies of shared values can still multiply them, in graphs nobody has.
  const auto most = 64 * static_cast<int64_t>(a_.nodes().size() + b_.nodes().size()) + 4096;
  while (!open_.empty()) {
    if (++settled_ > most) {
      issues_.push_back({{Unexplained::Kind::graph, "", "the graphs are too tangled to be compared to the end", 0, 0, false},
                         std::numeric_limits<int64_t>::max()});
      open_.clear();
      return;
    }
    if (settled_ % 256 == 0) check_interrupt();
    Claim claim = std::move(open_.back());
    open_.pop_back();
    settle(std::move(claim));
  }
}

void Prover::settle(Claim claim) {
  claim.a = a_.resolve(claim.a);
  claim.b = b_.resolve(claim.b);
  if (claim.is_plain() && !claimed_.emplace(claim.a, claim.b).second) return;
  const bool is_flat = claim.is_flat && claim.behind_a.empty() && claim.behind_b.empty();
  if (is_flat && !claimed_flat_.emplace(claim.a, claim.b).second) return;
  Look look = examine(claim);
  const Ref other = look.issues.empty() ? Ref() : namesake(claim);
  if (!other) return accept(std::move(look));
  // Not what stands at this place of the first model: perhaps what it calls by this name.
  const bool plain = claim.is_plain();
  const Claim renamed{other, plain ? claim.b : claim.origin_b, {}, {}, {}, {}, claim.reader};
  const bool is_known = claimed_.contains({renamed.a, renamed.b});
  Look second = is_known ? Look() : examine(renamed);
  if (!second.issues.empty()) return accept(std::move(look));
  claimed_.emplace(renamed.a, renamed.b);
  const Ref wanted = plain ? claim.a : claim.origin_a;
  second.issues.push_back(issue_of_other_value(renamed, *wanted.value));
  accept(std::move(second));
}

Ref Prover::namesake(const Claim& claim) const {
  const Ref a = claim.is_plain() ? claim.a : claim.origin_a;
  const Ref b = claim.is_plain() ? claim.b : claim.origin_b;
  if (!a || !b || a.value->name() == b.value->name()) return {};
  // Where the second model does not have the first one's value at all, it was not another one that was wanted.
  const Value* const found = a.value->graph().find(b.value->name());
  if (found == nullptr || found == a.value || b.value->graph().find(a.value->name()) == nullptr) return {};
  return {found, a.call};
}

void Prover::accept(Look look) {
  for (Issue& issue : look.issues) issues_.push_back(std::move(issue));
  accounted_a_.insert(look.nodes_a.begin(), look.nodes_a.end());
  accounted_b_.insert(look.nodes_b.begin(), look.nodes_b.end());
  accounted_a_.insert(look.bypassed.begin(), look.bypassed.end());
  bypassed_.insert(look.bypassed.begin(), look.bypassed.end());
  accounted_a_.insert(look.folded.begin(), look.folded.end());
  folded_.insert(look.folded.begin(), look.folded.end());
  if (look.fold != nullptr) folds_.emplace(look.fold, look.near);
  for (const Ref constant : look.constants_a) account_for(a_, constant, accounted_a_, true);
  for (const Ref constant : look.constants_b) account_for(b_, constant, accounted_b_, false);
  for (const auto& [tensor, is_permuted] : look.tensors) (is_permuted ? permuted_tensors_ : equal_tensors_).insert(tensor);
  for (const auto& [a, b] : look.graphs) {
    graphs_.emplace(b, a);
    for (std::size_t i = 0; i < b->inputs().size(); ++i) inputs_.emplace(b->inputs()[i], a->inputs()[i]);
  }
  for (const auto& [a, b] : look.equal_nodes) {
    accounted_a_.insert(a);
    accounted_b_.insert(b);
    const bool is_first = partners_b_.emplace(b, a).second && partners_a_.emplace(a, b).second;
    const bool is_other = partners_b_.at(b) != a || partners_a_.at(a) != b;
    if (look.is_exclusive && !is_first && is_other) {
      issues_.push_back(issue_of_node(Unexplained::Kind::node_changed, *b, false,
                                      "stands for several nodes of the other model, each of which gives values of its own"));
    }
  }
  for (std::size_t i = look.claims.size(); i-- > 0;) open_.push_back(std::move(look.claims[i]));
}

void Prover::account_for(Side& side, Ref constant, std::unordered_set<const Node*>& accounted, bool is_first) {
  std::vector<Ref> open = {side.resolve(constant)};
  while (!open.empty()) {
    const Ref ref = open.back();
    open.pop_back();
    const Node* const node = ref ? ref.value->producer() : nullptr;
    if (node == nullptr || !side.constant(ref) || !accounted.insert(node).second) continue;
    if (is_first && !node->is("Constant") && !node->is("Identity") && !node->is("Transpose")) evaluated_.insert(node);
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->input(i) != nullptr) open.push_back(side.operand(ref, i));
    }
  }
}

void Prover::pair_graphs(const Graph& a, const Call* call_a, const Graph& b, const Call* call_b, Look& look) {
  if (a.inputs().size() != b.inputs().size() || a.outputs().size() != b.outputs().size()) {
    const std::string where = b.is_function()        ? "function " + quote(b.function()->name())
                              : b.owner() != nullptr ? "a graph in " + b.owner()->label()
                                                     : "the graph";
    look.issues.push_back({{Unexplained::Kind::graph, "", where + " has another number of inputs or outputs", 0, 0, false},
                           b.owner() != nullptr ? b_.order_of(*b.owner()) : 0});
    return;
  }
  look.graphs.emplace_back(&a, &b);
  for (std::size_t i = 0; i < b.outputs().size(); ++i) {
    look.claims.push_back({{a.outputs()[i], call_a}, {b.outputs()[i], call_b}, {}, {}, {}, {}, b.owner()});
  }
}

Issue Prover::issue_of_node(Unexplained::Kind kind, const Node& node, bool in_first, const std::string& text) {
  std::string name = node.name();
  for (const Value* output : node.outputs()) {
    if (name.empty() && output != nullptr) name = output->name();
  }
  return {{kind, name, node.label() + " " + text, 0, 0, in_first}, in_first ? std::numeric_limits<int64_t>::max() : b_.order_of(node)};
}

int64_t Prover::order_of(const Claim& claim) const {
  const Node* const producer = claim.b ? claim.b.value->producer() : nullptr;
  if (producer != nullptr) return b_.order_of(*producer);
  return claim.reader != nullptr ? b_.order_of(*claim.reader) : 0;
}

Issue Prover::issue_of_reader(Unexplained::Kind kind, const Claim& claim, const std::string& text) {
  if (claim.reader != nullptr) return issue_of_node(kind, *claim.reader, false, text);
  return {{kind, claim.b ? claim.b.value->name() : "", "a graph output " + text, 0, 0, false}, order_of(claim)};
}

Issue Prover::issue_of_other_value(const Claim& claim, const Value& wanted) {
  const std::string name = quote(claim.b.value->name());
  const bool is_renamed = claim.b.value->name() != wanted.name();
  return issue_of_reader(Unexplained::Kind::operand, claim,
                         is_renamed ? "reads " + name + " where " + quote(wanted.name()) + " was read"
                                    : "reads " + name + ", which is another value than in the first model");
}

ProofResult Prover::result() {
  std::ranges::stable_sort(issues_, {}, &Issue::order);
  std::unordered_set<std::string> told;
  for (Issue& issue : issues_) {
    if (told.insert(issue.what.text).second) result_.unexplained.push_back(std::move(issue.what));
  }
  for (const Value* tensor : permuted_tensors_) equal_tensors_.erase(tensor);
  result_.proved = result_.unexplained.empty();
  result_.folds = static_cast<int64_t>(folds_.size());
  for (const auto& [fold, near] : folds_) {
    result_.near_folds += near > 0 ? 1 : 0;
    result_.near_ulp = std::max(result_.near_ulp, near);
  }
  result_.folded_nodes = static_cast<int64_t>(folded_.size());
  result_.permutations = static_cast<int64_t>(permuted_tensors_.size());
  result_.tensors_equal = static_cast<int64_t>(equal_tensors_.size());
  result_.nodes_equal = static_cast<int64_t>(partners_b_.size());
  result_.nodes_bypassed = static_cast<int64_t>(bypassed_.size());
  result_.nodes_evaluated = static_cast<int64_t>(evaluated_.size());
  return std::move(result_);
}

}  // namespace relayout::proof
