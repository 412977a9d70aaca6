#include "base/half.h"

#include <gtest/gtest.h>

#include <limits>

namespace relayout {
namespace {

/// The value of a float of `exponent_bits` and `mantissa_bits` by the definition of IEEE 754.
double by_definition(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

struct Format {
  int exponent_bits, mantissa_bits;
  float (*load)(uint16_t) noexcept;
  uint16_t (*store)(double) noexcept;
};

class Half : public testing::TestWithParam<Format> {};

TEST_P(Half, EveryValueLoadsAsDefinedAndStoresAsItself) {
  const Format format = GetParam();
  for (uint32_t i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const double expected = by_definition(bits, format.exponent_bits, format.mantissa_bits);
    const auto loaded = static_cast<double>(format.load(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(loaded)) << i;
      ASSERT_TRUE(std::isnan(format.load(format.store(loaded)))) << i;
      continue;
    }
    ASSERT_EQ(loaded, expected) << i;
    ASSERT_EQ(std::signbit(loaded), std::signbit(expected)) << i;
    ASSERT_EQ(format.store(expected), bits) << i;
  }
}

/// A value is rounded to the nearer of its two neighbours and, exactly in the middle, to the even one. The smallest offset from the middle
/// decides.
TEST_P(Half, RoundsOnceToNearestEven) {
  const Format format = GetParam();
  const int infinity = ((1 << format.exponent_bits) - 1) << format.mantissa_bits;
  for (int i = 0; i + 1 < infinity; ++i) {
    const auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
    const double a = by_definition(low, format.exponent_bits, format.mantissa_bits);
    const double b = by_definition(high, format.exponent_bits, format.mantissa_bits);
    const double middle = (a + b) / 2;
    const uint16_t even = (low & 1) == 0 ? low : high;
    ASSERT_EQ(format.store(middle), even) << i;
    ASSERT_EQ(format.store(std::nextafter(middle, 0)), low) << i;
    ASSERT_EQ(format.store(std::nextafter(middle, 1e300)), high) << i;
    ASSERT_EQ(format.store(-std::nextafter(middle, 1e300)), high | 0x8000) << i;
  }
}

TEST_P(Half, BeyondTheRange) {
  const Format format = GetParam();
  const auto infinity = static_cast<uint16_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
  EXPECT_EQ(format.store(1e300), infinity);
  EXPECT_EQ(format.store(-1e300), infinity | 0x8000);
  EXPECT_EQ(format.store(std::numeric_limits<double>::infinity()), infinity);
  EXPECT_EQ(format.store(1e-300), 0);
  EXPECT_EQ(format.store(-1e-300), 0x8000);
  const double largest = by_definition(static_cast<uint16_t>(infinity - 1), format.exponent_bits, format.mantissa_bits);
  const double step = largest - by_definition(static_cast<uint16_t>(infinity - 2), format.exponent_bits, format.mantissa_bits);
  EXPECT_EQ(format.store(largest + step / 2), infinity);
  EXPECT_EQ(format.store(std::nextafter(largest + step / 2, 0)), infinity - 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, Half,
                         testing::Values(Format{5, 10, half_to_float, double_to_half}, Format{8, 7, bfloat16_to_float, double_to_bfloat16}),
                         [](const auto& instance) { return instance.param.exponent_bits == 5 ? "Float16" : "BFloat16"; });

}  // namespace
}  // namespace relayout
