// Two models, change by change: what the proof accounts for is told with its reason, what it does not with what differs.
#include "relayout/model_diff.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "base/text.h"
#include "diff/attribute_text.h"
#include "diff/changed_nodes.h"
#include "diff/equal_nodes.h"
#include "diff/matching.h"
#include "diff/model_header.h"
#include "diff/realign.h"
#include "diff/unread_constants.h"
#include "ops/constants.h"
#include "proof/account.h"
#include "proof/claim.h"
#include "proof/linear.h"
#include "proof/nodes.h"
#include "proof/prover.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/versions.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using proof::Account;
using proof::Issue;
using proof::Ref;
using proof::Side;
using proof::Sides;

/// The name of a node, or of its first output.
std::string name_of(const Node& node) {
  if (!node.name().empty()) return node.name();
  for (const Value* output : node.outputs()) {
    if (output != nullptr) return output->name();
  }
  return "";
}

Ref first_output(const Node& node) {
  for (const Value* output : node.outputs()) {
    if (output != nullptr) return {output};
  }
  return {};
}

const Graph& top_of(const Graph& graph) {
  const Graph* out = &graph;
  while (out->outer() != nullptr) out = out->outer();
  return *out;
}

std::string figure(double value, const char* format = "%.2g") {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), format, value);
  return out.data();
}

std::string shape_text(const Constant& constant) {
  return std::string(relayout::name_of(constant.type)) + (constant.dims.empty() ? "" : " " + to_string(constant.dims));
}

/// What reads a constant of the second model through a Transpose alone, or nullptr.
const Node* transpose_behind(const Value& constant) {
  const auto uses = constant.uses();
  return uses.size() == 1 && uses.front().node->is("Transpose") ? uses.front().node : nullptr;
}

/// Whether a constant is what a Transpose makes [O, I, k…] of: [O, k…, I].
bool is_channels_last(const Node& transpose) {
  const std::vector<int64_t> perm = proof::written_permutation(transpose, nullptr);
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 3 || perm[0] != 0 || perm[1] != rank - 1) return false;
  for (int64_t i = 2; i < rank; ++i) {
    if (perm[as_size(i)] != i - 1) return false;
  }
  return true;
}

/// Where a change belongs: place of its node in the second model, those of the first alone between.
struct Place {
  double order = 0;
  int64_t order_a = 0;     ///< of those of the first alone, among each other
  std::size_t number = 0;  ///< of the change
};

class Listing {
 public:
  Listing(Sides& sides, const Account& account, const std::vector<std::pair<const Node*, const Node*>>& more_pairs,
          const std::vector<ChangedNode>& changed_nodes)
      : sides_(&sides), account_(&account), changed_nodes_(&changed_nodes) {
    place_nodes_of_a();
    for (const auto& [a, b] : more_pairs) {
      told_a_.insert(a);
      told_b_.insert(b);
    }
  }

  [[nodiscard]] std::vector<ModelChange> run() {
    list_issues();
    for (const ChangedNode& node : *changed_nodes_) list_changed_node(node);
    list_nodes_of_b();
    list_nodes_of_a();
    list_constants();
    const auto key = [&](const Place& place) { return std::tie(place.order, place.order_a, changes_[place.number].b, place.number); };
    std::ranges::sort(places_, {}, key);
    std::vector<ModelChange> out;
    out.reserve(places_.size());
    for (const Place& place : places_) out.push_back(std::move(changes_[place.number]));
    return out;
  }

 private:
  /// Nodes of the first model stand behind what they follow in the second.
  void place_nodes_of_a() {
    double last = -1;
    for (const Node* node : sides_->a.nodes()) {
      const Node* const partner = account_->partner_of_a(*node);
      const Node* const owner = partner != nullptr ? partner : account_->folded_into(*node);
      if (owner != nullptr) last = static_cast<double>(sides_->b.order_of(*owner));
      order_of_a_.push_back(last + 0.5);
    }
  }

  [[nodiscard]] double order_between(const Node& of_a) const { return order_of_a_[as_size(sides_->a.order_of(of_a))]; }

  ModelChange& add(ChangeKind kind, ChangeSubject subject, std::string reason, double order) {
    places_.push_back({order, 0, changes_.size()});
    ModelChange& change = changes_.emplace_back();
    change.kind = kind;
    change.subject = subject;
    change.reason = std::move(reason);
    return change;
  }

