#pragma once

#include <string_view>

#include "relayout/graph.h"

namespace relayout {

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
