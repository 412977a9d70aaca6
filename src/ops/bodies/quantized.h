#pragma once

#include <cstddef>

#include "ops/body.h"

namespace relayout::bodies {

/// The values that input `value` means, by the scale and the zero point behind it (which may be absent).
[[nodiscard]] Body::Name dequantized(Body& body, std::size_t value);
/// `real` by the scale in input `scale` and the zero point behind it; without one: zero, of the element type of input `like`.
[[nodiscard]] Body::Name quantized(Body& body, const Body::Name& real, std::size_t scale, std::size_t like);
/// An image of `rank` dims with its channels, which are last, behind the batch; and back.
[[nodiscard]] Body::Name channels_to_front(Body& body, const Body::Name& value, std::size_t rank);
[[nodiscard]] Body::Name channels_to_back(Body& body, const Body::Name& value, std::size_t rank);

}  // namespace relayout::bodies
