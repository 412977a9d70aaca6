// Words the changes that the proof leaves unexplained, with attributes before and after.

#include <cmath>

#include "base/numbers.h"
#include "base/text.h"
#include "diff/changes.h"
#include "model/node.h"
#include "proof/account.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model_diff.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout {
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