  ModelChange& add_node(ChangeKind kind, std::string reason, const Node* a, const Node* b) {
    const double order = b != nullptr ? static_cast<double>(sides_->b.order_of(*b)) : order_between(*a);
    ModelChange& change = add(kind, ChangeSubject::node, std::move(reason), order);
    if (b == nullptr) places_.back().order_a = sides_->a.order_of(*a);
    if (a != nullptr) change.a = name_of(*a);
    if (b != nullptr) change.b = name_of(*b);
    change.op_type = (b != nullptr ? b : a)->op_type();
    change.text = (b != nullptr ? b : a)->label();
    return change;
  }

  // What is not explained.

  void list_issues() {
    std::unordered_set<std::string> told;
    UnreadConstants unread(*sides_);
    for (const Issue& issue : account_->issues()) {
      if (is_unread_constant(issue) && unread.take(issue.what.name)) continue;
      if (issue.what.kind == Unexplained::Kind::interface || !told.insert(issue.what.text).second) continue;
      if (issue.b) {
        list_constant(issue);
      } else if (issue.node != nullptr) {
        list_node(issue);
      } else {
        list_other(issue);
      }
    }
  }

  /// Of the second model alone, by its name.
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
    (a != nullptr ? told_a_ : told_b_).insert(a != nullptr ? a : b);
    if (b != nullptr) told_b_.insert(b);
    ModelChange& change = add_node(kind, std::string(to_string(issue.what.kind)), a, b);
    change.text = issue.what.text;
    if (issue.what.kind == Kind::attribute && a != nullptr && b != nullptr) describe_attribute(*a, *b, issue, change);
  }

  void list_changed_node(const ChangedNode& node) {
    ModelChange& change = add_node(ChangeKind::changed, std::string(to_string(Unexplained::Kind::node_changed)), node.a, node.b);
    change.text += " has other constants";
    told_a_.insert(node.a);
    told_b_.insert(node.b);
    for (const Node* gone : node.gone) {
      told_a_.insert(gone);
      change.absorbed.push_back(name_of(*gone));
      change.text += ", " + gone->label() + " next to it is gone";
    }
    for (const Node* added : node.added) {
      told_b_.insert(added);
      change.text += ", " + added->label() + " next to it was not there";
    }
  }

  [[nodiscard]] const Node* partner_of(const Issue& issue) const {
    return issue.partner != nullptr ? issue.partner : account_->partner_of_b(*issue.node);
  }

  /// Of several attributes of a node, each has an issue of its own: the one that the text names.
  void describe_attribute(const Node& a, const Node& b, const Issue& issue, ModelChange& change) {
    for (const std::string& name : proof::different_attributes(sides_->a, first_output(a), sides_->b, first_output(b))) {
      if (!issue.what.text.ends_with(" " + quote(name))) continue;
      const ChangedField& field = change.fields.emplace_back(ChangedField{name, value_of(a, name), value_of(b, name)});
      change.text = b.label() + " has " + escape(name) + " " + field.after + ", was " + field.before;
    }
  }

  [[nodiscard]] static std::string value_of(const Node& node, const std::string& name) {
    if (const auto* const written = node.attribute(name); written != nullptr) return attribute_text(*written);
    const proof::AttributeDefault known = proof::attribute_default(node, name);
    return known.value != nullptr ? attribute_text(*known.value) + " (by default)" : "absent";
  }

  void list_constant(const Issue& issue) {
    const auto before = sides_->a.contents(issue.a), after = sides_->b.contents(issue.b);
    ModelChange& change = add(ChangeKind::changed, ChangeSubject::initializer, std::string(to_string(issue.what.kind)), order_of(issue));
    change.a = issue.a.value->name();
    change.b = issue.what.name;
    change.text = issue.what.text;
    change.values = issue.what.values;
    if (!before || !after) return;
    const bool same_type = before->type == after->type && before->dims == after->dims;
    if (!same_type) change.fields = {{"type", shape_text(*before), shape_text(*after)}};
    if (const auto found = difference_of(issue, *before, *after)) {
      change.values = found->values;
      if (!std::isnan(found->absolute)) change.max_absolute = found->absolute;
      if (!std::isnan(found->largest)) change.max_relative = found->largest;
    }
    const std::string types = same_type ? "" : " is " + shape_text(*after) + ", was " + shape_text(*before);
    const std::string values = values_text(change, element_count(after->dims));
    change.text = what_is(issue) + quote(change.b) + types + (types.empty() || values.empty() ? "" : ":") + values;
  }

  [[nodiscard]] static std::string what_is(const Issue& issue) {
    return issue.what.kind == Unexplained::Kind::weight ? "weight " : issue.what.kind == Unexplained::Kind::bias ? "bias " : "constant ";
  }

  [[nodiscard]] static std::string values_text(const ModelChange& change, int64_t all) {
    if (change.values == 0 || !change.max_absolute) return change.values == 0 ? "" : " has other values";
    return " differs in " + format_count(change.values) + " of " + format_count(all) + " values, by up to " + figure(*change.max_absolute) +
           (change.max_relative && *change.max_relative > 0 ? " (" + figure(*change.max_relative) + " relative)" : "");
  }

  /// Of one type; or of two floating-point types, as far as they fit into memory widened.
  [[nodiscard]] std::optional<proof::Difference> difference_of(const Issue& issue, const Constant& before, const Constant& after) {
    if (auto known = sides_->tensor_difference(issue.a, issue.b)) return known;
    constexpr int64_t kMostElements = int64_t{1} << 22;
    if (before.dims != after.dims || before.strings || after.strings) return std::nullopt;
    const auto of_a = sides_->a.reals(issue.a, kMostElements), of_b = sides_->b.reals(issue.b, kMostElements);
    if (!of_a || !of_b) return std::nullopt;
    proof::Difference out;
    for (std::size_t i = 0; i < of_a->size(); ++i) {
      if ((*of_a)[i] != (*of_b)[i]) out.note((*of_a)[i], (*of_b)[i]);
    }
    return out;
  }

  void list_other(const Issue& issue) {
    using Kind = Unexplained::Kind;
    const bool is_constant = issue.what.kind == Kind::weight || issue.what.kind == Kind::bias || issue.what.kind == Kind::tensor;
    const bool is_new = is_unread_constant(issue);
    ModelChange& change =
        add(is_new ? ChangeKind::added : ChangeKind::changed, is_constant ? ChangeSubject::initializer : ChangeSubject::node,
            std::string(to_string(issue.what.kind)), order_of(issue));
    (issue.what.in_first ? change.a : change.b) = issue.what.name;
    change.text = issue.what.text;
    change.values = issue.what.values;
    if (issue.what.values > 0 && std::isfinite(issue.what.largest)) change.max_relative = issue.what.largest;
  }

  [[nodiscard]] static double order_of(const Issue& issue) { return static_cast<double>(issue.order); }

  // What is.

  void list_nodes_of_b() {
    std::unordered_map<const Node*, std::vector<const Node*>> absorbed;
    for (const Node* node : sides_->a.nodes()) {
      if (const Node* const owner = account_->folded_into(*node)) absorbed[owner].push_back(node);
    }
    for (const Node* node : sides_->b.nodes()) {
      const auto fold = account_->folds().find(node);
      if (fold != account_->folds().end()) {
        list_fold(*node, absorbed[node], fold->second);
      } else if (account_->partner_of_b(*node) == nullptr && !told_b_.contains(node)) {
        list_single_of_b(*node);
      }
    }
  }

  void list_fold(const Node& node, const std::vector<const Node*>& absorbed, double near) {
    ModelChange& change = add_node(ChangeKind::explained, "folded", account_->partner_of_b(node), &node);
    for (const Node* each : absorbed) change.absorbed.push_back(name_of(*each));
    std::string names;
    constexpr std::size_t kMostNames = 3;
    for (std::size_t i = 0; i < absorbed.size() && i < kMostNames; ++i) names += (i > 0 ? ", " : "") + absorbed[i]->label();
    if (absorbed.size() > kMostNames) names += " and " + std::to_string(absorbed.size() - kMostNames) + " more";
    change.ulp = near > 0 ? near : 1;
    change.text += (names.empty() ? " holds what other nodes hold now" : " absorbed " + names) + ": recomputed, within " +
                   (near > 0 ? figure(near, "%.2g") + " ULP, as a fold in single precision is" : "1 ULP");
  }

  void list_single_of_b(const Node& node) {
    if (sides_->graph_of_first(top_of(node.graph())) == nullptr) return;  // of a function that is told with its calls
    if (!account_->has_accounted_for(node)) {
      add_node(ChangeKind::added, "node-added", nullptr, &node).text += " was not there";
      return;
    }
    const Ref output = first_output(node);
    if (output && is_moved_weight(node)) return;  // told with the constant
    ModelChange& change = add_node(ChangeKind::explained, "accounted", nullptr, &node);
    if (output && sides_->b.constant(output)) {
      change.reason = "constant";
      change.text += " makes a constant that is as it was";
    } else if (output && proof::is_identity(sides_->b, output)) {
      change.reason = "identity";
      change.text += " was not there, and hands on what it reads";
    } else if (sides_->b.function_of(node) != nullptr) {
      change.reason = "inlined";
      change.text += " calls a function that does what stood here";
    } else {
      change.text += " was not there; what it does was part of another node, or is undone by one";
    }
  }

  [[nodiscard]] bool is_moved_weight(const Node& node) const {
    return node.is("Transpose") && node.input(0) != nullptr && account_->permuted_tensors().contains(node.input(0));
  }

  void list_nodes_of_a() {
    const auto paired = sides_->paired_graphs();
    for (const Node* node : sides_->a.nodes()) {
      if (account_->partner_of_a(*node) != nullptr || account_->folded_into(*node) != nullptr || told_a_.contains(node)) continue;
      if (paired.contains(&top_of(node->graph()))) list_single_of_a(*node);
    }
  }

  void list_single_of_a(const Node& node) {
    const Ref output = first_output(node);
    if (account_->is_bypassed(node)) {
      add_node(ChangeKind::explained, "identity", &node, nullptr).text += " is gone: it handed on what it read";
    } else if (account_->is_evaluated(node)) {
      add_node(ChangeKind::explained, "evaluated", &node, nullptr).text += " is gone: its result is a constant that is stored";
    } else if (account_->is_dead(node)) {
      add_node(ChangeKind::explained, "dead", &node, nullptr).text += " is gone: no output needed it";
    } else if (!account_->has_accounted_for_first(node)) {
      add_node(ChangeKind::removed, "node-removed", &node, nullptr).text += " is gone";
    } else if (output && sides_->a.constant(output)) {
      add_node(ChangeKind::explained, "constant", &node, nullptr).text += " is gone: the constant that it made is as it was";
    } else if (sides_->a.function_of(node) != nullptr) {
      add_node(ChangeKind::explained, "inlined", &node, nullptr).text += " is gone: its function stands in its place";
    } else {
      add_node(ChangeKind::explained, "accounted", &node, nullptr).text += " is gone; another node does it now, or it was undone by one";
    }
  }

  void list_constants() {
    std::unordered_set<std::string_view> told;
    for (const Issue& issue : account_->issues()) told.insert(issue.what.name);
    for (const Value* constant : account_->permuted_tensors()) {
      const Node* const transpose = transpose_behind(*constant);
      const Value* const read = transpose != nullptr ? transpose->output(0) : constant;
      const Node* const reader = read->uses().empty() ? nullptr : read->uses().front().node;
      const double order = reader != nullptr ? static_cast<double>(sides_->b.order_of(*reader)) : std::numeric_limits<double>::infinity();
      ModelChange& change = add(ChangeKind::explained, ChangeSubject::initializer, "permuted", order);
      change.b = constant->name();
      change.a = read->name();  // behind the Transpose it goes on under the old name
      const bool is_last = transpose != nullptr && is_channels_last(*transpose);
      const bool is_recomputed = reader != nullptr && account_->folds().contains(reader);
      change.text = (reader != nullptr && proof::is_linear(*reader) ? "weight " : "constant ") + quote(change.a) + " is stored " +
                    (is_last ? "channels-last" : "in another order") + (change.a == change.b ? "" : " as " + quote(change.b)) +
                    (told.contains(change.a) ? ", with other values"
                     : is_recomputed         ? ": the same permutation of what was recomputed"
                                             : ": byte permutation");
    }
  }

  Sides* sides_;
  const Account* account_;
  const std::vector<ChangedNode>* changed_nodes_;
  std::vector<double> order_of_a_;  ///< by place in Side::nodes()
  std::unordered_set<const Node*> told_a_, told_b_;
  std::vector<ModelChange> changes_;
  std::vector<Place> places_;  ///< of each change
};

