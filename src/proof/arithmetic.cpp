// Decides whether two values are one formula, computed by different nodes in any order of terms and factors.
// Several readings of the formulas are tried in order.

#include <cmath>

#include "base/numbers.h"
#include "ops/op.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/formula.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/sums.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Whether two values may be paired.
using MayPair = std::function<bool(Ref a, Ref b)>;

/// Assumptions under which two formulas are the same.
struct Match {
  std::vector<RefPair> pairs;                            ///< values that must then be the same
  std::vector<std::pair<double, double>> other_numbers;  ///< different numbers, of the first and the second formula
};

/// Pairs the parts of two formulas. Numbers are the same within their roundings; `rounding` is the error of one, relative to its result.
class Matcher {
 public:
  Matcher(const Formula& a, const Formula& b, double rounding, MayPair may_pair)
      : a_(a), b_(b), rounding_(rounding), may_pair_(std::move(may_pair)) {}
  /// From now on numbers may differ, and are listed.
  void let_numbers_differ() { may_differ_ = true; }
  /// Whether the formulas have one form; match() is the first pairing that is found.
  [[nodiscard]] bool run() { return same(a_.value, b_.value); }
  [[nodiscard]] const Match& match() const noexcept { return match_; }

 private:
  [[nodiscard]] bool same(const Sum& a, const Sum& b);
  [[nodiscard]] bool same_form(const Sum& a, const Sum& b);
  [[nodiscard]] bool same(const Product& a, const Product& b);
  [[nodiscard]] bool same(const Factor& a, const Factor& b);
  /// Whether a sum is the other one with every sign turned, so that a product turns its own.
  [[nodiscard]] bool same_turned(const Atom& a, const Atom& b);
  [[nodiscard]] bool same_atoms(const Atom& a, const Atom& b);
  /// Pairs all parts of one list with all of the other, in any order.
  template <class Part>
  [[nodiscard]] bool pair_up(const std::vector<Part>& a, const std::vector<Part>& b);
  [[nodiscard]] bool pair(Ref a, Ref b);
  [[nodiscard]] bool is_near(Number a, Number b) const;
  [[nodiscard]] bool same_number(Number a, Number b);
  /// Runs an attempt; a failed one leaves no trace.
  template <class Attempt>
  [[nodiscard]] bool attempt(const Attempt& attempt);

  const Formula &a_, &b_;
  double rounding_;
  MayPair may_pair_;
  Match match_;
  bool may_differ_ = false;
  double sign_ = 1;  ///< of the current product: −1 after an odd number of factors with every sign turned
  int steps_ = 0;
};

/// Limit of attempts to match two formulas; sums of many similar terms would take more.
constexpr int kMostAttempts = 20'000;

/// The leaf that a sum consists of, or nullptr.
const Atom* leaf_of(const Formula& formula, const Sum& sum) {
  if (sum.constant.value != 0 || sum.terms.size() != 1 || sum.terms[0].coefficient.value != 1 || sum.terms[0].factors.size() != 1)
    return nullptr;
  const Factor& factor = sum.terms[0].factors[0];
  const Atom& atom = formula.atoms[factor.atom];
  return factor.halves == 2 && atom.kind == Atom::Kind::leaf ? &atom : nullptr;
}

template <class Attempt>
bool Matcher::attempt(const Attempt& attempt) {
  const std::size_t pairs = match_.pairs.size(), numbers = match_.other_numbers.size();
  const double sign = sign_;
  if (++steps_ < kMostAttempts && attempt()) return true;
  sign_ = sign;
  match_.pairs.resize(pairs);
  match_.other_numbers.resize(numbers);
  return false;
}

bool Matcher::same(const Sum& a, const Sum& b) {
  if (attempt([&] { return same_form(a, b); })) return true;
  // The other model may compute this by an operator that is no arithmetic.
  const Atom *const leaf_a = leaf_of(a_, a), *const leaf_b = leaf_of(b_, b);
  if ((leaf_a != nullptr) == (leaf_b != nullptr)) return false;
  const Ref of_a = leaf_a != nullptr ? leaf_a->origin : a.origin;
  const Ref of_b = leaf_b != nullptr ? leaf_b->origin : b.origin;
  return pair(of_a, of_b);
}

bool Matcher::same_form(const Sum& a, const Sum& b) {
  if (a.terms.size() != b.terms.size() || (a.constant.value == 0) != (b.constant.value == 0)) return false;
  return same_number(a.constant, b.constant) && pair_up(a.terms, b.terms);
}

