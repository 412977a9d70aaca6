// Decides whether two values are one formula computed by different nodes (an operator and its decomposition), and how far their numbers may
// differ (order of terms and factors: sums.cpp, formula_match.cpp). Several readings of the formulas are tried in order.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "base/numbers.h"
#include "ops/op.h"
#include "proof/claim.h"
#include "proof/examine.h"
#include "proof/float_types.h"
#include "proof/formula.h"
#include "proof/formula_match.h"
#include "proof/node_differences.h"
#include "proof/shapes.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Rules for the comparison of two formulas.
struct Reading {
  bool by_name = true;         ///< reading stops at values that both models have by name
  bool is_strict = true;       ///< only values that may well be the same are paired, else any that fit
  bool takes_uniform = false;  ///< constants whose elements are all equal count as numbers
  bool may_differ = false;     ///< numbers may differ, which is reported
};
constexpr std::array<Reading, 7> kReadings = {{{.by_name = true},
                                               {.by_name = false},
                                               {.by_name = true, .takes_uniform = true},
                                               {.by_name = true, .is_strict = false},
                                               {.by_name = false, .is_strict = false},
                                               {.by_name = true, .is_strict = false, .may_differ = true},
                                               {.by_name = false, .is_strict = false, .may_differ = true}}};

/// The error of one rounding, relative to its result.
double rounding_of(DataType type) {
  return std::ldexp(0.5, -fraction_bits(type));
}

bool is_produced_in(const Model& model, const Value& value) {
  const Value* const namesake = model.graph().find(value.name());
  return namesake != nullptr && namesake->producer() != nullptr;
}

bool may_be_same(Sides& sides, Ref a, Ref b, const Reading& reading) {
  if (sides.a.constant(a) || sides.b.constant(b)) {
    const auto found = sides.tensor_difference(a, b);
    return found && (found->values == 0 || !reading.is_strict);
  }
  const Node *const node_a = a.value->producer(), *const node_b = b.value->producer();
  if (node_a == nullptr && node_b == nullptr) return sides.same_input(*a.value, *b.value);
  if (!reading.is_strict) return true;
  if (a.value->name() == b.value->name()) return true;
  if (reading.by_name) return !is_produced_in(sides.b.model(), *a.value) && !is_produced_in(sides.a.model(), *b.value);
  return node_a != nullptr && node_b != nullptr && same_operator(*node_a, *node_b);
}

std::optional<Match> match(Sides& sides, const Formula& a, const Formula& b, double rounding, const Reading& reading) {
  Matcher matcher(a, b, rounding, [&](Ref of_a, Ref of_b) { return may_be_same(sides, of_a, of_b, reading); });
  if (reading.may_differ) matcher.let_numbers_differ();
  return matcher.run() ? std::optional(matcher.match()) : std::nullopt;
}

void accept_formulas(const Sides& sides, const Claim& claim, const Formula& a, const Formula& b, const Match& found, Look& look) {
  const Node* const node = claim.b.value->producer();
  for (const auto& [of_a, of_b] : found.other_numbers) {
    Issue& issue = look.issues.emplace_back(
        issue_of_reader(sides, Unexplained::Kind::tensor, {claim.a, claim.b, {}, {}, {}, {}, node != nullptr ? node : claim.reader},
                        "computes with " + significant(of_b, 9) + " where " + significant(of_a, 9) + " was"));
    issue.what.values = 1;
    issue.what.largest = issue.what.beyond_half = std::fabs(of_b - of_a) / std::max(std::fabs(of_a), std::numeric_limits<double>::min());
  }
  look.account(a, b);
  if (found.other_numbers.empty() && !b.nodes.empty()) look.rewritten.push_back(node);
  for (const auto& [of_a, of_b] : found.pairs) {
    look.claims.push_back({of_a, of_b, {}, {}, {}, {}, b.nodes.empty() ? claim.reader : node});
  }
}

/// Whether the two nodes have operands of the same kind in the same order, judged by the producers of the operands alone.
bool have_like_operands(Sides& sides, const Claim& claim) {
  const Node &a = *claim.a.value->producer(), &b = *claim.b.value->producer();
  if (a.inputs().size() != b.inputs().size()) return false;
  for (std::size_t i = 0; i < a.inputs().size(); ++i) {
    const Ref of_a = sides.a.operand(claim.a, i), of_b = sides.b.operand(claim.b, i);
    if (!of_a || !of_b) return !of_a && !of_b;
    if (of_a.value->name() == of_b.value->name()) continue;
    const Node *const node_a = of_a.value->producer(), *const node_b = of_b.value->producer();
    const bool is_constant = sides.a.constant(of_a).has_value();
    const bool is_same_kind = node_a != nullptr && node_b != nullptr ? same_operator(*node_a, *node_b) : node_a == node_b;
    if (is_constant != sides.b.constant(of_b).has_value() || (!is_constant && !is_same_kind)) return false;
    const Ref other = sides.b.operand(claim.b, 1 - std::min<std::size_t>(i, 1));
    if (other && other.value->name() == of_a.value->name()) return false;
  }
  return true;
}

}  // namespace

bool examine_reordered(Sides& sides, const Claim& claim, Look& look) {
  const Node& node = *claim.b.value->producer();
  const Arithmetic arithmetic = arithmetic_of(node);
  const bool is_arithmetic = arithmetic == Arithmetic::add || arithmetic == Arithmetic::multiply;
  const Predicate predicate = predicate_of(node);
  const bool is_boolean = predicate != Predicate::none && predicate == mirrored(predicate);
  if ((!is_arithmetic && !is_boolean) || have_like_operands(sides, claim)) return false;
  return is_arithmetic ? examine_arithmetic(sides, claim, true, look) : examine_booleans(sides, claim, look);
}

bool examine_arithmetic(Sides& sides, const Claim& claim, bool strictly, Look& look) {
  if (!claim.a || !claim.b) return false;
  const double rounding = rounding_of(sides.b.type_of(claim.b));
  const auto read = [&](Side& side, Shapes& shapes, Ref ref, const Model& other, const Reading& reading) {
    FormulaReader reader(side, shapes, reading.by_name ? &other.graph() : nullptr);
    if (reading.takes_uniform) reader.take_uniform_constants();
    return reader.read(ref);
  };
  for (const Reading& reading : kReadings) {
    const auto a = read(sides.a, sides.shapes_a, claim.a, sides.b.model(), reading);
    const auto b = read(sides.b, sides.shapes_b, claim.b, sides.a.model(), reading);
    if (!a || !b || (a->nodes.empty() && b->nodes.empty())) continue;
    // Two single nodes can differ only in the order of their operands.
    const bool is_plain = a->nodes.empty() || b->nodes.empty() || (a->nodes.size() == 1 && b->nodes.size() == 1);
    if (!reading.is_strict && (strictly || is_plain)) continue;
    if (const auto found = match(sides, *a, *b, rounding, reading)) {
      accept_formulas(sides, claim, *a, *b, *found, look);
      return true;
    }
  }
  return false;
}

}  // namespace relayout::proof
