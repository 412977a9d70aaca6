#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

class ElementTypes;

/// The range of all elements of a value; NaN is ignored.
struct Bounds {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool operator==(const Bounds&) const = default;
};

using BoundsOf = std::function<Bounds(const Value& value)>;

/// No dim, index or count of a model that runs is larger.
inline constexpr double kMostSize = 0x1p30;

/// The range of an integer or boolean type; infinite for the others.
[[nodiscard]] Bounds bounds_of_type(DataType type);
[[nodiscard]] Bounds meet(Bounds a, Bounds b);

/// Bounds of a node's first result from those of its operands, by the definition of its operator in the ONNX specification: a Sigmoid is
/// never below 0. The bounds of its type where no others are known, and for operators of other domains.
[[nodiscard]] Bounds bounds_of_result(const Node& node, const ElementTypes& types, const BoundsOf& bounds_of);

/// The range of a value that counts: dims, sizes, positions of elements, the numbers of a Range; nullopt for other values.
[[nodiscard]] std::optional<Bounds> bounds_of_count(const Value& value, Constants& constants);

/// Whether results are about as large as the operand that varies, where no bounds tell more: a pool, an interpolation, a reduction.
[[nodiscard]] bool keeps_magnitude(const Node& node);

/// Whether an operator's results have finite bounds, whatever its operands are.
[[nodiscard]] bool is_bounded(const Node& node);

/// The numbers, in order, that separate the pieces of a definition (Trait::piecewise), as values of operand `operand`. With `is_point`, the
/// only number that has a piece of its own.
struct Cuts {
  std::size_t operand = 0;
  std::vector<double> numbers;
  bool is_point = false;
};

/// The cuts of a node's operator as the ONNX specification defines it: limits, kinks, constants of comparisons, ends of a domain, of
/// exponents and of integer types. Nothing where no single operand has cuts: two operands that vary are compared with each other.
[[nodiscard]] std::optional<Cuts> cuts_of(const Node& node, const ElementTypes& types, const BoundsOf& bounds_of);

/// Whether the operand 0 of a node's operator ends, or changes without limit, at a number whatever the other operands are.
[[nodiscard]] bool is_edged(const Node& node);

/// The way from a value to the operand of a node that ends, or changes without limit, at a number: Log, Sqrt, Reciprocal, a divisor …
enum class EdgeWay : uint8_t { none, through_products, elementwise };

struct EdgeDownstream {
  EdgeWay way = EdgeWay::none;
  const Node* node = nullptr;  ///< with the edge; nullptr where it may be in a caller
};

/// The nearest edge downstream of a value, upstream of which a small change of the value stays small. Only the next 64 readers are looked
/// at, since guards stand close to what they guard; at most one of them multiplies matrices. Functions are not followed: they may have an
/// edge, and so may the callers of the function that the value is in.
[[nodiscard]] EdgeDownstream edge_downstream(const Value& value, Constants& constants);

/// The function of one number that an operator applies to each element, and its inverse: one of the numbers of which it gives a result.
struct Invertible {
  std::string_view op;
  double (*result)(double);
  double (*operand)(double);
  bool is_even = false;  ///< the negative number gives the same result
};

/// nullptr: not known, or the operator is no such function.
[[nodiscard]] const Invertible* inverse_of(const Node& node);

}  // namespace relayout
