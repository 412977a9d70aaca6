#pragma once

#include <string>

#include "proof/affine_steps.h"
#include "proof/linear.h"
#include "proof/side.h"

namespace relayout::proof {

/// The reason why two linear operators with affines downstream are no fold of each other, although their constants are equal within
/// rounding: the constant of an Add or Sub in one model keeps the operand of a Log off the end of its domain (or that of Sqrt, Reciprocal,
/// Pow, a divisor …), and less than half of its bits are left in the sums of the other model. Empty if no guard is lost.
[[nodiscard]] std::string rounded_guard(Side& a, const Steps& steps_a, const Linear& linear_a, Side& b, const Steps& steps_b,
                                        const Linear& linear_b);

}  // namespace relayout::proof
