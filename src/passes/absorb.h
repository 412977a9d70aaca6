#pragma once

#include <variant>

#include "passes/fold.h"
#include "passes/fold_obstacles.h"
#include "passes/match.h"

namespace relayout::passes {

/// Arithmetic of a fold: the branch's operator after it has absorbed the affines. It is upstream of them (they apply to its result) or
/// downstream of them (they apply to its data). Refused when the affines are not per channel, when a shift upstream of the operator would
/// have to reach padding, or when the numbers leave their range. Error{invalid} for a BatchNormalization with a different number of
/// channels.
[[nodiscard]] std::variant<Absorption, Skip> absorb_into_upstream(const Branch& branch, PassContext& context);
[[nodiscard]] std::variant<Absorption, Skip> absorb_into_downstream(const Branch& branch, PassContext& context);

}  // namespace relayout::passes
