#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/half.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Elements of the floating-point types to which factors can be applied, as stored in files: exact conversion to double, and conversion
/// from double with one rounding.
struct Single {
  using Bits = float;
  static double load(float value) { return static_cast<double>(value); }
  static float store(double value) { return static_cast<float>(value); }
};
struct Double {
  using Bits = double;
  static double load(double value) { return value; }
  static double store(double value) { return value; }
};
struct Half {
  using Bits = uint16_t;
  static double load(uint16_t bits) { return static_cast<double>(half_to_float(bits)); }
  static uint16_t store(double value) { return double_to_half(value); }
};
struct BrainHalf {
  using Bits = uint16_t;
  static double load(uint16_t bits) { return static_cast<double>(bfloat16_to_float(bits)); }
  static uint16_t store(double value) { return double_to_bfloat16(value); }
};

/// Calls f with the format of a scalable type.
template <class F>
auto with_format(DataType type, const F& f) {
  switch (type) {
    case DataType::float32:
      return f(Single{});
    case DataType::float64:
      return f(Double{});
    case DataType::float16:
      return f(Half{});
    case DataType::bfloat16:
      return f(BrainHalf{});
    default:
      fail(ErrorKind::defect, "arithmetic on elements of type " + std::string(name_of(type)));
  }
}

/// Whether factors can be applied to elements of this type: f32, f64, f16, bf16.
[[nodiscard]] bool is_scalable(DataType type) noexcept;
/// `value` rounded once to a scalable type and widened to double; infinite beyond the range of the type.
[[nodiscard]] double rounded(DataType type, double value) noexcept;
/// Smallest normal number of a scalable type.
[[nodiscard]] double smallest_normal(DataType type) noexcept;
/// The largest finite |element| among elements stored as in a file; 0 when there is none.
[[nodiscard]] double largest_magnitude(DataType type, std::span<const std::byte> bytes);
/// The largest finite |w| and |w · factor| among the weights of one output channel. Products are exact; the functions tell the effect of
/// rounding them to a type.
struct ChannelRange {
  double magnitude = 0, product = 0;
  bool has_factor = false;  ///< a factor is not zero

  void note(double found, double factor);
  void note(const ChannelRange& other);
  /// Whether a finite weight becomes infinite.
  [[nodiscard]] bool overflows(DataType type) const noexcept;
  /// Whether the largest weight is normal but non-zero factors leave only subnormal weights or zeros.
  [[nodiscard]] bool vanishes(DataType type) const noexcept;
};

/// Elements as a file stores them, as exact doubles; `out` has one place for each.
void to_doubles(DataType type, std::span<const std::byte> bytes, std::span<double> out);
/// A tensor of a scalable type, each element rounded once.
[[nodiscard]] TensorData from_doubles(DataType type, Dims dims, std::span<const double> values);
/// Sum of stored elements in double.
[[nodiscard]] double sum_of_elements(DataType type, std::span<const std::byte> bytes);
/// The distance between `magnitude` (not negative) and the next larger number of a scalable type.
[[nodiscard]] double spacing_at(DataType type, double magnitude) noexcept;

/// to[i] = from[i] · factor, computed in double and rounded once; `from` may be `to` when the types are the same.
void multiply(DataType source, const std::byte* from, DataType type, std::byte* to, int64_t count, double factor);

}  // namespace relayout
