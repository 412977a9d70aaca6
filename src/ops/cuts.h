#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ops/bounds.h"
#include "relayout/graph.h"

namespace relayout {

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

}  // namespace relayout
