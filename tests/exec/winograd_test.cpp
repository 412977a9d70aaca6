// Tests convolutions of 3 × 3 windows by Winograd's minimal filtering against the other modes.

#include <cmath>
#include <limits>

#include "base/random.h"
#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

struct WindowCase {
  Dims x;
  int64_t outputs = 1;
  Dims pads{1, 1, 1, 1};  ///< (front,) top, left, (back,) bottom, right
  /// Operators downstream of the convolution.
  bool normalizes = false, adds = false;
  std::string activation = {};
  int64_t planes = 3;  ///< of the windows over volumes
  int64_t groups = 1;

  [[nodiscard]] Dims weights() const {
    return x.size() == 4 ? Dims{outputs, x[1] / groups, 3, 3} : Dims{outputs, x[1] / groups, planes, 3, 3};
  }
  [[nodiscard]] Dims y() const {
    const Dims w = weights();
    Dims out{x[0], outputs};
    for (std::size_t i = 2; i < x.size(); ++i) out.push_back(x[i] + pads[i - 2] + pads[i + x.size() - 4] - w[i] + 1);
    return out;
  }
};

/// Normalization with factors of powers of two and whole numbers, of variance 1 and epsilon 0.
void add_normalization(ModelBuilder& builder, int64_t channels) {
  std::vector<float> scale, shift, mean;
  for (int64_t i = 0; i < channels; ++i) {
    scale.push_back(i % 2 == 0 ? 2.0F : -1.0F);
    shift.push_back(static_cast<float>(i % 5));
    mean.push_back(static_cast<float>(i % 3));
  }
  builder.constant("scale", {channels}, scale).constant("shift", {channels}, shift).constant("mean", {channels}, mean);
  builder.constant("variance", {channels}, std::vector<float>(scale.size(), 1));
  builder.node("BatchNormalization", {"conv", "scale", "shift", "mean", "variance"}, {"normal"}).real("epsilon", 0);
}

std::unique_ptr<Model> model_of(const WindowCase& one, const std::vector<float>& weights) {
  ModelBuilder builder;
  const std::vector<float> bias = small_integers(one.outputs, RandomStream(3, "b"), 0);
  builder.input("x", one.x).constant("w", one.weights(), weights).constant("b", {one.outputs}, bias);
  builder.node("Conv", {"x", "w", "b"}, {"conv"}).integers("pads", one.pads).integer("group", one.groups);
  std::string last = "conv";
  if (one.normalizes) add_normalization(builder, one.outputs);
  if (one.normalizes) last = "normal";
  if (one.adds) builder.input("r", one.y()).node("Add", {last, "r"}, {"sum"});
  if (one.adds) last = "sum";
  if (one.activation == "Clip") builder.constant("low", {}, std::vector<float>{-4}).constant("high", {}, std::vector<float>{9});
  if (one.activation == "Clip") builder.node("Clip", {last, "low", "high"}, {"y"});
  if (!one.activation.empty() && one.activation != "Clip") builder.node(one.activation, {last}, {"y"});
  return builder.output(one.activation.empty() ? last : "y").build();
}

Inputs inputs_of(const WindowCase& one, const std::vector<float>& x) {
  Inputs out{{"x", tensor_of(one.x, x)}};
  if (one.adds) out.emplace("r", tensor_of(one.y(), small_integers(element_count(one.y()), RandomStream(4, "r"), 0)));
  return out;
}

/// Channels-last, even where a model of one convolution would not gain by it.
RunResult run_optimized(const Model& model, const Inputs& inputs, int threads = 1) {
  ExecuteOptions options;
  options.threads = threads;
  options.layout = LayoutChoice::always;
  Executor executor(model.graph(), options);
  RunResult out;
  for (Datum& datum : executor.run(inputs)) out.outputs.push_back(std::move(datum.tensor));
  out.info = executor.plan_info();
  return out;
}

void expect_winograd(const PlanInfo& info) {
  bool found = false;
  for (const StepInfo& step : info.steps) found = found || step.implementation.starts_with("winograd");
  EXPECT_TRUE(found) << info.steps.back().implementation;
}

/// NaN equals NaN here.
void expect_same(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) << i << ": " << got[i] << ", not " << wanted[i];
  }
}

void expect_exact(const WindowCase& one, const std::vector<float>& x) {
  const auto model = model_of(one, small_integers(element_count(one.weights()), RandomStream(2, "w"), 0));
  const Inputs inputs = inputs_of(one, x);
  const std::vector<float> wanted = values_of(run_in(Mode::reference, *model, inputs).outputs.at(0));
  for (const int threads : {1, 2}) {
    const RunResult result = run_optimized(*model, inputs, threads);
    expect_winograd(result.info);
    ASSERT_NO_FATAL_FAILURE(expect_same(values_of(result.outputs.at(0)), wanted)) << threads << " threads";
  }
}