bool Matcher::same(const Product& a, const Product& b) {
  const auto turned = [](Number number, double sign) { return Number{sign * number.value, number.roundings}; };
  const bool may_be_near = may_differ_ || is_near(turned(a.coefficient, std::copysign(1, a.coefficient.value)),
                                                  turned(b.coefficient, std::copysign(1, b.coefficient.value)));
  if (a.factors.size() != b.factors.size() || !may_be_near) return false;
  const double outer = std::exchange(sign_, 1);
  const bool are_paired = pair_up(a.factors, b.factors);
  const double sign = std::exchange(sign_, outer);
  return are_paired && same_number(a.coefficient, turned(b.coefficient, sign));
}

bool Matcher::same(const Factor& a, const Factor& b) {
  const Atom &of_a = a_.atoms[a.atom], &of_b = b_.atoms[b.atom];
  if (a.halves != b.halves) return false;
  if (attempt([&] { return same_atoms(of_a, of_b); })) return true;
  if (a.halves % 2 != 0 || !same_turned(of_a, of_b)) return false;
  if (a.halves % 4 != 0) sign_ = -sign_;
  return true;
}

bool Matcher::same_turned(const Atom& a, const Atom& b) {
  if (a.kind != Atom::Kind::sum || b.kind != Atom::Kind::sum) return false;
  Sum turned = a.arguments.front();
  turned.constant.value = -turned.constant.value;
  for (Product& term : turned.terms) term.coefficient.value = -term.coefficient.value;
  return same_form(turned, b.arguments.front());
}

bool Matcher::same_atoms(const Atom& a, const Atom& b) {
  if (a.kind == Atom::Kind::leaf || b.kind == Atom::Kind::leaf) return pair(a.origin, b.origin);
  if (a.kind != b.kind || a.function != b.function || a.arguments.size() != b.arguments.size()) return false;
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    if (!same(a.arguments[i], b.arguments[i])) return false;
  }
  return true;
}

template <class Part>
bool Matcher::pair_up(const std::vector<Part>& a, const std::vector<Part>& b) {
  if (a.size() != b.size()) return false;
  std::vector<bool> taken(b.size(), false);
  for (const Part& part : a) {
    std::size_t at = 0;
    while (at < b.size() && (taken[at] || !attempt([&] { return same(part, b[at]); }))) ++at;
    if (at == b.size()) return false;
    taken[at] = true;
  }
  return true;
}

bool Matcher::pair(Ref a, Ref b) {
  // Pairing the two compared values themselves would show nothing.
  if (!a || !b || (a == a_.value.origin && b == b_.value.origin)) return false;
  for (const auto& [known_a, known_b] : match_.pairs) {
    if (known_a == a || known_b == b) return known_a == a && known_b == b;
  }
  if (!may_pair_(a, b)) return false;
  match_.pairs.emplace_back(a, b);
  return true;
}

bool Matcher::is_near(Number a, Number b) const {
  const double tolerance = std::min(a.roundings + b.roundings, kMostRoundings) * rounding_;
  return std::abs(a.value - b.value) <= tolerance * std::max(std::abs(a.value), std::abs(b.value));
}

bool Matcher::same_number(Number a, Number b) {
  if (is_near(a, b)) return true;
  if (may_differ_) match_.other_numbers.emplace_back(a.value, b.value);
  return may_differ_;
}

/// Whether two values are made alike, whatever their names: by the same operators from alike operands, as far as the steps reach, and of
/// equal constants.
class Likeness {
 public:
  explicit Likeness(Sides& sides) : sides_(sides) {}

  [[nodiscard]] bool of(Ref a, Ref b) {
    steps_ = 0;
    return of(a, b, 0);
  }

 private:
  [[nodiscard]] bool of(Ref a, Ref b, int depth) {
    constexpr int kDeepest = 8, kMostSteps = 200;
    if (!a || !b) return !a && !b;
    if (++steps_ > kMostSteps) return false;
    if (sides_.a.constant(a) || sides_.b.constant(b)) {
      const auto difference = sides_.tensor_difference(a, b);
      return difference && difference->values == 0;
    }
    const Node *const of_a = a.value->producer(), *const of_b = b.value->producer();
    if (of_a == nullptr && of_b == nullptr) return sides_.same_input(*a.value, *b.value);
    if (of_a == nullptr || of_b == nullptr || !same_operator(*of_a, *of_b) || of_a->inputs().size() != of_b->inputs().size()) return false;
    if (depth == kDeepest) return true;
    const auto are_alike = [&](std::size_t i, std::size_t k) { return of(sides_.a.operand(a, i), sides_.b.operand(b, k), depth + 1); };
    std::size_t same = 0;
    while (same < of_a->inputs().size() && are_alike(same, same)) ++same;
    const Arithmetic arithmetic = arithmetic_of(*of_a);
    const bool commutes = (arithmetic == Arithmetic::add || arithmetic == Arithmetic::multiply) && of_a->inputs().size() == 2;
    return same == of_a->inputs().size() || (commutes && are_alike(0, 1) && are_alike(1, 0));
  }

