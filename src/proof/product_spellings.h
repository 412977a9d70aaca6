#pragma once

#include <optional>

#include "proof/linear.h"
#include "proof/shapes.h"
#include "proof/side.h"

namespace relayout::proof {

/// Whether the node hands its first operand on under other dims, element after element in the same row-major order.
[[nodiscard]] bool is_reshaping(const Node& node);
/// The dims of a value when each of them is certain.
[[nodiscard]] std::optional<Dims> certain_dims(Shapes& shapes, Ref ref);

/// A MatMul with a constant matrix on its right, or a Gemm that is one with a bias, both seen as such a MatMul: the product of the last
/// axis of `data` with `weight` [inputs, outputs]. Nothing for any other node.
[[nodiscard]] std::optional<Linear> read_product(Side& side, Shapes& shapes, Ref output);

}  // namespace relayout::proof
