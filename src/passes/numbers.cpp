// Elements of 16-, 32- and 64-bit floating-point tensors as doubles and back, with the spacing of their types: folds round once, at the
// end.

#include "passes/numbers.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/positions.h"
#include "model/bytes.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Calls `action` with a value of the storage type and the two conversions.
template <class Action>
auto dispatch(DataType type, const Action& action) {
  switch (type) {
    case DataType::float32:
      return action(float{}, [](float x) { return static_cast<double>(x); }, [](double x) { return static_cast<float>(x); });
    case DataType::float64:
      return action(double{}, [](double x) { return x; }, [](double x) { return x; });
    case DataType::float16:
      return action(
          uint16_t{}, [](uint16_t x) { return static_cast<double>(half_to_float(x)); }, [](double x) { return double_to_half(x); });
    case DataType::bfloat16:
      return action(
          uint16_t{}, [](uint16_t x) { return static_cast<double>(bfloat16_to_float(x)); }, [](double x) { return double_to_bfloat16(x); });
    default:
      fail(ErrorKind::defect, "arithmetic on elements of type " + std::string(name_of(type)));
  }
}

/// By the bits: the order of magnitudes is that of the bits without sign, and `infinity` is where the non-finite ones begin.
template <class Bits, class Signed>
Bits largest_bits(std::span<const std::byte> bytes, Bits infinity) {
  // Signed comparison has vector instructions everywhere; without the sign bit the order is the same.
  Signed largest = 0;
  const std::size_t count = bytes.size() / sizeof(Bits);
  const auto mask = static_cast<Bits>(~Bits{0} >> 1U);
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    const auto magnitude = static_cast<Signed>(bits & mask);
    const Signed finite = magnitude < static_cast<Signed>(infinity) ? magnitude : Signed{0};
    largest = finite > largest ? finite : largest;
  }
  return static_cast<Bits>(largest);
}

}  // namespace

bool is_scalable(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 || type == DataType::bfloat16;
}

double rounded(DataType type, double value) noexcept {
  return dispatch(type, [&](auto, const auto& widen, const auto& round) { return widen(round(value)); });
}

double smallest_normal(DataType type) noexcept {
  switch (type) {
    case DataType::float16:
      return 0x1p-14;
    case DataType::float64:
      return DBL_MIN;
    default:
      return static_cast<double>(FLT_MIN);  // bfloat16 has float's exponents
  }
}

std::vector<double> to_doubles(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<double> out(as_size(dense.element_count()));
  dispatch(dense.type(), [&]<class T>(T, const auto& widen, const auto&) {
    std::transform(dense.data<T>(), dense.data<T>() + out.size(), out.begin(), widen);
  });
  return out;
}

void widen(DataType type, std::span<const std::byte> bytes, std::span<double> out) {
  dispatch(type, [&]<class T>(T, const auto& widen_one, const auto&) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      T element{};
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      out[i] = widen_one(element);
    }
  });
}

double sum_of(DataType type, std::span<const std::byte> bytes) {
  double sum = 0;
  dispatch(type, [&]<class T>(T, const auto& widen_one, const auto&) {
    for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
      T element{};
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      sum += widen_one(element);
    }
  });
  return sum;
}

double spacing_at(DataType type, double magnitude) noexcept {
  int fraction_bits = 23;
  if (type == DataType::float64) fraction_bits = 52;
  if (type == DataType::float16) fraction_bits = 10;
  if (type == DataType::bfloat16) fraction_bits = 7;
  const int lowest = std::ilogb(smallest_normal(type));
  return std::ldexp(1.0, std::max(magnitude > 0 ? std::ilogb(magnitude) : lowest, lowest) - fraction_bits);
}

TensorData from_doubles(DataType type, Dims dims, std::span<const double> values) {
  std::vector<std::byte> bytes;
  dispatch(type, [&]<class T>(T, const auto&, const auto& round) {
    bytes.resize(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T element = round(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return {type, std::move(dims), Bytes::owned(std::move(bytes))};
}

double largest_magnitude(DataType type, std::span<const std::byte> bytes) {
  switch (type) {
    case DataType::float32:
      return static_cast<double>(std::bit_cast<float>(largest_bits<uint32_t, int32_t>(bytes, 0x7F800000U)));
    case DataType::float64:
      return std::bit_cast<double>(largest_bits<uint64_t, int64_t>(bytes, 0x7FF0000000000000U));
    case DataType::float16:
      return static_cast<double>(half_to_float(largest_bits<uint16_t, int16_t>(bytes, 0x7C00U)));
    default:
      return static_cast<double>(bfloat16_to_float(largest_bits<uint16_t, int16_t>(bytes, 0x7F80U)));
  }
}

}  // namespace relayout
