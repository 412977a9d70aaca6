// Arithmetic of formulas in one form, sums of products of powers: it fails where terms or factors cancel (x / x, products of square roots,
// numbers that nearly cancel). The form would then lose facts about the value.

#include "proof/sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "proof/side.h"

namespace relayout::proof {
namespace {

constexpr int kMostHalves = 64;

std::string text_of(const Sum& sum) {
  std::string out = number_text(sum.constant);
  for (const Product& term : sum.terms) {
    out += '+' + number_text(term.coefficient);
    for (const Factor& factor : term.factors) out += '*' + std::to_string(factor.atom) + '^' + std::to_string(factor.halves);
  }
  return out;
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
  return {0, {{1, {{intern({Atom::Kind::leaf, {}, {}, ref}), 2}}}}, ref};
}

Sum Sums::function(std::string name, std::vector<Sum> arguments) {
  return {0, {{1, {{intern({Atom::Kind::function, std::move(name), std::move(arguments), {}}), 2}}}}, {}};
}

std::size_t Sums::intern(Atom atom) {
  const auto [known, is_new] = known_.try_emplace(text_of(atom), atoms_.size());
  if (is_new) atoms_.push_back(std::move(atom));
  return known->second;
}

Sum Sums::plus(Sum a, const Sum& b, double factor) {
  a.origin = {};
  const double added = factor * b.constant, sum = a.constant + added;
  // Numbers that nearly cancel round the terms between them: x + 12582912 − 12582912 is x rounded to integers.
  constexpr double kLeastLeft = 0x1p-10;
  if (a.constant != 0 && added != 0 && std::abs(sum) < kLeastLeft * std::max(std::abs(a.constant), std::abs(added))) has_failed_ = true;
  a.constant = sum;
  for (Product term : b.terms) {
    term.coefficient *= factor;
    add(a, std::move(term));
  }
  return a;
}

void Sums::add(Sum& to, Product term) {
  const auto at = std::ranges::lower_bound(to.terms, term.factors, {}, &Product::factors);
  if (at == to.terms.end() || at->factors != term.factors) {
    to.terms.insert(at, std::move(term));
    return;
  }
  at->coefficient += term.coefficient;
  if (at->coefficient == 0) has_failed_ = true;
}

Sum Sums::times(const Sum& a, double number) {
  return times(a, Sum{number, {}, {}});
}

Sum Sums::times(const Sum& a, const Sum& b) {
  Product out = as_product(a);
  const Product other = as_product(b);
  out.coefficient *= other.coefficient;
  if (out.coefficient == 0) has_failed_ = true;
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
  return {0, {std::move(out)}, {}};
}

/// A sum of several terms becomes an atom of the product.
Product Sums::as_product(const Sum& sum) {
  if (sum.terms.empty()) return {sum.constant, {}};
  if (sum.constant == 0 && sum.terms.size() == 1) return sum.terms[0];
  return {1, {{intern({Atom::Kind::sum, {}, {sum}, sum.origin}), 2}}};
}

Sum Sums::power(const Sum& base, int halves) {
  Product out = as_product(base);
  const bool is_root = halves % 2 != 0;
  if (is_root && (out.coefficient != 1 || out.factors.size() != 1 || out.factors[0].halves != 2)) {
    out = {1, {{intern({Atom::Kind::sum, {}, {base}, base.origin}), 2}}};  // √(x²) is not x
  }
  for (Factor& factor : out.factors) {
    if (!is_root && factor.halves % 2 != 0 && halves % 4 == 0) has_failed_ = true;
    factor.halves = is_root ? halves : factor.halves * (halves / 2);
    if (std::abs(factor.halves) > kMostHalves) has_failed_ = true;
  }
  if (out.factors.empty()) return {std::pow(out.coefficient, halves / 2.0), {}, {}};
  out.coefficient = std::pow(out.coefficient, halves / 2);
  return {0, {std::move(out)}, {}};
}

Sum Sums::inverse_root_mean_square(const Sum& value, const std::string& axes, double epsilon) {
  return power(plus(function("ReduceMean" + axes, {power(value, 4)}), {epsilon, {}, {}}), -1);
}

}  // namespace relayout::proof
