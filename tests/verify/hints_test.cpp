#include <gtest/gtest.h>

#include <random>

#include "base/half.h"
#include "relayout/tensor.h"
#include "tensors.h"
#include "verify/run/distance.h"

namespace relayout {
namespace {

using testing::floats;

std::vector<double> noise(std::size_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<double> out(count);
  for (double& value : out) value = normal(engine);
  return out;
}

TEST(Hints, V5Transposition) {
  const Tensor a = floats({2, 3, 3, 3}, noise(54));
  const std::vector<int64_t> to_last{0, 2, 3, 1};
  EXPECT_EQ(hint(a, contiguous(a.transposed(to_last)), 1e-6), "equal after Transpose [0, 2, 3, 1]");
  // Also with different dims.
  const Tensor wide = floats({2, 3, 4, 5}, noise(120));
  EXPECT_EQ(hint(wide, contiguous(wide.transposed(to_last)), 1e-6), "equal after Transpose [0, 2, 3, 1]");
}

TEST(Hints, V26SixteenBits) {
  const auto values = noise(50);
  auto half = values, brain = values;
  for (double& value : half) value = static_cast<double>(half_to_float(double_to_half(value)));
  for (double& value : brain) value = static_cast<double>(bfloat16_to_float(double_to_bfloat16(value)));
  EXPECT_EQ(hint(floats({50}, values), floats({50}, half), 1e-7), "all values of B are representable in f16");
  EXPECT_EQ(hint(floats({50}, values), floats({50}, brain), 1e-7), "all values of B are representable in bf16");
}

TEST(Hints, V27FactorAndOffset) {
  const auto values = noise(50);
  auto scaled = values, shifted = values;
  for (double& value : scaled) value *= 1.001;
  for (double& value : shifted) value -= 0.25;
  EXPECT_EQ(hint(floats({50}, values), floats({50}, scaled), 1e-6), "B is 1.001 × A");
  EXPECT_EQ(hint(floats({50}, values), floats({50}, shifted), 1e-6), "B is A − 0.25");
}

TEST(Hints, V31ExchangedSlices) {
  const auto values = noise(std::size_t{2} * 6 * 4);
  auto swapped = values;
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t i = 0; i < 4; ++i) std::swap(swapped[(n * 6 + 1) * 4 + i], swapped[(n * 6 + 4) * 4 + i]);
  }
  EXPECT_EQ(hint(floats({2, 6, 4}, values), floats({2, 6, 4}, swapped), 1e-6), "slices 1 and 4 of axis 1 are exchanged");
}

TEST(Hints, V32BorderOnly) {
  const auto values = noise(std::size_t{2} * 12 * 12);
  auto wrong = values;
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t i = 0; i < 12; ++i) wrong[c * 144 + i] += 0.1 * static_cast<double>(i + 1);
    wrong[c * 144 + 71] += 0.3;
  }
  EXPECT_EQ(hint(floats({1, 2, 12, 12}, values), floats({1, 2, 12, 12}, wrong), 1e-6), "only elements within 1 of the border differ");
}

TEST(Hints, V36BatchAndSlices) {
  const auto values = noise(std::size_t{3} * 8);
  auto first_only = values;
  for (std::size_t i = 8; i < 24; ++i) first_only[i] = values[i % 8];
  EXPECT_EQ(hint(floats({3, 8}, values), floats({3, 8}, first_only), 1e-6), "only slices 1 and 2 of axis 0 (of 3) differ");
  auto column = values;
  for (std::size_t row = 0; row < 3; ++row) column[row * 8 + 5] += static_cast<double>(row) + 0.5;
  EXPECT_EQ(hint(floats({3, 8}, values), floats({3, 8}, column), 1e-6), "only slice 5 of axis 1 (of 8) differs");
}

TEST(Hints, NoHint) {
  EXPECT_EQ(hint(floats({64}, noise(64)), floats({64}, noise(64, 2)), 1e-6), "");
  EXPECT_EQ(hint(floats({0}, {}), floats({0}, {}), 1e-6), "");
  EXPECT_EQ(hint(testing::integers({2}, {1, 2}), testing::integers({2}, {2, 1}), 1e-6), "");
  const double nan = std::nan("");
  EXPECT_EQ(hint(floats({2}, {nan, nan}), floats({2}, {1, 2}), 1e-6), "");
}

}  // namespace
}  // namespace relayout
