// The floating-point types that folds know (float32, float64, float16, bfloat16): the unit in the last place (ULP) of a value, and
// conversion of elements to double.

#include "proof/float_types.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/positions.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Fraction bits, and the exponent of the smallest normal number.
struct Precision {
  int fraction, least;
};

Precision precision_of(DataType type) noexcept {
  switch (type) {
    case DataType::float64:
      return {52, -1022};
    case DataType::float16:
      return {10, -14};
    case DataType::bfloat16:
      return {7, -126};
    default:
      return {23, -126};
  }
}

}  // namespace

bool is_real(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 || type == DataType::bfloat16;
}

double ulp(double value, DataType type) noexcept {
  if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
  const Precision precision = precision_of(type);
  const int exponent = value == 0 ? precision.least : std::max(std::ilogb(value), precision.least);
  return std::ldexp(1.0, exponent - precision.fraction);
}

double spacing(double value, long double other, DataType type) noexcept {
  const double above = ulp(value, type);
  if (!std::isfinite(value) || std::abs(other) >= std::abs(static_cast<long double>(value))) return above;
  int exponent = 0;
  const bool is_power = std::abs(std::frexp(value, &exponent)) == 0.5;
  return is_power && exponent - 1 > precision_of(type).least ? above / 2 : above;
}

int fraction_bits(DataType type) noexcept {
  return precision_of(type).fraction;
}

std::vector<double> to_doubles(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<double> out(as_size(dense.element_count()));
  to_doubles(dense.type(), dense.bytes(), out.size(), out.data());
  return out;
}

void to_doubles(DataType type, const std::byte* elements, std::size_t count, double* out) {
  const auto widen = [&]<class T>(const T* from, auto convert) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(convert(from[i]));
  };
  switch (type) {
    case DataType::float64:
      return widen(reinterpret_cast<const double*>(elements), [](double x) { return x; });
    case DataType::float16:
      return widen(reinterpret_cast<const uint16_t*>(elements), half_to_float);
    case DataType::bfloat16:
      return widen(reinterpret_cast<const uint16_t*>(elements), bfloat16_to_float);
    default:
      return widen(reinterpret_cast<const float*>(elements), [](float x) { return x; });
  }
}

}  // namespace relayout::proof
