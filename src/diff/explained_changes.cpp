// Words the changes that the proof accounts for, each with its reason.

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "diff/changes.h"
#include "model/node.h"
#include "proof/account.h"
#include "proof/claim.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model_diff.h"

namespace relayout {
namespace {

using proof::Account;
using proof::Issue;
using proof::Ref;
using proof::Sides;

/// The Transpose that is the only reader of a constant of the second model, or nullptr.
const Node* transpose_downstream(const Value& constant) {
  const auto uses = constant.uses();
  return uses.size() == 1 && uses.front().node->is("Transpose") ? uses.front().node : nullptr;
}

/// Whether the Transpose turns a constant [O, k…, I] into [O, I, k…].
bool is_channels_last(const Node& transpose) {
  const std::vector<int64_t> perm = proof::written_permutation(transpose, nullptr);
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 3 || perm[0] != 0 || perm[1] != rank - 1) return false;
  for (int64_t i = 2; i < rank; ++i) {
    if (perm[as_size(i)] != i - 1) return false;
  }
  return true;
}

class AccountListing {
 public:
  AccountListing(Sides& sides, const Account& account, const ListedNodes& listed, ChangeList& changes)
      : sides_(&sides), account_(&account), listed_(&listed), changes_(&changes) {}

  void list_nodes_of_b() {
    std::unordered_map<const Node*, std::vector<const Node*>> absorbed;
    for (const Node* node : sides_->a.nodes()) {
      if (const Node* const owner = account_->of_first(*node).folded_into) absorbed[owner].push_back(node);
    }
    for (const Node* node : sides_->b.nodes()) {
      if (const auto near = account_->of_second(*node).fold) {
        list_fold(*node, absorbed[node], *near);
      } else if (account_->of_second(*node).partner == nullptr && !listed_->b.contains(node)) {
        list_single_of_b(*node);
      }
    }
  }

  void list_nodes_of_a() {
    const auto paired = sides_->paired_graphs();
    for (const Node* node : sides_->a.nodes()) {
      if (account_->of_first(*node).successor() != nullptr || listed_->a.contains(node)) continue;
      if (paired.contains(&node->graph().top())) list_single_of_a(*node);
    }
  }

  void list_constants() {
    std::unordered_set<std::string_view> reported;
    for (const Issue& issue : account_->issues()) reported.insert(issue.what.name);
    for (const Value* constant : account_->permuted_tensors()) {
      const Node* const transpose = transpose_downstream(*constant);
      const Value* const read = transpose != nullptr ? transpose->output(0) : constant;
      const Node* const reader = read->uses().empty() ? nullptr : read->uses().front().node;
      const double order = reader != nullptr ? static_cast<double>(sides_->b.order_of(*reader)) : std::numeric_limits<double>::infinity();
      ModelChange& change = changes_->add(ChangeKind::explained, ChangeSubject::initializer, "permuted", order);
      change.b = constant->name();
      change.a = read->name();  // the output of the Transpose keeps the old name
      const bool is_last = transpose != nullptr && is_channels_last(*transpose);
      const bool is_recomputed = reader != nullptr && account_->of_second(*reader).fold;
      change.text = (reader != nullptr && proof::is_linear(*reader) ? "weight " : "constant ") + quote(change.a) + " is stored " +
                    (is_last ? "channels-last" : "in another order") + (change.a == change.b ? "" : " as " + quote(change.b)) +
                    (reported.contains(change.a) ? ", with other values"
                     : is_recomputed             ? ": the same permutation of the recomputed tensor"
                                                 : ": byte permutation");
    }
  }

 private:
  void list_fold(const Node& node, const std::vector<const Node*>& absorbed, double near) {
    ModelChange& change = changes_->add_node(ChangeKind::explained, "folded", account_->of_second(node).partner, &node);
    for (const Node* each : absorbed) change.absorbed.push_back(reported_name(*each));
    const std::string names = some_of(absorbed, 3, &Node::label);
    change.ulp = near > 0 ? near : 1;
    change.text += (names.empty() ? " holds values that other nodes hold now" : " absorbed " + names) + ": recomputed, within " +
                   (near > 0 ? significant(near, 2) + " ULP, as a fold in single precision is" : "1 ULP");
  }

  void list_single_of_b(const Node& node) {
    if (sides_->graph_of_first(node.graph().top()) == nullptr) return;  // part of a function that is reported with its calls
    if (!account_->of_second(node).is_accounted) {
      changes_->add_node(ChangeKind::added, "node-added", nullptr, &node).text += " was not there";
      return;
    }
    const Ref output{first_output(node)};
    if (output && is_moved_weight(node)) return;  // reported with the constant
    ModelChange& change = changes_->add_node(ChangeKind::explained, "accounted", nullptr, &node);
    if (output && sides_->b.constant(output)) {
      change.reason = "constant";
      change.text += " makes a constant that is as it was";
    } else if (output && proof::is_identity(sides_->b, output)) {
      change.reason = "identity";
      change.text += " was not there, and passes its operand on";
    } else if (sides_->b.function_of(node) != nullptr) {
      change.reason = "inlined";
      change.text += " calls a function that replaces the nodes here";
    } else {
      change.text += " was not there; its work was part of another node, or another node undoes it";
    }
  }

  [[nodiscard]] bool is_moved_weight(const Node& node) const {
    return node.is("Transpose") && node.input(0) != nullptr && account_->permuted_tensors().contains(node.input(0));
  }

  void list_single_of_a(const Node& node) {
    const Ref output{first_output(node)};
    const proof::FirstNode& first = account_->of_first(node);
    if (first.is_bypassed) {
      changes_->add_node(ChangeKind::explained, "identity", &node, nullptr).text += " is gone: it passed its operand on";
    } else if (first.is_evaluated) {
      changes_->add_node(ChangeKind::explained, "evaluated", &node, nullptr).text += " is gone: its result is a constant that is stored";
    } else if (first.is_dead) {
      changes_->add_node(ChangeKind::explained, "dead", &node, nullptr).text += " is gone: no output needed it";
    } else if (!first.is_accounted) {
      changes_->add_node(ChangeKind::removed, "node-removed", &node, nullptr).text += " is gone";
    } else if (output && sides_->a.constant(output)) {
      changes_->add_node(ChangeKind::explained, "constant", &node, nullptr).text += " is gone: the constant that it made is as it was";
    } else if (sides_->a.function_of(node) != nullptr) {
      changes_->add_node(ChangeKind::explained, "inlined", &node, nullptr).text += " is gone: its function replaces it";
    } else {
      changes_->add_node(ChangeKind::explained, "accounted", &node, nullptr).text +=
          " is gone; another node does it now, or it was undone by one";
    }
  }

  Sides* sides_;
  const Account* account_;
  const ListedNodes* listed_;
  ChangeList* changes_;
};

}  // namespace

void list_explained(Sides& sides, const Account& account, const ListedNodes& listed, ChangeList& changes) {
  AccountListing listing(sides, account, listed, changes);
  listing.list_nodes_of_b();
  listing.list_nodes_of_a();
  listing.list_constants();
}

}  // namespace relayout