DiffSide side_of(const Model& model, const Side& side) {
  return {model.name(), std::ssize(side.nodes()), model.opset("")};
}

bool is_proved(const Account& account) {
  return std::ranges::all_of(account.issues(), [](const Issue& issue) { return issue.what.kind == Unexplained::Kind::interface; });
}

int64_t unexplained(const std::vector<ModelChange>& changes) {
  return std::ranges::count_if(changes, [](const ModelChange& change) { return change.kind != ChangeKind::explained; });
}

/// Of what the prover has found.
ModelDiff list_changes(const Model& a, const Model& b, proof::Prover& prover, const Matching* matching) {
  Sides& sides = prover.sides();
  const Account& account = prover.account();
  ModelDiff out;
  out.a = side_of(a, sides.a);
  out.b = side_of(b, sides.b);
  out.changes = diff_interfaces(a, b);
  std::ranges::move(diff_headers(a, b, is_proved(account)), std::back_inserter(out.changes));
  const auto equal_nodes = pair_equal_nodes(sides, account);
  const auto changed_nodes = matching != nullptr ? pair_changed_nodes(sides, account, *matching, equal_nodes) : std::vector<ChangedNode>();
  std::ranges::move(Listing(sides, account, equal_nodes, changed_nodes).run(), std::back_inserter(out.changes));
  const auto take_pair = [&](const Node& of_a, const Node& of_b) {
    ++out.nodes_equal;
    out.nodes_renamed += of_a.name() != of_b.name() ? 1 : 0;
    out.nodes.push_back({name_of(of_a), name_of(of_b)});
  };
  for (const Node* node : sides.b.nodes()) {
    if (const Node* const partner = account.partner_of_b(*node)) take_pair(*partner, *node);
  }
  for (const auto& [of_a, of_b] : equal_nodes) take_pair(*of_a, *of_b);
  for (const ModelChange& change : out.changes) {
    const bool is_pair = change.subject == ChangeSubject::node && change.kind == ChangeKind::changed;
    if (is_pair && !change.a.empty() && !change.b.empty()) out.nodes.push_back({change.a, change.b});
  }
  out.is_proved = is_proved(account);
  return out;
}

}  // namespace

