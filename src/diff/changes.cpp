// Lists and words the changes between two models in the order of the second, those that the proof accounts for and others.

#include "diff/changes.h"

#include <cmath>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "diff/matching.h"
#include "model/node.h"
#include "ops/constants.h"
#include "proof/account.h"
#include "proof/claim.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/model_diff.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout {

// The order of changes.

ChangeList::ChangeList(const proof::Sides& sides, const proof::Account& account) : sides_(&sides) {
  double last = -1;
  for (const Node* node : sides.a.nodes()) {
    const Node* const owner = account.of_first(*node).successor();
    if (owner != nullptr) last = static_cast<double>(sides.b.order_of(*owner));
    order_of_a_.push_back(last + 0.5);
  }
}

ModelChange& ChangeList::add(ChangeKind kind, ChangeSubject subject, std::string reason, double order) {
  places_.push_back({order, 0, changes_.size()});
  ModelChange& change = changes_.emplace_back();
  change.kind = kind;
  change.subject = subject;
  change.reason = std::move(reason);
  return change;
}

ModelChange& ChangeList::add_node(ChangeKind kind, std::string reason, const Node* a, const Node* b) {
  const double order = b != nullptr ? static_cast<double>(sides_->b.order_of(*b)) : order_of_a_[as_size(sides_->a.order_of(*a))];
  ModelChange& change = add(kind, ChangeSubject::node, std::move(reason), order);
  if (b == nullptr) places_.back().order_a = sides_->a.order_of(*a);
  if (a != nullptr) change.a = reported_name(*a);
  if (b != nullptr) change.b = reported_name(*b);
  change.op_type = (b != nullptr ? b : a)->op_type();
  change.text = (b != nullptr ? b : a)->label();
  return change;
}

std::vector<ModelChange> ChangeList::take() {
  const auto key = [&](const Place& place) { return std::tie(place.order, place.order_a, changes_[place.number].b, place.number); };
  std::ranges::sort(places_, {}, key);
  std::vector<ModelChange> out;
  out.reserve(places_.size());
  for (const Place& place : places_) out.push_back(std::move(changes_[place.number]));
  return out;
}

// Nodes with other constants.
namespace {

using proof::Account;
using proof::Issue;
using proof::Sides;

class ChangedPairs {
 public:
  ChangedPairs(const Sides& sides, const Account& account, const Matching& matching,
               const std::vector<std::pair<const Node*, const Node*>>& equal)
      : sides_(sides), account_(account), matching_(matching) {
    for (const auto& [a, b] : equal) {
      taken_.insert(a);
      taken_.insert(b);
    }
    using Kind = Unexplained::Kind;
    for (const Issue& issue : account.issues()) {
      if (issue.node != nullptr) taken_.insert(issue.node);
      const Kind kind = issue.what.kind;
      if (!issue.what.in_first && (kind == Kind::weight || kind == Kind::bias || kind == Kind::tensor)) reported_.insert(issue.what.name);
    }
  }

  std::vector<ChangedPair> run() {
    std::vector<ChangedPair> out;
    for (const Node* b : sides_.b.nodes()) {
      const Node* const a = is_single_of_b(*b) && is_reported(*b) ? matching_.partner_of_b(*b) : nullptr;
      if (a == nullptr || !is_single_of_a(*a)) continue;
      taken_.insert(a);
      taken_.insert(b);
      out.push_back({a, b, {}, {}});
    }
    for (ChangedPair& pair : out) {
      pair.gone = neighbours(*pair.a, [&](const Node& node) { return is_single_of_a(node) && matching_.partner_of_a(node) == nullptr; });
      pair.added = neighbours(*pair.b, [&](const Node& node) { return is_single_of_b(node) && matching_.partner_of_b(node) == nullptr; });
    }
    return out;
  }

 private:
  [[nodiscard]] bool is_single_of_a(const Node& node) const {
    const proof::FirstNode& first = account_.of_first(node);
    return first.is_accounted && first.partner == nullptr && first.folded_into == nullptr && !first.is_bypassed && !first.is_evaluated &&
           !first.is_dead && !taken_.contains(&node);
  }

  [[nodiscard]] bool is_single_of_b(const Node& node) const {
    const proof::SecondNode& second = account_.of_second(node);
    return second.is_accounted && second.partner == nullptr && !second.fold && !taken_.contains(&node);
  }

  /// Whether an issue reports one of its constants. A missing bias has the name of the node.
  [[nodiscard]] bool is_reported(const Node& node) const {
    const auto is_reported_value = [&](const Value* value) { return value != nullptr && reported_.contains(value->name()); };
    return reported_.contains(node.name()) || std::ranges::any_of(node.inputs(), is_reported_value);
  }

