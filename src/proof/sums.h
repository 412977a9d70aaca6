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
// infinite. A number that would lose half of its digits beside another stays apart (1e-7 in 1 − x + 1e-7): where the other terms cancel, it
// is all that is left.

/// atom^(halves / 2), with the atom by its index in the formula.
struct Factor {
  std::size_t atom = 0;
  int halves = 2;
  auto operator<=>(const Factor&) const = default;
};
/// A number of a formula, and by how many roundings other spellings of it may differ: a number as it is stored by none.
struct Number {
  double value = 0;
  int roundings = 0;
};
/// Roundings of a product, a quotient or a number of an operator's definition: a division or multiplication by 1 / √2, and each as it is
/// stored. A sum has two: its own, and that of double arithmetic.
inline constexpr int kMostRoundings = 4;

struct Product {
  Number coefficient = {1};
  std::vector<Factor> factors;  ///< sorted, each atom once
};
struct Sum {
  Number constant;
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
  /// Stored bits of a fraction in the formula's type.
  void set_fraction_bits(int bits) { fraction_bits_ = bits; }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;

  [[nodiscard]] Sum leaf(Ref ref);
  [[nodiscard]] Sum function(std::string name, std::vector<Sum> arguments);
  [[nodiscard]] Sum plus(Sum a, const Sum& b, double factor = 1);
  [[nodiscard]] Sum times(const Sum& a, const Sum& b);
  [[nodiscard]] Sum scaled(const Sum& a, Number factor);
  /// base^(halves / 2)
  [[nodiscard]] Sum power(const Sum& base, int halves);
  /// 1 / √(mean (value²) + ε)
  [[nodiscard]] Sum inverse_root_mean_square(const Sum& value, const std::string& axes, Number epsilon);

  /// Whether something cancelled or fail() was called. Results are then invalid.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  void fail() noexcept { has_failed_ = true; }

 private:
  [[nodiscard]] Product as_product(const Sum& sum);
  [[nodiscard]] std::size_t intern(Atom atom);
  [[nodiscard]] static Sum turned(Sum sum, Number unit);
  /// The sum as an atom, so that its number stays apart.
  [[nodiscard]] Sum apart(const Sum& sum);
  void add(Sum& to, Product term);

  std::vector<Atom>& atoms_;
  std::map<std::string, std::size_t> known_;  ///< indices of atoms by their identity
  int fraction_bits_ = 23;
  bool has_failed_ = false;
};

/// A number as part of a function's name.
[[nodiscard]] std::string number_text(double number);

}  // namespace relayout::proof