TEST(Winograd, WholeNumbersAreExact) {
  const std::vector<WindowCase> cases = {
      {{1, 96, 16, 16}, 96},
      {{1, 97, 23, 21}, 113, {1, 1, 1, 1}, true, false, "Relu"},
      {{3, 96, 12, 14}, 104, {0, 0, 0, 0}, false, true, "Relu"},
      {{1, 64, 57, 64}, 80, {1, 1, 1, 1}, true, true, "Clip"},  // several blocks of tiles
      {{2, 112, 14, 15}, 129, {2, 0, 1, 2}, false, false, "Clip"},
      {{1, 128, 16, 16}, 96, {1, 1, 1, 1}, false, true, "LeakyRelu"},
      {{1, 130, 16, 31}, 112, {0, 2, 2, 0}, true, false, "Abs"},
      {{1, 96, 9, 16, 14}, 80, {1, 1, 1, 1, 1, 1}, true, false, "Relu"},
      {{2, 80, 10, 13, 12}, 97, {0, 1, 1, 2, 1, 1}, false, true, "Clip"},
      {{2, 128, 4, 12, 12}, 96, {0, 1, 1, 0, 1, 1}, false, true, "", 1},
      {{1, 64, 12, 24, 24}, 64, {2, 1, 1, 0, 1, 1}, false, false, "", 5},  // several blocks of tiles
      {{2, 192, 14, 15}, 288, {1, 1, 1, 1}, true, false, "Relu", 3, 2},
      {{1, 288, 16, 16}, 288, {1, 0, 1, 2}, false, true, "Clip", 3, 3},
      {{1, 160, 10, 13, 12}, 194, {0, 1, 1, 2, 1, 1}, true, true, "Relu", 3, 2},
  };
  for (const WindowCase& one : cases) {
    const std::vector<float> x = small_integers(element_count(one.x), RandomStream(1, "x"), 0);
    ASSERT_NO_FATAL_FAILURE(expect_exact(one, x)) << to_string(one.x) << " to " << one.outputs << " " << one.activation;
  }
}

/// The same outputs become NaN or infinite as term by term, although a tile has neighbours in its sums.
TEST(Winograd, NumbersThatAreNotFiniteReachTheSameOutputs) {
  const WindowCase one{{2, 128, 13, 13}, 129, {1, 1, 1, 1}, true, true, ""};
  std::vector<float> x = small_integers(element_count(one.x), RandomStream(1, "x"), 0);
  x[5] = kNan;
  x[13 * 6 + 7] = kInfinity;
  x[13 * 13 * 150 + 13 * 12 + 12] = -kInfinity;
  expect_exact(one, x);
  const WindowCase volume{{1, 96, 8, 12, 12}, 97, {1, 1, 1, 1, 1, 1}, true, true, ""};
  x = small_integers(element_count(volume.x), RandomStream(1, "x"), 0);
  x[12 * 12 * 8 * 3 + 12 * 12 + 20] = kInfinity;
  expect_exact(volume, x);
  const WindowCase groups{{2, 256, 13, 13}, 258, {1, 1, 1, 1}, true, false, "", 3, 2};
  x = small_integers(element_count(groups.x), RandomStream(1, "x"), 0);
  x[13 * 13 * 3 + 5] = kNan;
  x[13 * 13 * 400 + 13 * 12 + 12] = -kInfinity;
  expect_exact(groups, x);
}

/// The transform adds up to four elements of a tile, which may exceed the largest number although the result does not.
TEST(Winograd, LargeNumbersDoNotOverflow) {
  const WindowCase one{{1, 128, 16, 16}, 128};
  std::vector<float> weights(static_cast<std::size_t>(element_count(one.weights())));
  for (std::size_t o = 0; o < 128; ++o) weights[(o * 128 + o) * 9 + 4] = 0.25F;  // a quarter of each channel
  const auto model = model_of(one, weights);
  const std::vector<float> x(static_cast<std::size_t>(element_count(one.x)), 3e38F);
  const Inputs inputs = inputs_of(one, x);
  const RunResult result = run_optimized(*model, inputs);
  expect_winograd(result.info);
  for (const float value : values_of(result.outputs.at(0))) ASSERT_FLOAT_EQ(value, 0.75e38F);
}

/// Each of n terms adds a rounding error of some half unit of the sum so far; errors of both signs add up to √n of them.
TEST(Winograd, ErrorsAreThoseOfSums) {
  const WindowCase one{{1, 96, 20, 20}, 64};
  const std::vector<float> weights = normal_values(element_count(one.weights()), RandomStream(2, "w"), 0);
  const std::vector<float> x = normal_values(element_count(one.x), RandomStream(1, "x"), 0);
  const auto model = model_of(one, weights);
  const Inputs inputs = inputs_of(one, x);
  const std::vector<float> wanted = values_of(run_in(Mode::reference, *model, inputs).outputs.at(0));
  const auto error_of = [&](const std::vector<float>& got) {
    double sum = 0;
    for (std::size_t i = 0; i < got.size(); ++i) sum += std::pow(double{got[i]} - wanted[i], 2);
    return std::sqrt(sum / static_cast<double>(got.size()));
  };
  const double typical = std::sqrt(9.0 * 96);  // of an output
  const RunResult result = run_optimized(*model, inputs);
  expect_winograd(result.info);
  EXPECT_LT(error_of(values_of(result.outputs.at(0))), std::ldexp(typical * typical, -24));
}

TEST(Winograd, PlansForFewRunsKeepWeightsAsTheyAre) {
  const WindowCase one{{1, 128, 16, 16}, 128};
  const auto model = model_of(one, small_integers(element_count(one.weights()), RandomStream(2, "w"), 0));
  ExecuteOptions options;
  options.few_runs = true;
  options.layout = LayoutChoice::always;
  Executor executor(model->graph(), options);
  (void)executor.run({{"x", tensor_of(one.x, std::vector<float>(static_cast<std::size_t>(element_count(one.x))))}});
  for (const StepInfo& step : executor.plan_info().steps) EXPECT_FALSE(step.implementation.starts_with("winograd"));
}

}  // namespace
}  // namespace relayout::test
