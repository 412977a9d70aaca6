// Words of a weight, bias or constant that differs in `diff`: types and dims before and after, the number of other values, and the largest
// absolute and relative difference.
#include "diff/changed_constants.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/numbers.h"
#include "base/text.h"
#include "diff/change_list.h"
#include "ops/constants.h"
#include "proof/claim.h"
#include "proof/recompute.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/model_diff.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout {
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

}  // namespace relayout
