// Tests lines and groups of channels, normalized by their own mean and variance, against the formula in double.

#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "exec/model_builder.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/layout.h"
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

/// Dims of an image, and the mean of its numbers, which have variance 1.
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

/// A large mean costs the result no accuracy.
TEST(LineNormalization, ALargeMeanCostsNoAccuracy) {
  expect_normalized({{1, 1, 40'003}, 1000.03F});
}

/// Groups of channels of an image, by scale and shift of each channel or of each group.
struct GroupCase {
  Dims dims;
  int64_t groups, opset;
  float mean = 0;
};

/// ONNX GroupNormalization: each group of channels is a line; from opset 21 on, each channel has its own scale and shift.
std::vector<double> groups_normalized(const GroupCase& one, const std::vector<float>& x, const std::vector<float>& scale,
                                      const std::vector<float>& shift) {
  const auto channels = static_cast<std::size_t>(one.dims[1]), groups = static_cast<std::size_t>(one.groups);
  const std::size_t images = static_cast<std::size_t>(one.dims[0]), length = x.size() / images / groups;
  const std::size_t positions = x.size() / images / channels;
  std::vector<double> out;
  for (std::size_t line = 0; line < images * groups; ++line) {
    for (const double value : normalized({&x[line * length], length, 1, 0, 0.5})) {
      const std::size_t channel = out.size() / positions % channels;
      const std::size_t parameter = scale.size() == channels ? channel : channel / (channels / groups);
      out.push_back(value * scale[parameter] + shift[parameter]);
    }
  }
  return out;
}

std::string layout_of(const PlanInfo& plan, const std::string& op_type) {
  for (const StepInfo& step : plan.steps) {
    if (step.op_type == op_type) return step.layout;
  }
  return {};
}

void expect_groups_normalized(const GroupCase& one) {
  const int64_t parameters = one.opset < 21 ? one.groups : one.dims[1], channels = one.dims[1];
  std::vector<float> x = normal_values(element_count(one.dims), RandomStream(8, "x"), 0), scale, shift, identity;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += one.mean + static_cast<float>(i % 3);
  for (int64_t i = 0; i < parameters; ++i) {
    scale.push_back(1.5F - static_cast<float>(i % 5));
    shift.push_back(static_cast<float>(i % 7) + 0.25F);
  }
  for (int64_t i = 0; i < channels * channels; ++i) identity.push_back(i / channels == i % channels ? 1.0F : 0.0F);
  ModelBuilder builder(one.opset);
  builder.input("x", one.dims).constant("s", {parameters}, scale).constant("b", {parameters}, shift);
  Dims window(one.dims.size(), 1);
  window[0] = window[1] = channels;
  builder.constant("w", window, identity).node("Conv", {"x", "w"}, {"c"});
  builder.node("GroupNormalization", {"c", "s", "b"}, {"n"}).real("epsilon", 0.5F).integer("num_groups", one.groups);
  builder.node("Conv", {"n", "w"}, {"y"}).output("y");
  const auto model = builder.build();
  const std::vector<double> wanted = groups_normalized(one, x, scale, shift);
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    for (const LayoutChoice layout : {LayoutChoice::always, LayoutChoice::never}) {
      ExecuteOptions options;
      options.mode = mode, options.layout = layout, options.threads = 2;
      Executor executor(model->graph(), options);
      const std::vector<float> got = values_of(executor.run({{"x", tensor_of(one.dims, x)}}).at(0).tensor);
      if (mode == Mode::optimized && layout == LayoutChoice::always && channels > 1) {
        ASSERT_EQ(layout_of(executor.plan_info(), "GroupNormalization"), "channels-last");
      }
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], wanted[i], 4e-6 * (1 + std::abs(wanted[i]))) << to_string(mode) << ' ' << i;
      }
    }
  }
}

TEST(GroupNormalization, IsTheFormulaInDouble) {
  for (const int64_t opset : {18, 21}) {
    for (const GroupCase& one : {GroupCase{{2, 6, 5, 7}, 3, opset},
                                 {{1, 32, 40, 33}, 8, opset},
                                 {{1, 130, 9, 11}, 2, opset},
                                 {{3, 4, 17}, 4, opset},
                                 {{1, 12, 150, 111}, 1, opset, 100.03F},
                                 {{2, 3, 3, 4, 5}, 3, opset}}) {
      ASSERT_NO_FATAL_FAILURE(expect_groups_normalized(one)) << to_string(one.dims) << " opset " << opset;
    }
  }
}

/// Two groups of 24 channels of a channels-last image [N, 2 · 24, H, W] as [2, N, H, W, 24]: lines lie in another order than they are
/// counted.
TEST(LayerNormalization, OfLinesInAnyOrderIsTheFormulaInDouble) {
  constexpr std::size_t kLength = 24, kChannels = 48, kPlane = 15;
  const std::vector<float> x = normal_values(int64_t{3} * 48 * 15, RandomStream(9, "x"), 0);
  std::vector<float> scale, shift, identity(kChannels * kChannels, 0.0F);
  for (std::size_t i = 0; i < kLength; ++i) scale.push_back(0.5F + static_cast<float>(i % 5)), shift.push_back(static_cast<float>(i % 3));
  for (std::size_t i = 0; i < kChannels; ++i) identity[i * (kChannels + 1)] = 1;
  for (const bool gives_mean : {false, true}) {
    ModelBuilder builder;
    builder.input("x", {3, 48, 3, 5}).constant("s", {24}, scale).constant("b", {24}, shift).constant("w", {48, 48, 1, 1}, identity);
    builder.constant<int64_t>("dims", {5}, {3, 2, 24, 3, 5}).node("Conv", {"x", "w"}, {"c"}).node("Reshape", {"c", "dims"}, {"g"});
    builder.node("Transpose", {"g"}, {"t"}).integers("perm", {1, 0, 3, 4, 2});
    builder.node("LayerNormalization", {"t", "s", "b"}, {"n", gives_mean ? "m" : ""}).real("epsilon", 0.5F).output("n");
    if (gives_mean) builder.output("m");
    const auto model = builder.build();
    for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
      ExecuteOptions options;
      options.mode = mode, options.layout = LayoutChoice::always;
      Executor executor(model->graph(), options);
      const std::vector<Datum> results = executor.run({{"x", tensor_of({3, 48, 3, 5}, x)}});
      const std::vector<float> got = values_of(results.at(0).tensor);
      for (std::size_t line = 0; line < got.size() / kLength; ++line) {
        const std::size_t group = line / (3 * kPlane), image = line / kPlane % 3, pixel = line % kPlane;
        std::vector<float> values;
        for (std::size_t i = 0; i < kLength; ++i) values.push_back(x[(image * kChannels + group * kLength + i) * kPlane + pixel]);
        if (gives_mean) {
          EXPECT_NEAR(values_of(results.at(1).tensor).at(line), std::accumulate(values.begin(), values.end(), 0.0) / kLength, 1e-6);
        }
        for (std::size_t i = 0; i < kLength; ++i) {
          const double wanted = normalized({values.data(), kLength, scale[i], shift[i], 0.5})[i];
          ASSERT_NEAR(got[line * kLength + i], wanted, 2e-6 * (1 + std::abs(wanted))) << to_string(mode) << ' ' << line;
        }
      }
      const auto is_here = [](const StepInfo& step) { return step.node.starts_with("LayerNormalization"); };
      if (mode == Mode::optimized && !gives_mean) {
        EXPECT_EQ(std::ranges::count_if(executor.plan_info().steps, is_here), 1);
      }
    }
  }
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
