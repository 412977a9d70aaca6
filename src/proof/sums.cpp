// Computes with formulas in one form, sums of products of powers, and fails where terms or factors cancel.
// The form would otherwise lose facts about the value.

#include "proof/sums.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "base/numbers.h"
#include "proof/side.h"

namespace relayout::proof {
namespace {

constexpr int kMostHalves = 64;

std::string text_of(const Sum& sum) {
  std::string out = number_text(sum.constant.value);
  for (const Product& term : sum.terms) {
    out += '+' + number_text(term.coefficient.value);
    for (const Factor& factor : term.factors) out += '*' + std::to_string(factor.atom) + '^' + std::to_string(factor.halves);
  }
  return out;
}

Number added(Number a, Number b) {
  if (a.value == 0 || b.value == 0) return a.value == 0 ? b : a;
  return {a.value + b.value, a.roundings + b.roundings + 2};
}

bool is_unit(Number number) {
  return std::abs(number.value) == 1;
}

Number multiplied(Number a, Number b) {
  return {a.value * b.value, is_unit(a) || is_unit(b) ? a.roundings + b.roundings : kMostRoundings};
}

Number raised(Number base, double exponent) {
  return {std::pow(base.value, exponent), is_unit(base) ? base.roundings : kMostRoundings};
}

/// Identity of an atom as text.
std::string text_of(const Atom& atom) {
  if (atom.kind == Atom::Kind::leaf) {
    std::array<char, 64> out{};
    std::snprintf(out.data(), out.size(), "%p %p", static_cast<const void*>(atom.origin.value), static_cast<const void*>(atom.origin.call));
    return out.data();
  }
  std::string out = atom.kind == Atom::Kind::sum ? "sum" : "function " + atom.function;
  for (const Sum& argument : atom.arguments) out += " (" + text_of(argument) + ")";
  return out;
}

}  // namespace

std::string number_text(double number) {
  return shortest(number);
}

Sum Sums::leaf(Ref ref) {
  return {{}, {{{1}, {{intern({Atom::Kind::leaf, {}, {}, ref}), 2}}}}, ref};
}

Sum Sums::function(std::string name, std::vector<Sum> arguments) {
  return {{}, {{{1}, {{intern({Atom::Kind::function, std::move(name), std::move(arguments), {}}), 2}}}}, {}};
}

std::size_t Sums::intern(Atom atom) {
  const auto [known, is_new] = known_.try_emplace(text_of(atom), atoms_.size());
  if (is_new) atoms_.push_back(std::move(atom));
  return known->second;
}

Sum Sums::plus(Sum a, const Sum& given, double factor) {
  Sum b = given;
  const Number number = multiplied(given.constant, {factor});
  const double sum = a.constant.value + number.value, largest = std::max(std::abs(a.constant.value), std::abs(number.value));
  if (a.constant.value != 0 && number.value != 0) {
    // Numbers that nearly cancel round the terms between them: x + 12582912 − 12582912 is x rounded to integers.
    constexpr double kLeastLeft = 0x1p-10;
    if (std::abs(sum) < kLeastLeft * largest) has_failed_ = true;
    const double smallest = std::min(std::abs(a.constant.value), std::abs(number.value));
    if (smallest < std::ldexp(largest, -(fraction_bits_ + 1) / 2)) {
      a = apart(a);
      b = apart(b);
    }
  }
  a.origin = {};
  a.constant = added(a.constant, multiplied(b.constant, {factor}));
  for (Product term : b.terms) {
    term.coefficient = multiplied(term.coefficient, {factor});
    add(a, std::move(term));
  }
  return a;
}

Sum Sums::apart(const Sum& sum) {
  if (sum.terms.empty()) return sum;
  return {{}, {as_product(sum)}, {}};
}

void Sums::add(Sum& to, Product term) {
  const auto at = std::ranges::lower_bound(to.terms, term.factors, {}, &Product::factors);
  if (at == to.terms.end() || at->factors != term.factors) {
    to.terms.insert(at, std::move(term));
    return;
  }
  at->coefficient = added(at->coefficient, term.coefficient);
  if (at->coefficient.value == 0) has_failed_ = true;
}

/// A sum times 1 or −1, term by term: that rounds nothing.
Sum Sums::turned(Sum sum, Number unit) {
  if (unit.value != 1) sum.origin = {};
  sum.constant = multiplied(sum.constant, unit);
  for (Product& term : sum.terms) term.coefficient = multiplied(term.coefficient, unit);
  return sum;
}

Sum Sums::scaled(const Sum& a, Number factor) {
  return times(a, Sum{factor, {}, {}});
}

Sum Sums::times(const Sum& a, const Sum& b) {
  if (b.terms.empty() && is_unit(b.constant)) return turned(a, b.constant);
  Product out = as_product(a);
  const Product other = as_product(b);
  out.coefficient = multiplied(out.coefficient, other.coefficient);
  if (out.coefficient.value == 0) has_failed_ = true;
  for (const Factor& factor : other.factors) {
    const auto at = std::ranges::lower_bound(out.factors, factor.atom, {}, &Factor::atom);
    if (at == out.factors.end() || at->atom != factor.atom) {
      out.factors.insert(at, factor);
      continue;
    }
    // x / x is not 1 where x is 0, and √x · √x is not x where x is negative.
    if ((at->halves > 0) != (factor.halves > 0) || (at->halves % 2 != 0 && factor.halves % 2 != 0)) has_failed_ = true;
    at->halves += factor.halves;
  }
  if (out.factors.empty()) return {out.coefficient, {}, {}};
  return {{}, {std::move(out)}, {}};
}

/// A sum of several terms becomes an atom of the product.
Product Sums::as_product(const Sum& sum) {
  if (sum.terms.empty()) return {sum.constant, {}};
  if (sum.constant.value == 0 && sum.terms.size() == 1) return sum.terms[0];
  return {{1}, {{intern({Atom::Kind::sum, {}, {sum}, sum.origin}), 2}}};
}

Sum Sums::power(const Sum& base, int halves) {
  Product out = as_product(base);
  const bool is_root = halves % 2 != 0;
  if (is_root && (out.coefficient.value != 1 || out.factors.size() != 1 || out.factors[0].halves != 2)) {
    out = {{1}, {{intern({Atom::Kind::sum, {}, {base}, base.origin}), 2}}};  // √(x²) is not x
  }
  for (Factor& factor : out.factors) {
    if (!is_root && factor.halves % 2 != 0 && halves % 4 == 0) has_failed_ = true;
    factor.halves = is_root ? halves : factor.halves * (halves / 2);
    if (std::abs(factor.halves) > kMostHalves) has_failed_ = true;
  }
  if (out.factors.empty()) return {raised(out.coefficient, halves / 2.0), {}, {}};
  out.coefficient = raised(out.coefficient, halves / 2);
  return {{}, {std::move(out)}, {}};
}

Sum Sums::inverse_root_mean_square(const Sum& value, const std::string& axes, Number epsilon) {
  return power(plus(function("ReduceMean" + axes, {power(value, 4)}), {epsilon, {}, {}}), -1);
}

}  // namespace relayout::proof
