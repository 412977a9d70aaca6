#include "ops/dtypes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <vector>

#include "relayout/types.h"

namespace relayout {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Layout of a narrow format, and which of its codes are not finite (IEEE 754; OCP 8-bit floating point; ONNX's float8 table).
struct Layout {
  DataType type;
  int exponent_bits, mantissa_bits, bias;
  double largest;
};

const std::vector<Layout> kLayouts{
    {DataType::float16, 5, 10, 15, 65504},   {DataType::bfloat16, 8, 7, 127, 3.3895313892515355e38},
    {DataType::float8e4m3fn, 4, 3, 7, 448},  {DataType::float8e4m3fnuz, 4, 3, 8, 240},
    {DataType::float8e5m2, 5, 2, 15, 57344}, {DataType::float8e5m2fnuz, 5, 2, 16, 57344},
    {DataType::float4e2m1, 2, 1, 1, 6},
};

/// The finite value of a code by the definition of the format.
double value_of(const Layout& layout, uint32_t code) {
  const uint32_t mantissa_mask = (1U << static_cast<unsigned>(layout.mantissa_bits)) - 1,
                 exponent_mask = (1U << static_cast<unsigned>(layout.exponent_bits)) - 1;
  const uint32_t mantissa = code & mantissa_mask, exponent = (code >> static_cast<unsigned>(layout.mantissa_bits)) & exponent_mask;
  const bool negative = (code >> static_cast<unsigned>(layout.mantissa_bits + layout.exponent_bits)) != 0;
  const double fraction = static_cast<double>(mantissa) / static_cast<double>(mantissa_mask + 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - layout.bias) : std::ldexp(1 + fraction, static_cast<int>(exponent) - layout.bias);
  return negative ? -magnitude : magnitude;
}

uint32_t code_count(const Layout& layout) {
  return 1U << static_cast<unsigned>(1 + layout.exponent_bits + layout.mantissa_bits);
}

TEST(SmallFloats, DecodeByDefinition) {
  for (const Layout& layout : kLayouts) {
    for (uint32_t code = 0; code < code_count(layout); ++code) {
      const float decoded = decode_small_float(layout.type, static_cast<uint16_t>(code));
      if (!std::isfinite(decoded)) continue;  // which codes these are: below
      ASSERT_EQ(decoded, value_of(layout, code)) << name_of(layout.type) << " " << code;
    }
    EXPECT_EQ(decode_small_float(layout.type, encode_small_float(layout.type, layout.largest, false)), static_cast<float>(layout.largest));
  }
}

TEST(SmallFloats, SpecialCodes) {
  const auto decoded = [](DataType type, uint16_t code) { return decode_small_float(type, code); };
  EXPECT_EQ(decoded(DataType::float16, 0x7C00), static_cast<float>(kInfinity));
  EXPECT_TRUE(std::isnan(decoded(DataType::float16, 0x7C01)));
  EXPECT_EQ(decoded(DataType::bfloat16, 0xFF80), static_cast<float>(-kInfinity));
  EXPECT_TRUE(std::isnan(decoded(DataType::float8e4m3fn, 0x7F)) && std::isnan(decoded(DataType::float8e4m3fn, 0xFF)));
  EXPECT_EQ(decoded(DataType::float8e4m3fn, 0x7E), 448);
  EXPECT_TRUE(std::isnan(decoded(DataType::float8e4m3fnuz, 0x80)));
  EXPECT_EQ(decoded(DataType::float8e4m3fnuz, 0x7F), 240);
  EXPECT_EQ(decoded(DataType::float8e5m2, 0x7C), static_cast<float>(kInfinity));
  EXPECT_TRUE(std::isnan(decoded(DataType::float8e5m2, 0x7D)));
  EXPECT_TRUE(std::isnan(decoded(DataType::float8e5m2fnuz, 0x80)));
  EXPECT_EQ(decoded(DataType::float8e5m2fnuz, 0x7F), 57344);
  EXPECT_EQ(decoded(DataType::float8e8m0, 127), 1);
  EXPECT_TRUE(std::isnan(decoded(DataType::float8e8m0, 0xFF)));
}

/// Nearest by search over all finite values; of two equally near the even code.
TEST(SmallFloats, EncodeIsNearestEven) {
  for (const Layout& layout : kLayouts) {
    std::map<double, uint32_t> finite;  // not negative
    for (uint32_t code = 0; code < code_count(layout) / 2; ++code) {
      const float value = decode_small_float(layout.type, static_cast<uint16_t>(code));
      if (std::isfinite(value)) finite[static_cast<double>(value)] = code;
    }
    const std::size_t stride = finite.size() > 2000 ? 37 : 1;
    std::size_t number = 0;
    for (auto low = finite.begin(); std::next(low) != finite.end(); ++low) {
      if (number++ % stride != 0) continue;
      const auto high = std::next(low);
      const double middle = (low->first + high->first) / 2;
      const uint32_t even = low->second % 2 == 0 ? low->second : high->second;
      ASSERT_EQ(encode_small_float(layout.type, middle, true), even) << name_of(layout.type) << " " << middle;
      ASSERT_EQ(encode_small_float(layout.type, std::nextafter(middle, 0), true), low->second);
      ASSERT_EQ(encode_small_float(layout.type, std::nextafter(middle, kInfinity), true), high->second);
      ASSERT_EQ(encode_small_float(layout.type, low->first, true), low->second);
    }
  }
}

/// ONNX Cast 19: what is out of range, with and without saturation.
TEST(SmallFloats, OutOfRange) {
  for (const Layout& layout : kLayouts) {
    const auto round_trip = [&](double value, bool saturate) {
      return decode_small_float(layout.type, encode_small_float(layout.type, value, saturate));
    };
    EXPECT_EQ(round_trip(2 * layout.largest, true), static_cast<float>(layout.largest)) << name_of(layout.type);
    EXPECT_EQ(round_trip(-kInfinity, true), static_cast<float>(-layout.largest)) << name_of(layout.type);
    const float beyond = round_trip(2 * layout.largest, false);
    const bool has_infinity = layout.type == DataType::float16 || layout.type == DataType::bfloat16 || layout.type == DataType::float8e5m2;
    if (has_infinity) {
      EXPECT_EQ(beyond, static_cast<float>(kInfinity)) << name_of(layout.type);
    } else if (layout.type == DataType::float4e2m1) {
      EXPECT_EQ(beyond, 6);
    } else {
      EXPECT_TRUE(std::isnan(beyond)) << name_of(layout.type);
    }
    if (layout.type != DataType::float4e2m1) {
      EXPECT_TRUE(std::isnan(round_trip(std::nan(""), true))) << name_of(layout.type);
    }
  }
  EXPECT_EQ(encode_small_float(DataType::float8e4m3fnuz, -1e-30, true), 0);  // there is no −0
  EXPECT_EQ(encode_small_float(DataType::float8e4m3fn, -1e-30, true), 0x80);
}

template <class Domain>
double stored(DataType type, Domain value) {
  std::byte memory[16] = {};
  store_one(type, memory, value);
  return load_one<double>(type, memory);
}

TEST(Conversions, IntegersKeepTheirLowBits) {
  EXPECT_EQ(stored(DataType::int8, int64_t{200}), -56);
  EXPECT_EQ(stored(DataType::uint8, int64_t{-1}), 255);
  EXPECT_EQ(stored(DataType::int16, int64_t{98304}), -32768);
  EXPECT_EQ(stored(DataType::int4, int64_t{9}), -7);
  EXPECT_EQ(stored(DataType::uint4, int64_t{-3}), 13);
  EXPECT_EQ(stored(DataType::int2, int64_t{2}), -2);
}

TEST(Conversions, FloatsToIntegersTruncateAndSaturate) {
  EXPECT_EQ(stored(DataType::int32, 2.9), 2);
  EXPECT_EQ(stored(DataType::int32, -2.9), -2);
  EXPECT_EQ(stored(DataType::int32, 3e9), 2147483647);
  EXPECT_EQ(stored(DataType::uint8, -5.0), 0);
  EXPECT_EQ(stored(DataType::int8, std::nan("")), 0);
  std::byte memory[8];
  store_one(DataType::int64, memory, 1e300);
  EXPECT_EQ(load_one<int64_t>(DataType::int64, memory), INT64_MAX);
  store_one(DataType::uint64, memory, kInfinity);
  EXPECT_EQ(load_one<uint64_t>(DataType::uint64, memory), UINT64_MAX);
}

TEST(Conversions, WideIntegersRoundOnce) {
  // 2^53 + 1 lies between two doubles; in f32 and bf16 it is 2^53 either way. 2^54 + 2^46 + 1 is just above a tie of bf16.
  EXPECT_EQ(stored(DataType::bfloat16, (int64_t{1} << 54) + (int64_t{1} << 46) + 1), std::ldexp(129, 47));
  EXPECT_EQ(stored(DataType::bfloat16, (int64_t{1} << 54) + (int64_t{1} << 46)), std::ldexp(1, 54));
  EXPECT_EQ(stored(DataType::bfloat16, -(int64_t{1} << 54) - (int64_t{1} << 46) - 1), -std::ldexp(129, 47));
}

TEST(Conversions, BooleansAreNotZero) {
  EXPECT_EQ(stored(DataType::boolean, 0.5), 1);
  EXPECT_EQ(stored(DataType::boolean, std::nan("")), 1);
  EXPECT_EQ(stored(DataType::boolean, -0.0), 0);
  EXPECT_EQ(stored(DataType::boolean, int64_t{256}), 1);
  const std::byte seven{7};
  EXPECT_EQ(load_one<double>(DataType::boolean, &seven), 1);
}

TEST(Conversions, StridesOfAllKinds) {
  const std::vector<float> source{0, 1, 2, 3, 4, 5};
  const auto* bytes = reinterpret_cast<const std::byte*>(source.data());
  std::vector<double> out(3);
  load(DataType::float32, bytes, 2, 3, out.data());
  EXPECT_EQ(out, (std::vector<double>{0, 2, 4}));
  load(DataType::float32, bytes + 4, 0, 3, out.data());
  EXPECT_EQ(out, (std::vector<double>{1, 1, 1}));
  load(DataType::float32, bytes + 20, -2, 3, out.data());
  EXPECT_EQ(out, (std::vector<double>{5, 3, 1}));
}

}  // namespace
}  // namespace relayout
