#pragma once

#include <optional>

#include "proof/linear.h"
#include "proof/shapes.h"
#include "proof/side.h"

namespace relayout::proof {

/// Whether the node passes on its first operand with different dims, its elements in the same row-major order.
[[nodiscard]] bool is_reshaping(const Node& node);
/// The dims of a value if all of them are certain.
[[nodiscard]] std::optional<Dims> certain_dims(Shapes& shapes, Ref ref);

/// A MatMul with a constant matrix on its right, or an equivalent Gemm with a bias, both as such a MatMul: the product of the last axis of
/// `data` with `weight` [inputs, outputs]. Empty for any other node.
[[nodiscard]] std::optional<Linear> read_product(Side& side, Shapes& shapes, Ref output);

}  // namespace relayout::proof
