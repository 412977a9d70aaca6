#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "proof/formula.h"
#include "proof/side.h"
#include "proof/sums.h"

namespace relayout::proof {

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
  [[nodiscard]] bool same_atoms(const Atom& a, const Atom& b);
  /// Pairs all parts of one list with all of the other, in any order.
  template <class Part>
  [[nodiscard]] bool pair_up(const std::vector<Part>& a, const std::vector<Part>& b);
  [[nodiscard]] bool pair(Ref a, Ref b);
  [[nodiscard]] bool same_number(Number a, Number b);
  /// Runs an attempt; a failed one leaves no trace.
  template <class Attempt>
  [[nodiscard]] bool attempt(const Attempt& attempt);

  const Formula &a_, &b_;
  double rounding_;
  MayPair may_pair_;
  Match match_;
  bool may_differ_ = false;
  int steps_ = 0;
};

}  // namespace relayout::proof
