#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "proof/side.h"
#include "proof/sums.h"

namespace relayout::proof {

struct Formula {
  Sum value;
  std::vector<Atom> atoms;
  std::vector<const Node*> nodes;  ///< that it was read from
  std::vector<Ref> constants;      ///< that it uses as numbers
};

/// Reads the formula of a value; each formula needs its own reader. Composed operators are read as their parts: those that composition()
/// knows, and those with a body (ops/body.h).
class FormulaReader {
 public:
  /// Values of the main graph with the name of a computed value of `other` are leaves, except the value that is read; nullptr: none.
  FormulaReader(Side& side, Shapes& shapes, const Graph* other) : side_(side), shapes_(shapes), other_(other) {}
  /// From now on, constants whose elements are all equal are numbers.
  void take_uniform_constants() { takes_uniform_ = true; }
  /// Empty if the value is not arithmetic of real elements, or if something cancels.
  [[nodiscard]] std::optional<Formula> read(Ref ref);

 private:
  using Terms = std::optional<Sum>;
  // The form of a value: the first reader that applies.
  [[nodiscard]] Sum value_of(Ref ref);
  [[nodiscard]] Sum value_of_node(Ref ref);
  [[nodiscard]] Terms arithmetic(Ref ref);
  [[nodiscard]] Terms power_of(Ref ref);
  [[nodiscard]] Terms function_of(Ref ref);
  [[nodiscard]] Terms composition(Ref ref);
  [[nodiscard]] Terms normalization(Ref ref);
  [[nodiscard]] Terms matrix_product(Ref ref);

  /// Operand `index`; as a number if it does not enlarge operand `other`.
  [[nodiscard]] Sum operand(Ref ref, std::size_t index, std::size_t other = 0);
  [[nodiscard]] std::optional<Number> number(Ref ref, Ref other);
  /// A matrix without the transpositions and factors upstream of it.
  struct Matrix {
    Sum value;
    bool is_transposed = false;
    Sum factor = {{1}, {}, {}};
  };
  [[nodiscard]] Matrix matrix(Ref ref);
  [[nodiscard]] bool is_leaf(Ref ref);

  Side& side_;
  Shapes& shapes_;
  const Graph* other_;
  Ref top_;
  Formula formula_;
  Sums sums_{formula_.atoms};
  std::unordered_map<Ref, Sum, RefHash> values_;
  bool takes_uniform_ = false;
  int depth_ = 0;
};

}  // namespace relayout::proof
