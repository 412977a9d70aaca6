#pragma once

#include <cstddef>
#include <optional>

#include "ops/op_call.h"
#include "ops/partial_dims.h"

namespace relayout {

/// Certain facts about the contents of an output of `call.node`, where they are few. An operator that moves elements moves certain ones, an
/// elementwise one computes with them, and Shape returns the certain dims. Nothing for operators that are never evaluated
/// (why_never_evaluated) and for other results.
[[nodiscard]] std::optional<PartialContents> partial_contents(const OpCall& call, std::size_t output, PartialOperands& operands);

}  // namespace relayout
