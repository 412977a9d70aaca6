#pragma once

#include <variant>

#include "passes/fold.h"
#include "passes/fold_obstacles.h"
#include "passes/match.h"

namespace relayout::passes {

/// The arithmetic of a fold: what the branch's operator becomes with the affines behind it (of its result) or in front of it (of its
/// data). A refusal when they are not per channel, a shift in front would have to reach padding, or the numbers leave their range.
/// Error{invalid} for a BatchNormalization of another number of channels.
[[nodiscard]] std::variant<Absorption, Skip> absorb_behind(const Branch& branch, PassContext& context);
[[nodiscard]] std::variant<Absorption, Skip> absorb_in_front(const Branch& branch, PassContext& context);

}  // namespace relayout::passes