  /// Affines that are connected to this node alone, downstream and upstream.
  template <class IsSingle>
  std::vector<const Node*> neighbours(const Node& node, const IsSingle& is_single) {
    std::vector<const Node*> out;
    const auto take = [&](const Node* next) {
      if (next == nullptr || !is_single(*next)) return false;
      taken_.insert(next);
      out.push_back(next);
      return true;
    };
    for (const Node* at = &node; take(only_affine_downstream(*at));) at = out.back();
    for (const Value* input : node.inputs()) {
      while (input != nullptr && input->uses().size() == 1 && input->producer() != nullptr) {
        const Value* const below = transparent_operand(*input->producer());
        if (below == nullptr || !take(input->producer())) break;
        input = below;
      }
    }
    return out;
  }

  [[nodiscard]] static const Node* only_affine_downstream(const Node& node) {
    const Value* const output = node.output(0);
    if (output == nullptr || output->uses().size() != 1) return nullptr;
    const Node* const reader = output->uses().front().node;
    return transparent_operand(*reader) == output ? reader : nullptr;
  }

  const Sides& sides_;
  const Account& account_;
  const Matching& matching_;
  std::unordered_set<std::string_view> reported_;  ///< reported constants of the second model
  std::unordered_set<const Node*> taken_;          ///< nodes of both models that are paired or reported already
};

}  // namespace

std::vector<ChangedPair> find_changed_pairs(const Sides& sides, const Account& account, const Matching& matching,
                                            const std::vector<std::pair<const Node*, const Node*>>& equal) {
  return ChangedPairs(sides, account, matching, equal).run();
}

// Words of a constant that differs.
namespace {

using proof::Issue;
using proof::Sides;

std::string shape_text(const Constant& constant) {
  return std::string(relayout::name_of(constant.type)) + (constant.dims.empty() ? "" : " " + to_string(constant.dims));
}

std::string what_is(const Issue& issue) {
  return issue.what.kind == Unexplained::Kind::weight ? "weight " : issue.what.kind == Unexplained::Kind::bias ? "bias " : "constant ";
}

std::string values_text(const ModelChange& change, int64_t all) {
  if (change.values == 0 || !change.max_absolute) return change.values == 0 ? "" : " has other values";
  return " differs in " + format_count(change.values) + " of " + format_count(all) + " values, by up to " +
         significant(*change.max_absolute, 2) +
         (change.max_relative && *change.max_relative > 0 ? " (" + significant(*change.max_relative, 2) + " relative)" : "");
}

/// Compares constants of one type, or of two floating-point types if they fit into memory widened.
std::optional<proof::Difference> difference_of(Sides& sides, const Issue& issue, const Constant& before, const Constant& after) {
  if (auto known = sides.tensor_difference(issue.a, issue.b)) return known;
  constexpr int64_t kMostElements = int64_t{1} << 22;
  if (before.dims != after.dims || before.strings || after.strings) return std::nullopt;
  const auto of_a = reals_of(sides.a, issue.a, kMostElements), of_b = reals_of(sides.b, issue.b, kMostElements);
  if (!of_a || !of_b) return std::nullopt;
  proof::Difference out;
  for (std::size_t i = 0; i < of_a->size(); ++i) {
    if ((*of_a)[i] != (*of_b)[i]) out.note((*of_a)[i], (*of_b)[i]);
  }
  return out;
}

}  // namespace

void list_changed_constant(Sides& sides, const Issue& issue, ChangeList& changes) {
  const auto before = sides.a.contents(issue.a), after = sides.b.contents(issue.b);
  ModelChange& change = changes.add(ChangeKind::changed, ChangeSubject::initializer, std::string(to_string(issue.what.kind)),
                                    static_cast<double>(issue.order));
  change.a = issue.a.value->name();
  change.b = issue.what.name;
  change.text = issue.what.text;
  change.values = issue.what.values;
  if (!before || !after) return;
  const bool same_type = before->type == after->type && before->dims == after->dims;
  if (!same_type) change.fields = {{"type", shape_text(*before), shape_text(*after)}};
  if (const auto found = difference_of(sides, issue, *before, *after)) {
    change.values = found->values;
    if (!std::isnan(found->absolute)) change.max_absolute = found->absolute;
    if (!std::isnan(found->largest)) change.max_relative = found->largest;
  }
  const std::string types = same_type ? "" : " is " + shape_text(*after) + ", was " + shape_text(*before);
  const std::string values = values_text(change, element_count(after->dims));
  change.text = what_is(issue) + quote(change.b) + types + (types.empty() || values.empty() ? "" : ":") + values;
}

// Constants that no node reads.
namespace {

bool is_unread(const Initializer& initializer) {
  const Value& value = *initializer.value;
  return initializer.data != nullptr && value.uses().empty() && !value.is_output() && !value.is_overridable();
}

}  // namespace

UnreadConstants::UnreadConstants(proof::Sides& sides) : sides_(sides) {
  const Graph& b = sides.b.model().graph();
  for (const Initializer& initializer : sides.a.model().graph().initializers()) {
    if (is_unread(initializer) && b.find(initializer.value->name()) == nullptr) {
      of_a_[fingerprint_of(*initializer.data)].push_back(initializer.value);
    }
  }
}

