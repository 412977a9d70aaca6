#pragma once

#include <cstddef>
#include <optional>

#include "ops/op_call.h"
#include "ops/partial_dims.h"

namespace relayout {

/// What is certain about the contents of an output of `call.node`, where they are few: an operator that moves elements moves those that
/// are certain, one that computes element by element computes with them, and Shape hands on the dims that are certain. Nothing for
/// operators that are never evaluated (why_never_evaluated) and for other results.
[[nodiscard]] std::optional<PartialContents> partial_contents(const OpCall& call, std::size_t output, PartialOperands& operands);

}  // namespace relayout
