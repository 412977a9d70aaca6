// Rounds numbers to 16-bit types, to nearest even and once, and widens them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace relayout {

/// Conversions of the 16-bit float types (float16 and bfloat16, given by their bits) from and to float and double, rounded to nearest even.
/// Conversion to float is exact; conversion from float and double rounds once (IEEE 754; overflow gives infinity).

/// `value` as a float whose rounding to 16 bits equals that of `value` itself: rounding to odd preserves ties.
[[nodiscard]] inline uint32_t round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  const auto back = static_cast<double>(nearest);
  const uint32_t towards_zero = std::fabs(back) > std::fabs(value) ? bits - 1 : bits;
  return back == value || std::isnan(value) ? bits : towards_zero | 1U;  // without branches, so that loops are vectorized
}

[[nodiscard]] inline float half_to_float(uint16_t half) noexcept {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16U;
  // 2^112 moves the exponent from bias 15 to bias 127, subnormals included; infinity and NaN become 2^16 and above.
  const float scaled = std::bit_cast<float>(static_cast<uint32_t>(half & 0x7FFFU) << 13U) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled) | (scaled >= 0x1p16F ? 0x7F800000U : 0U));
}

[[nodiscard]] inline uint16_t float_to_half(float value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16U & 0x8000U;
  uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U | (magnitude >> 13U & 0x1FFU));  // NaN, quiet
  if (magnitude >= 0x47800000U) return static_cast<uint16_t>(sign | 0x7C00U);                               // 2^16 and above
  if (magnitude < 0x38800000U) {                                                                            // below 2^-14: subnormal
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;  // aligns the last bit of a half with the last bit of a float
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  magnitude += 0xC8000000U + 0xFFFU + (magnitude >> 13U & 1U);  // exponent from bias 127 to 15; half of the last place, ties to even
  return static_cast<uint16_t>(sign | magnitude >> 13U);
}

[[nodiscard]] inline uint16_t double_to_half(double value) noexcept {
  return float_to_half(std::bit_cast<float>(round_to_odd(value)));
}

[[nodiscard]] inline float bfloat16_to_float(uint16_t value) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16U);
}

[[nodiscard]] inline uint16_t float_to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16U | 0x40U);  // quiet
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

[[nodiscard]] inline uint16_t double_to_bfloat16(double value) noexcept {
  return float_to_bfloat16(std::bit_cast<float>(round_to_odd(value)));
}

}  // namespace relayout
