#pragma once

#include <cstdint>
#include <vector>

#include "relayout/tensor.h"

namespace relayout::proof {

/// Whether folds support the type: float32, float64, float16, bfloat16.
[[nodiscard]] bool is_real(DataType type) noexcept;
/// Distance of a stored value from its neighbour on the side away from zero; infinity for values that are not finite.
[[nodiscard]] double ulp(double value, DataType type) noexcept;
/// Distance of a stored value from its neighbour on the side of `other`: half an ulp() below a power of two.
[[nodiscard]] double spacing(double value, long double other, DataType type) noexcept;
/// Fraction bits: 23 for float32.
[[nodiscard]] int fraction_bits(DataType type) noexcept;
/// Elements of a tensor of a real type.
[[nodiscard]] std::vector<double> to_doubles(const Tensor& tensor);
/// Widens dense elements in memory.
void to_doubles(DataType type, const std::byte* elements, std::size_t count, double* out);

}  // namespace relayout::proof