bool UnreadConstants::take(std::string_view name_in_b) {
  const Value* const value = sides_.b.model().graph().find(name_in_b);
  const Initializer* const initializer = value != nullptr ? value->initializer() : nullptr;
  if (initializer == nullptr || !is_unread(*initializer)) return false;
  const auto found = of_a_.find(fingerprint_of(*initializer->data));
  if (found == of_a_.end() || found->second.empty()) return false;
  const auto difference = sides_.tensor_difference({found->second.back()}, {value});
  if (!difference || difference->values > 0) return false;
  found->second.pop_back();
  return true;
}

// Words the changes that the proof accounts for, each with its reason.
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

// Words the changes that the proof leaves unexplained, with attributes before and after.
namespace {

using proof::Account;
using proof::Issue;
using proof::Sides;

class IssueListing {
 public:
  IssueListing(Sides& sides, const Account& account, ListedNodes& listed, ChangeList& changes)
      : sides_(&sides), account_(&account), listed_(&listed), changes_(&changes) {}

  void list_issues() {
    std::unordered_set<std::string> reported;
    UnreadConstants unread(*sides_);
    for (const Issue& issue : account_->issues()) {
      if (is_unread_constant(issue) && unread.take(issue.what.name)) continue;
      if (issue.what.kind == Unexplained::Kind::interface || !reported.insert(issue.what.text).second) continue;
      if (issue.b) {
        list_changed_constant(*sides_, issue, *changes_);
      } else if (issue.node != nullptr) {
        list_node(issue);
      } else {
        list_other(issue);
      }
    }
  }

  void list_changed_pair(const ChangedPair& node) {
    ModelChange& change = changes_->add_node(ChangeKind::changed, std::string(to_string(Unexplained::Kind::node_changed)), node.a, node.b);
    change.text += " has other constants";
    listed_->a.insert(node.a);
    listed_->b.insert(node.b);
    for (const Node* gone : node.gone) {
      listed_->a.insert(gone);
      change.absorbed.push_back(reported_name(*gone));
      change.text += ", " + gone->label() + " next to it is gone";
    }
    for (const Node* added : node.added) {
      listed_->b.insert(added);
      change.text += ", " + added->label() + " next to it was not there";
    }
  }

 private:
  /// Whether only the second model has a constant of this name.
  [[nodiscard]] static bool is_unread_constant(const Issue& issue) {
    return issue.what.kind == Unexplained::Kind::tensor && issue.what.values == 0 && !issue.b && issue.node == nullptr;
  }

  void list_node(const Issue& issue) {
    const Node& node = *issue.node;
    using Kind = Unexplained::Kind;
    const ChangeKind kind = issue.what.kind == Kind::node_added     ? ChangeKind::added
                            : issue.what.kind == Kind::node_removed ? ChangeKind::removed
                                                                    : ChangeKind::changed;
    const Node* const a = issue.what.in_first ? &node : kind == ChangeKind::changed ? partner_of(issue) : nullptr;
    const Node* const b = issue.what.in_first ? nullptr : &node;
    (a != nullptr ? listed_->a : listed_->b).insert(a != nullptr ? a : b);
    if (b != nullptr) listed_->b.insert(b);
    ModelChange& change = changes_->add_node(kind, std::string(to_string(issue.what.kind)), a, b);
    change.text = issue.what.text;
    if (issue.what.kind != Kind::attribute || a == nullptr || b == nullptr) return;
    const Repair& repair = issue.what.repair;
    if (repair.is == repair.was) {
      change.text = b->label() + " has other values in " + escape(repair.field) + ", " + repair.is;
      return;
    }
    change.text = b->label() + " has " + escape(repair.field) + " " + repair.is + ", was " + repair.was;
    change.fields.push_back({repair.field, repair.was, repair.is});
  }

  [[nodiscard]] const Node* partner_of(const Issue& issue) const {
    return issue.partner != nullptr ? issue.partner : account_->of_second(*issue.node).partner;
  }

  void list_other(const Issue& issue) {
    using Kind = Unexplained::Kind;
    const bool is_constant = issue.what.kind == Kind::weight || issue.what.kind == Kind::bias || issue.what.kind == Kind::tensor;
    const bool is_new = is_unread_constant(issue);
    ModelChange& change =
        changes_->add(is_new ? ChangeKind::added : ChangeKind::changed, is_constant ? ChangeSubject::initializer : ChangeSubject::node,
                      std::string(to_string(issue.what.kind)), static_cast<double>(issue.order));
    (issue.what.in_first ? change.a : change.b) = issue.what.name;
    change.text = issue.what.text;
    change.values = issue.what.values;
    if (issue.what.values > 0 && std::isfinite(issue.what.largest)) change.max_relative = issue.what.largest;
  }

  Sides* sides_;
  const Account* account_;
  ListedNodes* listed_;
  ChangeList* changes_;
};

}  // namespace

void list_unexplained(Sides& sides, const Account& account, const std::vector<ChangedPair>& changed_pairs, ListedNodes& listed,
                      ChangeList& changes) {
  IssueListing listing(sides, account, listed, changes);
  listing.list_issues();
  for (const ChangedPair& node : changed_pairs) listing.list_changed_pair(node);
}

}  // namespace relayout
