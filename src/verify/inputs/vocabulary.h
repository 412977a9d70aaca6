#pragma once

#include <cstddef>
#include <vector>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Numbers of an input at which its model decides: the constants that it is compared with, and numbers on both sides of them; those that
/// become 0 or 1 as conditions; first and last position of what it indexes; the divisors of its remainders. Each is carried back through
/// arithmetic with constants, through branches, loops and functions. Constants that nodes are equal to come first.
[[nodiscard]] std::vector<double> vocabulary_of(const Value& input);

/// An operator between an input and a value downstream of it: one operand varies, the others are constants.
struct NumberStep {
  const Node* node = nullptr;
  std::size_t operand = 0;              ///< the operand that varies
  std::vector<double> constants;        ///< numbers of the other one, each once; none: the node has no other
  DataType type = DataType::undefined;  ///< of the result
};

/// Whether numbers can be carried back through an operator.
[[nodiscard]] bool carries_numbers(const Node& node, std::size_t operand);
/// Whether it may give other numbers than those of the operand, within limits.
[[nodiscard]] bool changes_numbers(const Node& node);
/// Numbers of the operand that may give this number.
[[nodiscard]] std::vector<double> operands_for(const NumberStep& step, double result);
/// Numbers of an input of this type for which the steps, in order, give `result`: those that give it exactly, where rounding permits; else
/// those nearest to it. Integers: both neighbours of a number between.
[[nodiscard]] std::vector<double> carry_back(const std::vector<const NumberStep*>& steps, DataType type, double result);
/// The number as an element of this type; integers truncate.
[[nodiscard]] double as_stored(DataType type, double number);

}  // namespace relayout