std::string_view to_string(ChangeSubject subject) noexcept {
  switch (subject) {
    case ChangeSubject::node:
      return "node";
    case ChangeSubject::initializer:
      return "initializer";
    case ChangeSubject::input:
      return "input";
    case ChangeSubject::output:
      return "output";
    case ChangeSubject::opset:
      return "opset";
    case ChangeSubject::function:
      return "function";
    case ChangeSubject::metadata:
      return "metadata";
  }
  return "";
}

std::string_view to_string(ChangeKind kind) noexcept {
  switch (kind) {
    case ChangeKind::changed:
      return "changed";
    case ChangeKind::added:
      return "added";
    case ChangeKind::removed:
      return "removed";
    case ChangeKind::explained:
      return "explained";
    case ChangeKind::renamed:
      return "renamed";
  }
  return "";
}

int64_t ModelDiff::count(ChangeKind kind) const noexcept {
  return std::ranges::count(changes, kind, &ModelChange::kind);
}

bool ModelDiff::is_equal() const noexcept {
  return std::ranges::all_of(changes, [](const ModelChange& change) { return change.kind == ChangeKind::renamed; });
}

double ModelDiff::share_in_common() const noexcept {
  std::size_t found = 2 * as_size(nodes_equal);
  for (const ModelChange& change : changes) {
    if (change.subject != ChangeSubject::node || change.kind != ChangeKind::explained) continue;
    found += change.absorbed.size();
    // Where something is left unexplained, "accounted" may be what a wrong turn met.
    if (change.a.empty() != change.b.empty() && (is_proved || change.reason != "accounted")) ++found;
  }
  const auto all = static_cast<double>(a.nodes + b.nodes);
  return all > 0 ? std::min(1.0, static_cast<double>(found) / all) : 1;
}

ModelDiff diff_models(const Model& a, const Model& b) {
  auto plain = std::make_unique<proof::Prover>(a, b);
  plain->find();
  if (is_proved(plain->account())) return list_changes(a, b, *plain, nullptr);
  // Once more, with what the matching knows of nodes that have no counterpart.
  const auto hinted = std::make_unique<proof::Prover>(a, b);
  const Matching matching(hinted->sides().a, hinted->sides().b);
  ModelDiff out = list_changes(a, b, *plain, &matching);
  plain.reset();
  hinted->take_hints(
      {[&](Sides& sides, const proof::Claim& claim, const proof::Look& found) { return realign(sides, matching, claim, found); },
       [&](const Node& node) { return matching.partner_of_b(node); }});
  hinted->find();
  ModelDiff other = list_changes(a, b, *hinted, &matching);
  return unexplained(other.changes) <= unexplained(out.changes) ? other : out;
}

}  // namespace relayout
