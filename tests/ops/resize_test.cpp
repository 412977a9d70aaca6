#include <gtest/gtest.h>

#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

constexpr int64_t kOpset = 19;

Tensor floats(const std::vector<double>& values) {
  return tensor_of_values(DataType::float32, {static_cast<int64_t>(values.size())}, values);
}

Tensor sizes(const std::vector<double>& values) {
  return tensor_of_values(DataType::int64, {static_cast<int64_t>(values.size())}, values);
}

std::vector<double> resized(const std::string& attributes, const Tensor& x, const Tensor& to) {
  return numbers_of(run_one("Resize <" + attributes + ">", {x, Datum(), Datum(), to}, kOpset));
}

// Expected values: the reference implementation of ONNX 1.23.

TEST(Resize, IntegersAreRoundedAndHeldAtTheirBounds) {
  const Tensor x = tensor_of_values(DataType::uint8, {1, 4}, {10, 250, 3, 20});
  EXPECT_EQ(resized("mode = \"linear\"", x, sizes({1, 7})), (std::vector<double>{10, 96, 233, 126, 4, 14, 20}));
  EXPECT_EQ(resized("mode = \"cubic\"", x, sizes({1, 7})), (std::vector<double>{0, 107, 248, 147, 0, 0, 22}));
}

TEST(Resize, AntialiasingCountsTheEdgeAsOftenAsTheFilterReachesBeyondIt) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 5}, {1, -2, 4, 8, 16});
  const std::string corners = "antialias = 1, coordinate_transformation_mode = \"align_corners\", mode = ";
  EXPECT_NEAR(resized(corners + "\"cubic\"", x, sizes({1, 1}))[0], 1.224, 1e-6);
  const std::vector<double> two = resized(corners + "\"linear\"", x, sizes({1, 2}));
  EXPECT_NEAR(two[0], 0.53846157, 1e-6);
  EXPECT_NEAR(two[1], 13.230769, 1e-5);
}

/// `x` resized by scales, in any opset.
std::vector<double> scaled(const std::string& attributes, const Tensor& x, const std::vector<double>& scales, int64_t opset = kOpset) {
  if (opset < 11) return numbers_of(run_one("Resize <" + attributes + ">", {x, floats(scales)}, opset));
  return numbers_of(run_one("Resize <" + attributes + ">", {x, floats({}), floats(scales)}, opset));
}

TEST(Resize, AlignedCornersMeetWhereTheLengthIsCutToAWholeNumber) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 5}, {0, 1, 2, 3, 4});
  const std::string corners = "coordinate_transformation_mode = \"align_corners\", mode = ";
  for (const int64_t opset : {11, 13, 18, 19}) {
    const std::vector<double> seven = scaled(corners + "\"linear\"", x, {1, 1.5}, opset);  // 7.5
    ASSERT_EQ(seven.size(), 7U);
    for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(seven[i], static_cast<double>(i) * 4 / 6, 1e-6) << opset;
    EXPECT_EQ(scaled(corners + "\"linear\"", x, {1, 0.5}, opset), (std::vector<double>{0, 4}));      // 2.5
    EXPECT_EQ(scaled(corners + "\"nearest\"", x, {1, 0.7}, opset), (std::vector<double>{0, 2, 4}));  // 3.5
    EXPECT_EQ(scaled(corners + "\"nearest\", nearest_mode = \"floor\"", x, {1, 1.5}, opset), (std::vector<double>{0, 0, 1, 2, 2, 3, 4}));
    EXPECT_EQ(scaled(corners + "\"linear\"", x, {1, 0.3}, opset), (std::vector<double>{0}));  // 1.5
  }
}

TEST(Resize, AlignedCornersByScalesAreThoseBySizes) {
  std::vector<double> values;
  for (int i = 0; i < 4 * 5 * 3; ++i) values.push_back(i * 37 % 23);
  const Tensor x = tensor_of_values(DataType::float32, {1, 4, 5, 3}, values);
  for (const char* const mode : {"nearest", "linear", "cubic"}) {
    const std::string attributes = "coordinate_transformation_mode = \"align_corners\", mode = \"" + std::string(mode) + "\"";
    EXPECT_EQ(scaled(attributes, x, {1, 1.7, 1.3, 2.5}), resized(attributes, x, sizes({1, 6, 6, 7}))) << mode;
    EXPECT_EQ(scaled(attributes, x, {1, 0.6, 0.5, 1}), resized(attributes, x, sizes({1, 2, 2, 3}))) << mode;
    // The other coordinates use the scale itself.
    const std::string half = "mode = \"" + std::string(mode) + "\"";
    EXPECT_NE(scaled(half, x, {1, 1.7, 1.3, 2.5}), resized(half, x, sizes({1, 6, 6, 7}))) << mode;
  }
}

