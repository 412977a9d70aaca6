#include "verify/run/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "tensors.h"

namespace relayout {
namespace {

using testing::floats;
using testing::tensor;
using testing::values_of;

std::unique_ptr<Model> parse(const std::string& graph) {
  return Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph);
}

TEST(WeightNoise, MovesEveryFloatByOneUlpUpOrDown) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(std::sin(i + 1.0) * std::exp2(i % 40 - 20)));
  const Tensor before = floats({1000}, values);
  const Tensor after = moved_by_one_ulp(before, 1, "w", 0);
  int up = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto old = static_cast<float>(values[i]);
    const float moved = after.data<float>()[i];
    ASSERT_TRUE(moved == std::nextafter(old, 1e30F) || moved == std::nextafter(old, -1e30F)) << i;
    up += std::fabs(moved) > std::fabs(old) ? 1 : 0;
  }
  EXPECT_NEAR(up, 500, 80);
  EXPECT_EQ(before.data<float>()[7], static_cast<float>(values[7]));  // the original is unchanged
}

TEST(WeightNoise, EveryTypeMovesByItsOwnUlp) {
  const auto step = [](DataType type, double value) {
    const Tensor moved = moved_by_one_ulp(tensor(type, {2}, {value, value}), 1, "w", 0);
    return std::fabs(values_of(moved)[0] - value);
  };
  EXPECT_EQ(step(DataType::float64, 1.5), 0x1p-52);
  EXPECT_EQ(step(DataType::float32, 1.5), 0x1p-23);
  EXPECT_EQ(step(DataType::float16, 1.5), 0x1p-10);
  EXPECT_EQ(step(DataType::bfloat16, 1.5), 0x1p-7);
  const Tensor integers = testing::integers({2}, {3, 4});
  EXPECT_EQ(moved_by_one_ulp(integers, 1, "i", 0).bytes(), integers.bytes());
}

TEST(WeightNoise, ZerosInfinitiesAndNansStay) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor special = floats({6}, {0, -0.0, infinity, -infinity, std::nan(""), std::numeric_limits<float>::max()});
  for (int draw = 0; draw < 20; ++draw) {
    const Tensor moved = moved_by_one_ulp(special, 1, "w", draw);
    EXPECT_EQ(moved.data<uint32_t>()[0], 0U);
    EXPECT_EQ(moved.data<uint32_t>()[1], 0x80000000U);
    EXPECT_EQ(moved.data<float>()[2], std::numeric_limits<float>::infinity());
    EXPECT_EQ(moved.data<float>()[3], -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(moved.data<float>()[4]));
    EXPECT_TRUE(std::isfinite(moved.data<float>()[5]));
  }
}

TEST(WeightNoise, WholeScalarsAndPowersOfTwoStay) {
  for (const double value : {2.0, 255.0, -1.0, 0.5, 0.0625}) {
    EXPECT_EQ(values_of(moved_by_one_ulp(floats({1}, {value}), 1, "c", 0))[0], value);
  }
  EXPECT_NE(values_of(moved_by_one_ulp(floats({1}, {0.3}), 1, "c", 0))[0], static_cast<double>(0.3F));
  EXPECT_NE(values_of(moved_by_one_ulp(floats({2}, {2, 2}), 1, "c", 0))[0], 2);
}

TEST(WeightNoise, DrawsAndNamesDiffer) {
  const Tensor weights = floats({64}, std::vector<double>(64, 1.25));
  const auto values = [&](const char* name, int draw, uint64_t seed = 1) { return values_of(moved_by_one_ulp(weights, seed, name, draw)); };
  EXPECT_EQ(values("w", 0), values("w", 0));
  EXPECT_EQ((std::set{values("w", 0), values("w", 1), values("w", 2), values("v", 0), values("w", 0, 2)}).size(), 5U);
}

TEST(WeightNoise, SizesThresholdsAndExponentsAreNotWeights) {
  const auto model = parse(R"(g (float[1, 1, 4, 4] x) => (float[1, 1, 8, 8] y, bool[1, 1, 8, 8] z)
      <float[4] scales = {1, 1, 2, 2}, float[0] roi = {}, float[2] exponent = {0.3, 0.4}, float[1] limit = {0.3}, float[1] w = {0.3},
       float[1] least = {-0.7}> {
    r = Resize (x, roi, scales)
    e = Gather (exponent, i)
    i = Constant <value_int = 1> ()
    p = Pow (r, e)
    t = Reshape (limit, shape)
    shape = Constant <value_ints = [1]> ()
    c = Clip (p, l)
    l = Squeeze (least)
    y = Mul (c, w)
    z = Greater (y, t)
  })");
  const WeightNoise noise(model->graph());
  EXPECT_FALSE(noise.moves("scales"));
  EXPECT_FALSE(noise.moves("exponent"));
  EXPECT_FALSE(noise.moves("limit"));
  EXPECT_FALSE(noise.moves("least"));
  EXPECT_TRUE(noise.moves("w"));
  Tensor scales = floats({4}, {1.1, 1.1, 2, 2});
  const auto before = values_of(scales);
  noise.draw(1, 0)("scales", scales);
  EXPECT_EQ(values_of(scales), before);
  noise.draw(1, 0)("w", scales);
  EXPECT_NE(values_of(scales), before);
}

TEST(WeightNoise, EdgesOfAFilterBankAreNotWeights) {
  const auto model =
      parse(R"(g (float[1] x) => (y) <int64 bins = {8}, int64 length = {64}, int64 rate = {8192}, float low = {0.3}, float high = {0.7}> {
    m = MelWeightMatrix (bins, length, rate, low, high)
    y = Mul (m, x)
  })");
  const WeightNoise noise(model->graph());
  EXPECT_FALSE(noise.moves("low"));
  EXPECT_FALSE(noise.moves("high"));
}

TEST(WeightNoise, ShapesFilledWithOneNumberAreWeightsUnlessItIsStructure) {
  const auto model = parse(R"(g (float[2] x) => (float[2] y) <int64[1] shape = {2}> {
    w = ConstantOfShape <value = float[1] {0.02}> (shape)
    ones = ConstantOfShape <value = float[1] {1}> (shape)
    zeros = ConstantOfShape (shape)
    exponent = ConstantOfShape <value = float[1] {0.3}> (shape)
    a = Mul (x, w)
    b = Add (a, ones)
    c = Add (b, zeros)
    y = Pow (c, exponent)
  })");
  const WeightNoise noise(model->graph());
  EXPECT_TRUE(noise.moves("w"));
  EXPECT_FALSE(noise.moves("ones"));
  EXPECT_FALSE(noise.moves("zeros"));
  EXPECT_FALSE(noise.moves("exponent"));
}

TEST(WeightNoise, NestedGraphsAreIncluded) {
  const auto model = parse(R"(g (bool c, float[2] x) => (float[2] y) <float[2] w = {0.3, 0.4}, float[2] v = {0.3, 0.4}> {
    y = If (c) <then_branch = a () => (float[2] p) { p = Pow (x, w) }, else_branch = b () => (float[2] q) { q = Mul (x, v) }>
  })");
  const WeightNoise noise(model->graph());
  EXPECT_FALSE(noise.moves("w"));
  EXPECT_TRUE(noise.moves("v"));
}

}  // namespace
}  // namespace relayout
