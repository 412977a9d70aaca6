#pragma once

#include <string>
#include <vector>

#include "proof/chain.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::proof {

/// The reason why two linear operators with affines downstream are no fold of each other, although their constants are equal within
/// rounding: the constant of an Add or Sub in one model keeps the operand of a Log off the end of its domain (or that of Sqrt, Reciprocal,
/// Pow, a divisor …), and less than half of its bits are left in the sums of the other model. Empty if no guard is lost.
[[nodiscard]] std::string rounded_guard(Side& a, const Steps& steps_a, const Linear& linear_a, Side& b, const Steps& steps_b,
                                        const Linear& linear_b);

/// A node whose result leaves its type, while a result downstream, of the same number x, is far from the end of its own: above the largest
/// number, or below the least one that has all bits.
struct Overflow {
  const Node* node = nullptr;
  const Value* base = nullptr;  ///< with the elements x
  double from = 0;              ///< the least |x|, or the largest one with is_low, as a power of two
  bool is_low = false;
  bool is_multiplied = false;  ///< weights of a linear operator undo the factor, into which a fold may bring it
  bool is_summed = false;      ///< only sums of numbers of one sign overflow
};

/// "overflows from about 1000 on" or "has fewer bits up to about 0.5".
[[nodiscard]] std::string text_of(const Overflow& overflow);

/// The overflows that one of two models alone has, by constant factors and powers, from everyday numbers.
struct Overflows {
  std::vector<Overflow> of_a, of_b;
};
[[nodiscard]] Overflows overflows_alone(const Model& a, const Model& b);

}  // namespace relayout::proof