TEST(Resize, BatchAndChannelsStayWhereTheyAre) {
  const Tensor x = tensor_of_values(DataType::float32, {2, 2, 2}, {0, 1, 10, 11, 20, 21, 30, 31});
  const std::string half = "coordinate_transformation_mode = \"tf_half_pixel_for_nn\", mode = ";
  const std::vector<double> linear = scaled(half + "\"linear\"", x, {1, 1, 2}, 11);
  EXPECT_EQ(linear, (std::vector<double>{0.25, 0.75, 1, 1, 10.25, 10.75, 11, 11, 20.25, 20.75, 21, 21, 30.25, 30.75, 31, 31}));
  EXPECT_EQ(scaled(half + "\"nearest\", nearest_mode = \"ceil\"", x, {1, 1, 1.5}, 11),
            (std::vector<double>{1, 1, 1, 11, 11, 11, 21, 21, 21, 31, 31, 31}));
}

TEST(Resize, OfOpset10RoundsUpWhereItShrinks) {
  // The example of that version of ONNX: 1 / 0.6 is 1.67.
  const Tensor x = tensor_of_values(DataType::float32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(scaled("mode = \"nearest\"", x, {0.6, 0.6}, 10), (std::vector<double>{1, 3}));
  EXPECT_EQ(scaled("mode = \"nearest\"", x, {1, 1.5}, 10), (std::vector<double>{1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8}));
}

TEST(Resize, NearestTakesDecimalScalesAsMeant) {
  // 3 / 0.6 is 5 in f32, although 0.6 of f32 is more than 0.6; 6.5 / 1.3 - 0.5 is 4.5, and the lower neighbour is preferred.
  const Tensor x = tensor_of_values(DataType::float32, {1, 7}, {0, 1, 2, 3, 4, 5, 6});
  const std::string floors = "coordinate_transformation_mode = \"asymmetric\", mode = \"nearest\", nearest_mode = \"floor\"";
  EXPECT_EQ(scaled(floors, x, {1, 0.6}), (std::vector<double>{0, 1, 3, 5}));
  EXPECT_EQ(scaled("mode = \"nearest\"", x, {1, 1.3})[6], 4);
}

TEST(Resize, TheRoiDoesNotChangeTheSizeThatScalesGive) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 5}, {1, -2, 4, 8, 16});
  const auto run = run_op("Resize <coordinate_transformation_mode = \"tf_crop_and_resize\", mode = \"linear\">",
                          {x, floats({0, 0.2, 1, 0.8}), floats({1, 0.6})}, kOpset);
  EXPECT_EQ(run[0].tensor.dims(), (Dims{1, 3}));
}

TEST(Resize, SizesAreFloorsOfProductsOfFloats) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(run_op("Resize <mode = \"linear\">", {x, Datum(), floats({1, 0.7})}, kOpset)[0].tensor.dims(), (Dims{1, 7}));
}

// Elements in the dims after the resized ones are independent: each is resized as it is without the others.
TEST(Resize, ElementsInTheDimsAfterTheResizedOnesAreIndependent) {
  constexpr int64_t kIn = 5, kOut = 7;
  for (const int64_t channels : {3, 64, 65, 130}) {
    for (const char* const mode : {"mode = \"linear\"", "mode = \"cubic\"", "antialias = 1, mode = \"cubic\""}) {
      SCOPED_TRACE(std::string(mode) + ", " + std::to_string(channels) + " channels");
      std::vector<double> values;
      for (int64_t i = 0; i < 2 * kIn * kIn * channels; ++i) values.push_back(static_cast<double>(i * 7919 % 1013) - 500);
      const Tensor x = tensor_of_values(DataType::float32, {2, kIn, kIn, channels}, values);
      const Tensor to = sizes({2, kOut, 3, static_cast<double>(channels)});
      const std::vector<double> all = resized(mode, x, to);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(2 * kOut * 3 * channels));
      for (int64_t c = 0; c < channels; ++c) {
        std::vector<double> alone;
        for (std::size_t i = static_cast<std::size_t>(c); i < values.size(); i += static_cast<std::size_t>(channels))
          alone.push_back(values[i]);
        const std::vector<double> expected =
            resized(mode, tensor_of_values(DataType::float32, {2, kIn, kIn, 1}, alone), sizes({2, kOut, 3, 1}));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_EQ(all[i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)], expected[i])
              << "channel " << c << ", element " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace relayout::test
