// Matches two formulas term by term in any order (at most 20,000 attempts): yields the pairs of values that must be equal, and the numbers
// that differ.

#include "proof/formula_match.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "proof/formula.h"
#include "proof/side.h"
#include "proof/sums.h"

namespace relayout::proof {
namespace {

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

}  // namespace

template <class Attempt>
bool Matcher::attempt(const Attempt& attempt) {
  const std::size_t pairs = match_.pairs.size(), numbers = match_.other_numbers.size();
  if (++steps_ < kMostAttempts && attempt()) return true;
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
  if (a.factors.size() != b.factors.size()) return false;
  return same_number(a.coefficient, b.coefficient) && pair_up(a.factors, b.factors);
}

bool Matcher::same(const Factor& a, const Factor& b) {
  return a.halves == b.halves && same_atoms(a_.atoms[a.atom], b_.atoms[b.atom]);
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

bool Matcher::same_number(Number a, Number b) {
  const double tolerance = std::min(a.roundings + b.roundings, kMostRoundings) * rounding_;
  if (std::abs(a.value - b.value) <= tolerance * std::max(std::abs(a.value), std::abs(b.value))) return true;
  if (may_differ_) match_.other_numbers.emplace_back(a.value, b.value);
  return may_differ_;
}

}  // namespace relayout::proof
