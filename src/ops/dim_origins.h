#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ops/call.h"
#include "ops/partial_dims.h"

namespace relayout {

/// An axis of an operand, counted from the front.
struct DimOrigin {
  std::size_t input = 0;
  int64_t axis = 0;
};

/// The operand's axis that has as many elements as an axis of an output, whatever they are; nothing where none certainly has.
[[nodiscard]] std::optional<DimOrigin> origin_of_dim(const OpCall& call, std::size_t output, int64_t axis, PartialOperands& operands);

/// The operand's element that is an element of an output, both counted in row-major order, of operators that only select and join; nothing
/// for others.
[[nodiscard]] std::optional<DimOrigin> origin_of_element(const OpCall& call, std::size_t output, int64_t place, PartialOperands& operands);

}  // namespace relayout
