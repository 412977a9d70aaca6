#pragma once

#include <cstdint>

#include "model/tensor_data.h"
#include "relayout/types.h"

namespace relayout::passes {

/// The effect of a narrower type on a tensor's elements.
struct Rounding {
  int64_t count = 0;      ///< elements
  int64_t infinite = 0;   ///< finite ones that leave the range
  int64_t zero = 0;       ///< of those that are not 0: become 0
  int64_t subnormal = 0;  ///< of those that are not 0: keep only some of the type's bits
  int64_t normal = 0;     ///< of those that are not 0: keep all of the type's bits
  double largest = 0;     ///< finite magnitude

  /// All nonzero elements within the range would become zero or subnormal.
  [[nodiscard]] bool vanishes() const noexcept { return normal == 0 && zero + subnormal > 0; }
};

/// The magnitude from which on numbers round to infinity in a type of 16 bits (or in float32).
[[nodiscard]] double overflow_of(DataType type);

/// Reads the tensor once, in pieces.
[[nodiscard]] Rounding rounding_of(const TensorData& data, DataType type);

}  // namespace relayout::passes
