#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "proof/side.h"

namespace relayout::proof {

// Arithmetic of real elements in one form for all spellings: a sum of products of powers of atoms. Sums are not multiplied out, so that
// equal formulas differ only in the order of their roundings. Terms that cancel are not dropped: they may determine the value's dims, or be
// infinite.

/// atom^(halves / 2), with the atom by its index in the formula.
struct Factor {
  std::size_t atom = 0;
  int halves = 2;
  auto operator<=>(const Factor&) const = default;
};
struct Product {
  double coefficient = 1;
  std::vector<Factor> factors;  ///< sorted, each atom once
};
struct Sum {
  double constant = 0;
  std::vector<Product> terms;  ///< sorted by their factors, no two with the same
  Ref origin;                  ///< the value that the sum equals, if there is one
};

struct Atom {
  enum class Kind { leaf, function, sum };
  Kind kind = Kind::leaf;
  std::string function;        ///< name and attributes
  std::vector<Sum> arguments;  ///< of a function; or the sum
  Ref origin;                  ///< the value that the atom equals, if there is one; always there for a leaf
};

/// Builds sums from others, over the atoms of one formula.
class Sums {
 public:
  explicit Sums(std::vector<Atom>& atoms) : atoms_(atoms) {}
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;

  [[nodiscard]] Sum leaf(Ref ref);
  [[nodiscard]] Sum function(std::string name, std::vector<Sum> arguments);
  [[nodiscard]] Sum plus(Sum a, const Sum& b, double factor = 1);
  [[nodiscard]] Sum times(const Sum& a, const Sum& b);
  [[nodiscard]] Sum times(const Sum& a, double number);
  /// base^(halves / 2)
  [[nodiscard]] Sum power(const Sum& base, int halves);
  /// 1 / √(mean (value²) + ε)
  [[nodiscard]] Sum inverse_root_mean_square(const Sum& value, const std::string& axes, double epsilon);

  /// Whether something cancelled or fail() was called. Results are then invalid.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  void fail() noexcept { has_failed_ = true; }

 private:
  [[nodiscard]] Product as_product(const Sum& sum);
  [[nodiscard]] std::size_t intern(Atom atom);
  void add(Sum& to, Product term);

  std::vector<Atom>& atoms_;
  std::map<std::string, std::size_t> known_;  ///< indices of atoms by their identity
  bool has_failed_ = false;
};

/// A number as part of a function's name.
[[nodiscard]] std::string number_text(double number);

}  // namespace relayout::proof
