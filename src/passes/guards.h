#pragma once

#include <vector>

#include "passes/affine.h"
#include "passes/pass.h"
#include "relayout/types.h"

namespace relayout::passes {

/// One of these affines, in the order in which they are applied, that adds a guard which a bias would round away, or nullptr. A guard is
/// the constant of an Add or Sub that keeps the operand of a Log off the end of its domain (or that of Sqrt, Reciprocal, Pow, a divisor …).
/// Fewer than half of its bits survive in an element of `bias`, the operator's bias after all affines, in full precision. A shift that
/// comes later in the row rounds the guard in the model too.
[[nodiscard]] const AffineNode* lost_guard(const std::vector<AffineNode>& affines, const std::vector<double>& bias, std::size_t channels,
                                           DataType type, PassContext& context);

}  // namespace relayout::passes
