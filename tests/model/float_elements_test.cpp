#include "model/float_elements.h"

#include <gtest/gtest.h>

#include <limits>

#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
double largest(DataType type, const std::vector<T>& elements) {
  return largest_magnitude(type, std::as_bytes(std::span(elements)));
}

TEST(FloatElements, TheLargestMagnitudeIsThatOfFiniteElements) {
  EXPECT_EQ(largest<float>(DataType::float32, {}), 0);
  EXPECT_EQ(largest<float>(DataType::float32, {1, -3, 2}), 3);
  EXPECT_EQ(largest<float>(DataType::float32, {kInfinity, -kInfinity, NAN, -1e-40F}), static_cast<double>(1e-40F));
  EXPECT_EQ(largest<double>(DataType::float64, {1, -1e300, 2, HUGE_VAL}), 1e300);
  EXPECT_EQ(largest<uint16_t>(DataType::float16, {0x3C00, 0xC000, 0x7C00, 0x7E01}), 2);   // 1, −2, infinity, NaN
  EXPECT_EQ(largest<uint16_t>(DataType::bfloat16, {0x3F80, 0xC000, 0x7F80, 0xFFC0}), 2);  // the same
}

TEST(FloatElements, SmallestNormalNumbers) {
  EXPECT_EQ(smallest_normal(DataType::float64), std::numeric_limits<double>::min());
  EXPECT_EQ(smallest_normal(DataType::float32), 0x1p-126);
  EXPECT_EQ(smallest_normal(DataType::bfloat16), 0x1p-126);
  EXPECT_EQ(smallest_normal(DataType::float16), 0x1p-14);
}

// Long enough for every width of vector instructions, and a remainder.
TEST(FloatElements, TheLargestMagnitudeIsFoundAnywhere) {
  for (std::size_t at = 0; at < 67; ++at) {
    std::vector<float> elements(67, 0.5F);
    elements[at] = -7;
    ASSERT_EQ(largest(DataType::float32, elements), 7) << at;
  }
}

TEST(FloatElements, ProductsAreRoundedOnceAlsoInPlace) {
  // 1 + 2^-23 times 1 + 2^-23 + 2^-40: the factor is no float, and its last bit decides.
  const double factor = 1 + 0x1p-23 + 0x1p-40;
  std::vector<float> elements;
  for (int i = 0; i < 67; ++i) elements.push_back(1 + static_cast<float>(i) * 0x1p-23F);
  std::vector<float> expected;
  for (const float element : elements) expected.push_back(static_cast<float>(static_cast<double>(element) * factor));
  auto* const bytes = reinterpret_cast<std::byte*>(elements.data());
  multiply(DataType::float32, bytes, DataType::float32, bytes, 67, factor);
  EXPECT_EQ(elements, expected);
}

TEST(FloatElements, ChannelsOverflowAndVanishByTheirLargestElement) {
  const auto range = [](double magnitude, double factor) {
    ChannelRange out;
    out.note(magnitude / 2, factor);
    out.note(magnitude, factor);
    return out;
  };
  EXPECT_TRUE(range(3e38, -2).overflows(DataType::float32));
  EXPECT_FALSE(range(3e38, 1).overflows(DataType::float32));
  EXPECT_TRUE(range(65504, 1.001).overflows(DataType::float16));
  EXPECT_FALSE(range(65504, 1.0001).overflows(DataType::float16));  // rounds back
  EXPECT_TRUE(range(0x1p-14, 0.5).vanishes(DataType::float16));
  EXPECT_FALSE(range(0x1p-15, 0.5).vanishes(DataType::float16));  // already subnormal
  EXPECT_FALSE(range(0x1p-14, 0).vanishes(DataType::float16));    // an intended zero
}

TEST(FloatElements, DoublesAreRoundedOnceAndReadExactly) {
  const std::vector<double> values = {1, -0x1.002p0, 0x1.0020000001p0, 0x1p-24};  // of float16: exact, a tie, just above it, subnormal
  const Tensor rounded = from_doubles(DataType::float16, {4}, values).load();
  std::vector<double> back(4);
  to_doubles(DataType::float16, std::span(rounded.bytes(), 8), back);
  EXPECT_EQ(back, (std::vector<double>{1, -1, 0x1.004p0, 0x1p-24}));
  EXPECT_EQ(sum_of_elements(DataType::float16, std::span(rounded.bytes(), 8)), 0x1.004p0 + 0x1p-24);
  EXPECT_EQ(spacing_at(DataType::float16, 1.5), 0x1p-10);
  EXPECT_EQ(spacing_at(DataType::float16, 0), 0x1p-24);
}

}  // namespace
}  // namespace relayout
