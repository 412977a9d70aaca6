#include "ops/loops/dtypes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>

#include "relayout/types.h"

namespace relayout {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Layout of a narrow format, and its codes that are not finite (IEEE 754; OCP 8-bit floating point; ONNX's float8 table).
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
      if (!std::isfinite(decoded)) continue;  // non-finite codes are tested below
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

/// The nearest value, by a search over all finite values; of two equally near values, the one with the even code.
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

/// ONNX Cast 19: values out of range, with and without saturation.
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
  // 2^53 + 1 is between two doubles; in f32 and bf16 it is 2^53 either way. 2^54 + 2^46 + 1 is just above a tie of bf16.
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

const std::vector<Layout> kNarrow{kLayouts[0], kLayouts[1]};

TEST(NarrowRuns, EveryCodeAtAnyStride) {
  for (const Layout& layout : kNarrow) {
    for (const int64_t stride : {1, 2, 3, -1}) {
      constexpr int64_t kCodes = 65536;
      std::vector<uint16_t> memory(static_cast<std::size_t>(kCodes * std::abs(stride)));
      const int64_t first = stride < 0 ? (kCodes - 1) * -stride : 0;
      for (int64_t i = 0; i < kCodes; ++i) memory[static_cast<std::size_t>(first + i * stride)] = static_cast<uint16_t>(i);
      const auto* const from = reinterpret_cast<const std::byte*>(memory.data() + first);
      std::vector<double> doubles(kCodes);
      std::vector<float> floats(kCodes);
      load(layout.type, from, stride, kCodes, doubles.data());
      load(layout.type, from, stride, kCodes, floats.data());
      std::vector<uint16_t> back(memory.size()), back_of_floats(memory.size());
      store(layout.type, reinterpret_cast<std::byte*>(back.data() + first), stride, kCodes, doubles.data());
      store(layout.type, reinterpret_cast<std::byte*>(back_of_floats.data() + first), stride, kCodes, floats.data());
      const uint32_t infinity = ((1U << static_cast<unsigned>(layout.exponent_bits)) - 1) << static_cast<unsigned>(layout.mantissa_bits);
      for (uint32_t code = 0; code < kCodes; ++code) {
        const uint32_t magnitude = code & 0x7FFFU;
        const auto at = static_cast<std::size_t>(first + int64_t{code} * stride);
        if (magnitude > infinity) {
          ASSERT_TRUE(std::isnan(doubles[code]) && std::isnan(floats[code])) << code;
          ASSERT_GT(back[at] & 0x7FFFU, infinity) << code;
          ASSERT_GT(back_of_floats[at] & 0x7FFFU, infinity) << code;
          continue;
        }
        const double value = magnitude == infinity ? (code == magnitude ? kInfinity : -kInfinity) : value_of(layout, code);
        ASSERT_EQ(doubles[code], value) << code;
        ASSERT_EQ(floats[code], value) << code;
        ASSERT_EQ(std::signbit(doubles[code]), code >= 0x8000U) << code;
        ASSERT_EQ(back[at], code);
        ASSERT_EQ(back_of_floats[at], code);
      }
    }
  }
}

/// Between two neighbouring codes: the nearer, in the middle the even one; infinity acts as the number after the largest.
TEST(NarrowRuns, EveryIntervalRoundsToNearestEven) {
  for (const Layout& layout : kNarrow) {
    const uint32_t infinity = ((1U << static_cast<unsigned>(layout.exponent_bits)) - 1) << static_cast<unsigned>(layout.mantissa_bits);
    std::vector<double> doubles;
    std::vector<float> floats;
    std::vector<uint16_t> expected, expected_of_floats;
    for (uint32_t code = 0; code < infinity; ++code) {
      const double low = value_of(layout, code), high = value_of(layout, code + 1), middle = low + (high - low) / 2;
      for (const uint32_t sign : {0U, 0x8000U}) {
        const auto add = [&](double magnitude, uint32_t nearest) {
          const double value = sign != 0 ? -magnitude : magnitude;
          doubles.push_back(value);
          expected.push_back(static_cast<uint16_t>(nearest | sign));
          if (static_cast<double>(static_cast<float>(value)) != value) return;
          floats.push_back(static_cast<float>(value));
          expected_of_floats.push_back(expected.back());
        };
        add(middle, code % 2 == 0 ? code : code + 1);
        add(std::nextafter(middle, low), code);
        add(std::nextafter(middle, high), code + 1);
        // Doubles that a detour over the nearest float would round to the middle.
        add(middle - (high - low) * 0x1p-40, code);
        add(middle + (high - low) * 0x1p-40, code + 1);
        add(std::nextafter(static_cast<float>(middle), 0.0F), code);
        add(std::nextafter(static_cast<float>(middle), std::numeric_limits<float>::max()), code + 1);
      }
    }
    for (const double beyond : {1e39, 1e300, kInfinity}) {
      doubles.push_back(beyond);
      expected.push_back(static_cast<uint16_t>(infinity));
    }
    for (const double tiny : {1e-60, 5e-324, 0.0}) {
      doubles.push_back(-tiny);
      expected.push_back(0x8000U);
    }
    std::vector<uint16_t> out(doubles.size()), out_of_floats(floats.size());
    store(layout.type, reinterpret_cast<std::byte*>(out.data()), 1, static_cast<int64_t>(doubles.size()), doubles.data());
    store(layout.type, reinterpret_cast<std::byte*>(out_of_floats.data()), 1, static_cast<int64_t>(floats.size()), floats.data());
    for (std::size_t i = 0; i < doubles.size(); ++i) {
      ASSERT_EQ(out[i], expected[i]) << name_of(layout.type) << " " << doubles[i];
      ASSERT_EQ(encode_small_float(layout.type, doubles[i], false), expected[i]) << name_of(layout.type) << " " << doubles[i];
    }
    for (std::size_t i = 0; i < floats.size(); ++i) ASSERT_EQ(out_of_floats[i], expected_of_floats[i]) << floats[i];
  }
}

}  // namespace
}  // namespace relayout