  Sides& sides_;
  int steps_ = 0;
};

/// Rules for the comparison of two formulas.
struct Reading {
  bool is_alike = false;       ///< only values that are made alike are paired
  bool by_name = true;         ///< reading stops at values that both models have by name
  bool is_strict = true;       ///< only values that may well be the same are paired, else any that fit
  bool takes_uniform = false;  ///< constants whose elements are all equal count as numbers
  bool may_differ = false;     ///< numbers may differ, which is reported
};
constexpr std::array<Reading, 11> kReadings = {{{.is_alike = true, .by_name = true},
                                                {.is_alike = true, .by_name = false},
                                                {.by_name = true},
                                                {.by_name = false},
                                                {.by_name = true, .takes_uniform = true},
                                                {.by_name = true, .is_strict = false},
                                                {.by_name = false, .is_strict = false},
                                                {.by_name = true, .may_differ = true},
                                                {.by_name = false, .may_differ = true},
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
  if (reading.is_alike) return Likeness(sides).of(a, b);
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

Look accepted(const Sides& sides, const Claim& claim, const Formula& a, const Formula& b, const Match& found) {
  Look look;
  const Node* const node = claim.b.value->producer();
  for (const auto& [of_a, of_b] : found.other_numbers) {
    Issue& issue = look.issues.emplace_back(
        issue_of_reader(sides, Unexplained::Kind::tensor, {claim.a, claim.b, {}, {}, {}, {}, node != nullptr ? node : claim.reader},
                        "computes with " + significant(of_b, 9) + " where " + significant(of_a, 9) + " was"));
    Difference difference;
    difference.note(of_a, of_b);
    issue.what.values = difference.values;
    issue.what.largest = difference.largest;
    issue.what.beyond_half = difference.beyond_half;
  }
  look.account(a, b);
  if (found.other_numbers.empty() && !b.nodes.empty()) look.rewritten.push_back(node);
  for (const auto& [of_a, of_b] : found.pairs) {
    look.claims.push_back({of_a, of_b, {}, {}, {}, {}, b.nodes.empty() ? claim.reader : node});
  }
  return look;
}

/// Whether the operands of two nodes of two operands are made alike in the other order, and not in their own.
bool are_exchanged(Sides& sides, const Claim& claim) {
  const auto are_alike = [&](std::size_t i, std::size_t k) {
    return Likeness(sides).of(sides.a.operand(claim.a, i), sides.b.operand(claim.b, k));
  };
  return claim.a.value->producer()->inputs().size() == 2 && are_alike(0, 1) && are_alike(1, 0) && !(are_alike(0, 0) && are_alike(1, 1));
}

/// Whether the two nodes have operands of the same kind in the same order, judged by names, or by what makes the operands.
bool have_like_operands(Sides& sides, const Claim& claim) {
  const Node &a = *claim.a.value->producer(), &b = *claim.b.value->producer();
  if (a.inputs().size() != b.inputs().size() || are_exchanged(sides, claim)) return false;
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

/// The two values as one formula; strictly: only values that may well be the same are paired.
Found examine_arithmetic(Sides& sides, const Claim& claim, bool strictly) {
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
    if ((!reading.is_strict || reading.may_differ) && (strictly || is_plain)) continue;
    if (const auto found = match(sides, *a, *b, rounding, reading)) return accepted(sides, claim, *a, *b, *found);
  }
  return std::nullopt;
}

}  // namespace

Found examine_reordered(Sides& sides, const Claim& claim) {
  const Node& node = *claim.b.value->producer();
  const Arithmetic arithmetic = arithmetic_of(node);
  const bool is_arithmetic = arithmetic == Arithmetic::add || arithmetic == Arithmetic::multiply;
  const Predicate predicate = predicate_of(node);
  const bool is_boolean = compares(predicate) || (predicate != Predicate::none && predicate == mirrored(predicate));
  if ((!is_arithmetic && !is_boolean) || have_like_operands(sides, claim)) return std::nullopt;
  if (is_arithmetic) return examine_arithmetic(sides, claim, true);
  for (const auto examine : {examine_booleans, examine_comparison, examine_selected}) {
    if (Found found = examine(sides, claim)) return found;
  }
  return std::nullopt;
}

Found examine_call(Sides& sides, const Claim& claim) {
  const bool is_call = sides.a.entered(claim.a) || sides.b.entered(claim.b);
  return is_call ? examine_arithmetic(sides, claim, true) : std::nullopt;
}

Found examine_formula(Sides& sides, const Claim& claim) {
  return examine_arithmetic(sides, claim, false);
}

}  // namespace relayout::proof
