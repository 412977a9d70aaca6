#pragma once

#include <optional>

#include "model/attributes.h"
#include "ops/constants.h"
#include "passes/match.h"
#include "relayout/graph.h"

namespace relayout::passes {

/// Why a BatchNormalization uses batch statistics: versions 1 and 6 state it by is_test, 7 and 9 by the number of outputs, 14 and newer by
/// training_mode or the number of outputs. Nothing in inference.
[[nodiscard]] std::optional<Skip> why_trains(const Node& norm, const Attributes& attributes);
/// Whether a BatchNormalization of a function uses batch statistics in this call, which may give attributes.
[[nodiscard]] bool trains_in_call(const Node& norm, const Node& call);
/// Whether a Dropout passes its operand on.
[[nodiscard]] bool keeps_all(const Node& dropout, Constants& constants);

}  // namespace relayout::passes
