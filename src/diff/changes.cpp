// Lists the changes between two models in the order of the second, with the constants that differ.
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
#include "proof/recompute.h"
#include "proof/side.h"
#include "proof/sides.h"
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

}  // namespace relayout
