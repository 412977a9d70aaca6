#pragma once

#include <cstddef>
#include <span>

#include "model/tensor_data.h"
#include "relayout/tensor.h"

namespace relayout::passes {

/// A tensor of a scalable type, each element rounded once.
[[nodiscard]] TensorData from_doubles(DataType type, Dims dims, std::span<const double> values);
/// Elements as a file stores them, widened exactly; `out` has one place for each.
void widen(DataType type, std::span<const std::byte> bytes, std::span<double> out);
/// Sum of stored elements in double.
[[nodiscard]] double sum_of(DataType type, std::span<const std::byte> bytes);
/// The distance between `magnitude` (not negative) and the next larger number of a scalable type.
[[nodiscard]] double spacing_at(DataType type, double magnitude) noexcept;

}  // namespace relayout::passes
