#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Multiply-accumulates of a convolution, Gemm or MatMul; 0 for operators that multiply nothing to speak of. Nothing when `dims_of` gives
/// nullptr for an operand or the result, they do not fit, or the number is beyond 64 bits.
[[nodiscard]] std::optional<int64_t> macs_of(const Node& node, const std::function<const Dims*(const Value*)>& dims_of);

}  // namespace relayout
