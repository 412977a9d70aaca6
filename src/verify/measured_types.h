#pragma once

#include "relayout/types.h"

namespace relayout {

/// Half an ULP of 1 in this type, the largest relative error of one rounding.
[[nodiscard]] double unit_roundoff(DataType type) noexcept;
/// The type of the larger unit roundoff; the first if both are equal.
[[nodiscard]] DataType coarser(DataType a, DataType b) noexcept;
/// The type whose rounding the bounds of a value allow: its own, or `grain` if the value is measured and that is coarser.
[[nodiscard]] DataType type_of_floor(DataType type, DataType grain) noexcept;
/// Floating-point types of 16 bits and fewer.
[[nodiscard]] bool is_narrow(DataType type) noexcept;
/// The least bound of a type, relative to the range of a sample: rules::kLeastBound…
[[nodiscard]] double dtype_minimum(DataType type) noexcept;

}  // namespace relayout
