// Decides which values are compared as constants, and words their differences.

#include "base/text.h"
#include "ops/op.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/linear.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"

namespace relayout::proof {
namespace {

/// Names the weight and bias of a linear operator. Axes and dims of a reshaping node are not computed with: differences show in the dims of
/// its result.
Unexplained::Kind kind_of_operand(const Node* reader, const Value& value) {
  if (reader == nullptr) return Unexplained::Kind::tensor;
  if (is_reshaping(*reader) && reader->input(0) != &value) return Unexplained::Kind::operand;
  for (std::size_t i = 0; is_linear(*reader) && i < reader->inputs().size(); ++i) {
    if (reader->input(i) == &value) return i == 2 ? Unexplained::Kind::bias : Unexplained::Kind::weight;
  }
  return Unexplained::Kind::tensor;
}

/// Whether the first model has a constant of the second model unchanged under the same name. Then another node reads it.
bool is_there_under_its_name(Sides& sides, const Claim& claim, const Value& constant) {
  const Value* const named = claim.a.value->graph().find(constant.name());
  const Ref same{named, claim.a.call};
  if (named == nullptr || named == claim.a.value || !sides.a.constant(same)) return false;
  const auto found = sides.tensor_difference(same, {&constant, claim.b.call});
  return found && found->values == 0;
}

/// "weight 'w'"
std::string words_of(Unexplained::Kind kind, const std::string& name) {
  const std::string_view what = kind == Unexplained::Kind::weight ? "weight " : kind == Unexplained::Kind::bias ? "bias " : "constant ";
  return std::string(what) + quote(name);
}

Issue issue_of_elements(const Sides& sides, const Claim& claim, const std::string& name, const Difference& found) {
  const auto kind = kind_of_operand(claim.reader, *claim.b.value);
  Issue issue{{kind, name, words_of(kind, name) + " differs " + found.text() + "; no fold explains it", found.values, found.largest, false},
              order_of(sides, claim),
              claim.reader,
              nullptr,
              claim.a,
              claim.b};
  issue.what.beyond_half = found.beyond_half;
  return issue;
}

/// The constants are of other types or dims.
Issue issue_of_form(Sides& sides, const Claim& claim, const std::string& name) {
  const auto kind = kind_of_operand(claim.reader, *claim.b.value);
  const std::string words = words_of(kind, name), &was = claim.a.value->name();
  Issue issue{{kind, name, words + " is of another type or shape than " + quote(was), 0, 0, false},
              order_of(sides, claim),
              claim.reader,
              nullptr,
              claim.a,
              claim.b};
  const auto a = sides.a.contents(claim.a), b = sides.b.contents(claim.b);
  if (!a || !b) return issue;
  issue.what.text = words + " " + forms_text(*a, *b) + (was == name ? "" : " (" + quote(was) + ")");
  name_types(*a, *b, issue.what);
  // If all operands of a commutative operator changed their type, this may be a different constant. The names decide.
  const bool is_widened = memory_size(a->type) < memory_size(b->type);
  const bool is_same_one = is_widened ? name.ends_with(was) : kind == Unexplained::Kind::tensor && name.starts_with(was);
  const auto beyond = is_same_one ? difference_beyond_rounding(*a, *b) : std::nullopt;
  if (beyond && beyond->values > 0) {
    issue.what.text += " and differs " + beyond->text();
    issue.what.values = beyond->values;
    issue.what.largest = beyond->largest;
    issue.what.beyond_half = beyond->beyond_half;
  }
  return issue;
}

}  // namespace

Issue issue_of_other_constant(Sides& sides, const Claim& claim, Ref wanted) {
  Issue issue = issue_of_other_value(sides, claim, *wanted.value);
  const bool is_computed_with = kind_of_operand(claim.reader, *claim.b.value) != Unexplained::Kind::operand;
  const auto found = is_computed_with ? sides.tensor_difference(wanted, claim.b) : std::nullopt;
  if (found) issue.what.largest = found->largest;
  return issue;
}

Found examine_stored(Sides& sides, const Claim& claim) {
  std::vector<const Node*> path_a, path_b;
  const Value* const leaf_a = sides.a.stored(claim.a, &path_a);
  const Value* const leaf_b = leaf_a != nullptr ? sides.b.stored(claim.b, &path_b) : nullptr;
  if (leaf_b == nullptr) return std::nullopt;
  Look look;
  compare_tensors(sides, claim, look, leaf_b);
  look.nodes_a.insert(look.nodes_a.end(), path_a.begin(), path_a.end());
  look.nodes_b.insert(look.nodes_b.end(), path_b.begin(), path_b.end());
  const bool same_paths = std::ranges::equal(path_a, path_b, [](const Node* a, const Node* b) { return same_operator(*a, *b); });
  for (std::size_t i = 0; same_paths && i < path_a.size(); ++i) look.equal_nodes.emplace_back(path_a[i], path_b[i]);
  return look;
}

Found examine_evaluated(Sides& sides, const Claim& claim) {
  if (!sides.a.constant(claim.a) || !sides.b.constant(claim.b)) return std::nullopt;
  Look look;
  compare_tensors(sides, claim, look, nullptr);
  return look;
}

Found examine_sizes(Sides& sides, const Claim& claim) {
  const bool depends_on_elements = traits_of(*claim.b.value->producer()).reads(0) == Reads::elements;
  return depends_on_elements ? std::nullopt : examine_evaluated(sides, claim);
}

void compare_tensors(Sides& sides, const Claim& claim, Look& look, const Value* leaf) {
  const auto found = sides.tensor_difference(claim.a, claim.b);
  look.constants_a.push_back(claim.a);
  look.constants_b.push_back(claim.b);
  if (found && found->values == 0) {
    const auto a = sides.a.contents(claim.a);
    const auto b = sides.b.contents(claim.b);
    look.tensors.emplace_back(leaf != nullptr ? leaf : claim.b.value, a->data.permutation() != b->data.permutation());
  } else if (is_there_under_its_name(sides, claim, leaf != nullptr ? *leaf : *claim.b.value)) {
    look.issues.push_back(issue_of_other_constant(sides, claim, claim.a));
  } else {
    // The output of a Transpose keeps the old name of the constant.
    const bool is_moved = claim.b.value->producer() != nullptr && claim.b.value->producer()->is("Transpose");
    const std::string& name = (leaf != nullptr && !is_moved ? leaf : claim.b.value)->name();
    look.issues.push_back(found ? issue_of_elements(sides, claim, name, *found) : issue_of_form(sides, claim, name));
  }
}

}  // namespace relayout::proof
