// Tells what differs where the proof of two models stops: in attributes, in constants, in nodes that only one of them has.
#include "diff/unexplained_changes.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "diff/attribute_text.h"
#include "diff/change_list.h"
#include "diff/changed_nodes.h"
#include "diff/unread_constants.h"
#include "ops/constants.h"
#include "proof/account.h"
#include "proof/claim.h"
#include "proof/nodes.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/versions.h"
#include "relayout/graph.h"
#include "relayout/model_diff.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using proof::Account;
using proof::Issue;
using proof::Sides;

std::string shape_text(const Constant& constant) {
  return std::string(relayout::name_of(constant.type)) + (constant.dims.empty() ? "" : " " + to_string(constant.dims));
}

class IssueListing {
 public:
  IssueListing(Sides& sides, const Account& account, ToldNodes& told, ChangeList& changes)
      : sides_(&sides), account_(&account), told_(&told), changes_(&changes) {}

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

  void list_changed_node(const ChangedNode& node) {
    ModelChange& change = changes_->add_node(ChangeKind::changed, std::string(to_string(Unexplained::Kind::node_changed)), node.a, node.b);
    change.text += " has other constants";
    told_->a.insert(node.a);
    told_->b.insert(node.b);
    for (const Node* gone : node.gone) {
      told_->a.insert(gone);
      change.absorbed.push_back(name_in_diff(*gone));
      change.text += ", " + gone->label() + " next to it is gone";
    }
    for (const Node* added : node.added) {
      told_->b.insert(added);
      change.text += ", " + added->label() + " next to it was not there";
    }
  }

 private:
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
    (a != nullptr ? told_->a : told_->b).insert(a != nullptr ? a : b);
    if (b != nullptr) told_->b.insert(b);
    ModelChange& change = changes_->add_node(kind, std::string(to_string(issue.what.kind)), a, b);
    change.text = issue.what.text;
    if (issue.what.kind == Kind::attribute && a != nullptr && b != nullptr) describe_attribute(*a, *b, issue, change);
  }

  [[nodiscard]] const Node* partner_of(const Issue& issue) const {
    return issue.partner != nullptr ? issue.partner : account_->of_second(*issue.node).partner;
  }

  /// Of several attributes of a node, each has an issue of its own: the one that the text names.
  void describe_attribute(const Node& a, const Node& b, const Issue& issue, ModelChange& change) {
    for (const std::string& name : proof::different_attributes(sides_->a, first_output(a), sides_->b, first_output(b))) {
      if (!issue.what.text.ends_with(" " + quote(name))) continue;
      const ChangedField field{name, value_of(a, name), value_of(b, name)};
      if (field.before == field.after) {
        // Tensors and long lists are told by their form.
        change.text = b.label() + " has other values in " + escape(name) + ", " + field.after;
        continue;
      }
      change.text = b.label() + " has " + escape(name) + " " + field.after + ", was " + field.before;
      change.fields.push_back(field);
    }
  }

  [[nodiscard]] static std::string value_of(const Node& node, const std::string& name) {
    if (const auto* const written = node.attribute(name); written != nullptr) return attribute_text(*written);
    const proof::AttributeDefault known = proof::attribute_default(node, name);
    return known.value != nullptr ? attribute_text(*known.value) + " (by default)" : "absent";
  }

  void list_constant(const Issue& issue) {
    const auto before = sides_->a.contents(issue.a), after = sides_->b.contents(issue.b);
    ModelChange& change =
        changes_->add(ChangeKind::changed, ChangeSubject::initializer, std::string(to_string(issue.what.kind)), order_of(issue));
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
    const auto of_a = reals_of(sides_->a, issue.a, kMostElements), of_b = reals_of(sides_->b, issue.b, kMostElements);
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
        changes_->add(is_new ? ChangeKind::added : ChangeKind::changed, is_constant ? ChangeSubject::initializer : ChangeSubject::node,
                      std::string(to_string(issue.what.kind)), order_of(issue));
    (issue.what.in_first ? change.a : change.b) = issue.what.name;
    change.text = issue.what.text;
    change.values = issue.what.values;
    if (issue.what.values > 0 && std::isfinite(issue.what.largest)) change.max_relative = issue.what.largest;
  }

  [[nodiscard]] static double order_of(const Issue& issue) { return static_cast<double>(issue.order); }

  Sides* sides_;
  const Account* account_;
  ToldNodes* told_;
  ChangeList* changes_;
};

}  // namespace

void list_unexplained(Sides& sides, const Account& account, const std::vector<ChangedNode>& changed_nodes, ToldNodes& told,
                      ChangeList& changes) {
  IssueListing listing(sides, account, told, changes);
  listing.list_issues();
  for (const ChangedNode& node : changed_nodes) listing.list_changed_node(node);
}

}  // namespace relayout
