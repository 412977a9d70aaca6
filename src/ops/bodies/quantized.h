#pragma once

#include <cstddef>

#include "ops/body.h"

namespace relayout::bodies {

/// The real numbers of input `value`, by the scale and the zero point that follow it (the zero point may be absent).
[[nodiscard]] Body::Name dequantized(Body& body, std::size_t value);
/// `real` quantized by the scale in input `scale` and the zero point after it; if that is absent, by zero of the type of input `like`.
[[nodiscard]] Body::Name quantized(Body& body, const Body::Name& real, std::size_t scale, std::size_t like);
/// An image of `rank` dims with its channels moved from the last axis to the one after the batch; and back.
[[nodiscard]] Body::Name channels_to_front(Body& body, const Body::Name& value, std::size_t rank);
[[nodiscard]] Body::Name channels_to_back(Body& body, const Body::Name& value, std::size_t rank);

}  // namespace relayout::bodies
