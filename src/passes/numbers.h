#pragma once

#include <span>
#include <vector>

#include "model/tensor_data.h"
#include "relayout/tensor.h"

namespace relayout {

/// Whether factors can be applied to elements of this type: f32, f64, f16, bf16.
[[nodiscard]] bool is_scalable(DataType type) noexcept;
/// `value` rounded once to a scalable type, widened again; beyond the range: infinite.
[[nodiscard]] double rounded(DataType type, double value) noexcept;
/// Smallest normal number of a scalable type.
[[nodiscard]] double smallest_normal(DataType type) noexcept;
/// All elements of a tensor of a scalable type in row-major order, widened exactly.
[[nodiscard]] std::vector<double> to_doubles(const Tensor& tensor);
/// A tensor of a scalable type, each element rounded once.
[[nodiscard]] TensorData from_doubles(DataType type, Dims dims, std::span<const double> values);
/// Elements as a file stores them, widened exactly; `out` has one place for each.
void widen(DataType type, std::span<const std::byte> bytes, std::span<double> out);
/// Their sum in double.
[[nodiscard]] double sum_of(DataType type, std::span<const std::byte> bytes);
/// The distance between `magnitude` (not negative) and the next larger number of a scalable type.
[[nodiscard]] double spacing_at(DataType type, double magnitude) noexcept;
/// The largest finite |element| among `bytes` of elements as a file stores them; 0 when there is none.
[[nodiscard]] double largest_magnitude(DataType type, std::span<const std::byte> bytes);

}  // namespace relayout
