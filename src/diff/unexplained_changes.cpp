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
    if (issue.what.kind == Kind::attribute && a != nullptr && b != nullptr) describe_attribute(*a, *b, issue, change);
  }

  [[nodiscard]] const Node* partner_of(const Issue& issue) const {
    return issue.partner != nullptr ? issue.partner : account_->of_second(*issue.node).partner;
  }

  /// Each attribute of a node has its own issue. Describes the one that the text names.
  void describe_attribute(const Node& a, const Node& b, const Issue& issue, ModelChange& change) {
    for (const std::string& name : proof::different_attributes(sides_->a, {first_output(a)}, sides_->b, {first_output(b)})) {
      if (!issue.what.text.ends_with(" " + quote(name))) continue;
      const ChangedField field{name, value_of(a, name), value_of(b, name)};
      if (field.before == field.after) {
        // The texts of tensors and long lists are abbreviated.
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

// Text of attributes.
namespace {

constexpr int kMostElements = 16;

template <class List, class Text>
std::string list_text(const List& list, const Text& text) {
  std::string out;
  for (int i = 0; i < list.size() && i < kMostElements; ++i) out += (i > 0 ? ", " : "") + text(list[i]);
  return "[" + out + (list.size() > kMostElements ? ", … " + format_count(list.size()) + " in all]" : "]");
}

std::string tensor_text(const onnx::TensorProto& tensor) {
  const DataTypeTraits* const type = find_traits(tensor.data_type());
  const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  return std::string(type != nullptr ? type->name : "untyped") + " " + to_string(dims);
}

}  // namespace

std::string attribute_text(const onnx::AttributeProto& attribute) {
  using onnx::AttributeProto;
  if (!attribute.ref_attr_name().empty()) return "attribute " + quote(attribute.ref_attr_name()) + " of the caller";
  switch (attribute.type()) {
    case AttributeProto::FLOAT:
      return shortest(attribute.f());
    case AttributeProto::INT:
      return std::to_string(attribute.i());
    case AttributeProto::STRING:
      return quote(attribute.s());
    case AttributeProto::TENSOR:
      return tensor_text(attribute.t());
    case AttributeProto::FLOATS:
      return list_text(attribute.floats(), [](float value) { return shortest(value); });
    case AttributeProto::INTS:
      return list_text(attribute.ints(), [](int64_t value) { return std::to_string(value); });
    case AttributeProto::STRINGS:
      return list_text(attribute.strings(), [](const std::string& value) { return quote(value); });
    case AttributeProto::TENSORS:
      return list_text(attribute.tensors(), tensor_text);
    case AttributeProto::GRAPH:
      return "a graph";
    case AttributeProto::GRAPHS:
      return format_count(attribute.graphs_size()) + " graphs";
    case AttributeProto::SPARSE_TENSOR:
      return "a sparse tensor";
    default:
      return "of type " + std::to_string(attribute.type());
  }
}

}  // namespace relayout
