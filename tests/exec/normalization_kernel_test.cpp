// Lines that are normalized by their own mean and variance, against the formula in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/random.h"
#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

struct Line {
  const float* values;
  std::size_t length;
  double scale, shift, epsilon;
};

/// ONNX InstanceNormalization: scale · (x − mean) / sqrt(variance + epsilon) + shift.
std::vector<double> normalized(const Line& line) {
  double mean = 0, variance = 0;
  for (std::size_t i = 0; i < line.length; ++i) mean += double{line.values[i]} / static_cast<double>(line.length);
  for (std::size_t i = 0; i < line.length; ++i) variance += std::pow(line.values[i] - mean, 2) / static_cast<double>(line.length);
  std::vector<double> out;
  for (std::size_t i = 0; i < line.length; ++i) {
    out.push_back(line.scale * (line.values[i] - mean) / std::sqrt(variance + line.epsilon) + line.shift);
  }
  return out;
}

/// Dims of an image, and what its numbers of variance 1 lie around.
struct NormalizationCase {
  Dims dims;
  float mean;
};

void expect_normalized(const NormalizationCase& one) {
  const auto channels = static_cast<std::size_t>(one.dims[1]);
  std::vector<float> x = normal_values(element_count(one.dims), RandomStream(7, "x"), 0), scale, shift;
  for (float& value : x) value += one.mean;
  for (std::size_t i = 0; i < channels; ++i) {
    scale.push_back(1.5F - static_cast<float>(i));
    shift.push_back(static_cast<float>(i) + 0.25F);
  }
  ModelBuilder builder;
  builder.input("x", one.dims).constant("s", {one.dims[1]}, scale).constant("b", {one.dims[1]}, shift);
  builder.node("InstanceNormalization", {"x", "s", "b"}, {"y"}).real("epsilon", 0.5F).output("y");
  const auto model = builder.build();
  const std::size_t lines = static_cast<std::size_t>(one.dims[0]) * channels, length = x.size() / lines;
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    for (const int threads : {1, 2}) {
      const std::vector<float> got = values_of(run_in(mode, *model, {{"x", tensor_of(one.dims, x)}}, threads).outputs.at(0));
      ASSERT_EQ(got.size(), x.size());
      for (std::size_t line = 0; line < lines; ++line) {
        const std::size_t channel = line % channels;
        const std::vector<double> wanted = normalized({&x[line * length], length, scale[channel], shift[channel], 0.5});
        for (std::size_t i = 0; i < length; ++i) ASSERT_NEAR(got[line * length + i], wanted[i], 2e-6 * (1 + std::abs(wanted[i])));
      }
    }
  }
}

TEST(LineNormalization, IsTheFormulaInDouble) {
  for (const NormalizationCase& one : {NormalizationCase{{2, 3, 5, 7}, 0}, {{1, 1, 50'001}, 0}, {{1, 2, 150, 111}, 3}, {{3, 1, 1}, 0}}) {
    ASSERT_NO_FATAL_FAILURE(expect_normalized(one)) << to_string(one.dims);
  }
}

/// A mean that f32 does not hold takes nothing from the result.
TEST(LineNormalization, ALargeMeanCostsNoAccuracy) {
  expect_normalized({{1, 1, 40'003}, 1000.03F});
}

TEST(LineNormalization, NotANumberFillsItsLine) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    ModelBuilder builder;
    builder.input("x", {1, 2, 3}).constant("s", {2}, std::vector<float>{1, 1}).constant("b", {2}, std::vector<float>{0, 0});
    builder.node("InstanceNormalization", {"x", "s", "b"}, {"y"}).output("y");
    const auto model = builder.build();
    for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
      const std::vector<float> got = values_of(run_in(mode, *model, {{"x", tensor_of({1, 2, 3}, {0, bad, 1, 2, 2, 2})}}).outputs.at(0));
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(got[i])) << to_string(mode) << " element " << i;
      for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(got[i], 0) << to_string(mode) << " element " << i;
    }
  }
}

}  // namespace
}  // namespace relayout::test
