#pragma once

#include <variant>

#include "passes/fold.h"
#include "passes/fold_obstacles.h"
#include "passes/match.h"

namespace relayout::passes {

/// Arithmetic of a fold: the branch's operator after it has absorbed the affines downstream of it (applied to its result) or upstream of it
/// (applied to its data). Refused when the affines are not per channel, when an upstream shift would have to reach padding, or when the
/// numbers leave their range. Error{invalid} for a BatchNormalization with a different number of channels.
[[nodiscard]] std::variant<Absorption, Skip> absorb_behind(const Branch& branch, PassContext& context);
[[nodiscard]] std::variant<Absorption, Skip> absorb_in_front(const Branch& branch, PassContext& context);

}  // namespace relayout::passes
