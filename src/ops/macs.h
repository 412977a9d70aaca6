#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Dims of an operand or result; nullptr where they are not known.
using DimsOf = std::function<const Dims*(const Value*)>;

/// Multiply-accumulates of a convolution, Gemm, MatMul or recurrent operator; 0 for operators with no or few multiplications. Nothing when
/// dims that are needed are unknown or do not fit, or the number exceeds 64 bits.
[[nodiscard]] std::optional<int64_t> macs_of(const Node& node, const DimsOf& dims_of);

}  // namespace relayout
