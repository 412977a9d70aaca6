#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proof/shapes.h"
#include "proof/side.h"

namespace relayout::proof {

// Arithmetic of real elements in one form, however it was spelled: a sum of products of powers of atoms. Sums are not multiplied out, so
// that two formulas that are the same differ by the order of their roundings alone. Nothing that cancels is left out: it may have given the
// value its dims, or be infinite.

/// atom^(halves / 2), the atom by its number in the formula.
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
  Ref origin;                  ///< the value that it is, where there is one
};

struct Atom {
  enum class Kind { leaf, function, sum };
  Kind kind = Kind::leaf;
  std::string function;        ///< its name and attributes
  std::vector<Sum> arguments;  ///< of a function; the sum
  Ref origin;                  ///< the value that it is, where there is one; of a leaf always
};

struct Formula {
  Sum value;
  std::vector<Atom> atoms;
  std::vector<const Node*> nodes;  ///< that it was read from
  std::vector<Ref> numbers;        ///< constants that are numbers in it
};

/// Reads how a value is computed, each formula by a reader of its own. Operators that are compositions are read as what they compose: those
/// that composition() knows, and those with a body (ops/composed.h).
class FormulaReader {
 public:
  /// Values of the main graph that have a name of `other` are taken as they are, except the one that is read; nullptr: none.
  FormulaReader(Side& side, Shapes& shapes, const Graph* other) : side_(side), shapes_(shapes), other_(other) {}
  /// From now on constants whose elements are all the same are numbers.
  void take_uniform_constants() { takes_uniform_ = true; }
  /// Nothing where the value is not arithmetic of real elements, or something cancels.
  [[nodiscard]] std::optional<Formula> read(Ref ref);

 private:
  using Terms = std::optional<Sum>;
  // What a value is: the first that applies.
  [[nodiscard]] Sum value_of(Ref ref);
  [[nodiscard]] Sum value_of_node(Ref ref);
  [[nodiscard]] Terms arithmetic(Ref ref);
  [[nodiscard]] Terms power_of(Ref ref);
  [[nodiscard]] Terms function_of(Ref ref);
  [[nodiscard]] Terms composition(Ref ref);
  [[nodiscard]] Terms normalization(Ref ref);
  [[nodiscard]] Terms mean_of(Ref ref);
  [[nodiscard]] Terms matrix_product(Ref ref);

  /// Operand `index`; a number where it makes operand `other` no larger.
  [[nodiscard]] Sum operand(Ref ref, std::size_t index, std::size_t other = 0);
  [[nodiscard]] std::optional<double> number(Ref ref, Ref other);
  [[nodiscard]] bool fits_into(const Dims& constant, Ref other);
  /// A matrix without transpositions and factors in front of it.
  struct Matrix {
    Sum value;
    bool is_transposed = false;
    double factor = 1;
  };
  [[nodiscard]] Matrix matrix(Ref ref);
  /// Axes counted from the last, as text; empty when they are not certain.
  [[nodiscard]] std::string axes_text(std::vector<int64_t> axes, Ref of);
  [[nodiscard]] bool is_leaf(Ref ref);

  // Arithmetic.
  [[nodiscard]] Sum leaf(Ref ref);
  [[nodiscard]] Sum function(std::string name, std::vector<Sum> arguments);
  [[nodiscard]] Sum inverse_root_mean_square(const Sum& value, const std::string& axes, double epsilon);
  [[nodiscard]] Sum plus(Sum a, const Sum& b, double factor = 1);
  [[nodiscard]] Sum times(const Sum& a, const Sum& b);
  [[nodiscard]] Sum times(const Sum& a, double number);
  [[nodiscard]] Sum power(const Sum& base, int halves);
  [[nodiscard]] Product as_product(const Sum& sum);
  [[nodiscard]] std::size_t intern(Atom atom);
  void add(Sum& to, Product term);

  Side& side_;
  Shapes& shapes_;
  const Graph* other_;
  Ref top_;
  Formula formula_;
  std::map<std::string, std::size_t> known_;  ///< atoms by what they are
  std::unordered_map<Ref, Sum, RefHash> values_;
  bool takes_uniform_ = false;
  bool has_failed_ = false;
  int depth_ = 0;
};

}  // namespace relayout::proof
