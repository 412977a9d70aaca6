// Tests convolutions to one to four outputs against sums term by term in whole numbers, which are exact in any order.

#include "base/machine.h"
#include "exec/draw.h"
#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

/// A convolution with three spatial dims.
struct Case {
  Dims x, w, strides, dilations, pads;
  std::vector<float> source, weights, bias;

  [[nodiscard]] Dims outputs() const {
    Dims out{x[0], w[0]};
    for (std::size_t i = 0; i < 3; ++i) {
      out.push_back((x[i + 2] + pads[i] + pads[i + 3] - (w[i + 2] - 1) * dilations[i] - 1) / strides[i] + 1);
    }
    return out;
  }
};

/// ONNX Conv, one output at a time.
std::vector<float> convolved(const Case& one) {
  const Dims to = one.outputs();
  std::vector<float> out;
  const auto each = [](const Dims& dims, const auto& visit) {
    for (int64_t flat = 0; flat < element_count(dims); ++flat) {
      Dims index(dims.size());
      for (int64_t i = static_cast<int64_t>(dims.size()), rest = flat; i-- > 0; rest /= dims[static_cast<std::size_t>(i)]) {
        index[static_cast<std::size_t>(i)] = rest % dims[static_cast<std::size_t>(i)];
      }
      visit(index);
    }
  };
  each(to, [&](const Dims& at) {
    float sum = one.bias[static_cast<std::size_t>(at[1])];
    each(Dims(one.w.begin() + 1, one.w.end()), [&](const Dims& tap) {
      int64_t from = at[0] * one.x[1] + tap[0], weight = at[1] * one.w[1] + tap[0];
      for (std::size_t i = 0; i < 3; ++i) {
        const int64_t place = at[i + 2] * one.strides[i] - one.pads[i] + tap[i + 1] * one.dilations[i];
        if (place < 0 || place >= one.x[i + 2]) return;
        from = from * one.x[i + 2] + place;
        weight = weight * one.w[i + 2] + tap[i + 1];
      }
      sum += one.source[static_cast<std::size_t>(from)] * one.weights[static_cast<std::size_t>(weight)];
    });
    out.push_back(sum < 0 ? 0 : sum);
  });
  return out;
}

Case draw_case(Draw& draw) {
  Case one;
  one.x = {draw.from(1, 2), draw.yes() ? 16 * draw.from(1, 3) : 8 * draw.from(1, 5)};
  one.w = {draw.from(1, 4), one.x[1]};
  for (int i = 0; i < 3; ++i) {
    one.w.push_back(draw.from(1, 3));
    one.strides.push_back(draw.from(1, 2));
    one.dilations.push_back(draw.from(1, 2));
  }
  one.w.back() += 1;
  for (std::size_t i = 0; i < 6; ++i) one.pads.push_back(draw.from(0, 2));
  for (std::size_t i = 0; i < 3; ++i) one.x.push_back(draw.from((one.w[i + 2] - 1) * one.dilations[i] + 1, i == 2 ? 40 : 7));
  one.source = draw.integers(element_count(one.x));
  one.weights = draw.integers(element_count(one.w));
  one.bias = draw.integers(one.w[0]);
  return one;
}

ModelBuilder model_of(const Case& one) {
  ModelBuilder builder;
  builder.input("x", one.x).constant("w", one.w, one.weights).constant("b", {one.w[0]}, one.bias);
  builder.node("Conv", {"x", "w", "b"}, {"c"}).integers("strides", one.strides).integers("dilations", one.dilations);
  builder.integers("pads", one.pads).node("Relu", {"c"}, {"y"}).output("y");
  return builder;
}

TEST(NarrowConvolution, OfWholeNumbersIsExact) {
  Draw draw(9, "narrow");
  for (int i = 0; i < 60; ++i) {
    const Case one = draw_case(draw);
    const auto model = model_of(one).build();
    const std::vector<float> wanted = convolved(one);
    for (const LayoutChoice layout : {LayoutChoice::always, LayoutChoice::never}) {
      ExecuteOptions options;
      options.layout = layout, options.threads = draw.yes() ? 1 : 2;
      Executor executor(model->graph(), options);
      ASSERT_EQ(values_of(executor.run({{"x", tensor_of(one.x, one.source)}}).at(0).tensor), wanted)
          << to_string(one.x) << to_string(one.w);
      bool is_narrow = false;
      for (const StepInfo& step : executor.plan_info().steps)
        is_narrow = is_narrow || step.implementation.find("narrow") != std::string::npos;
      ASSERT_TRUE(is_narrow);
    }
  }
}

/// Padding is not multiplied with non-finite weights.
TEST(NarrowConvolution, InfiniteWeightsReachTheElementsUnderThem) {
  if (instruction_set() == InstructionSet::sse41) GTEST_SKIP() << "the library's products for old processors multiply padding";
  Case one{{1, 8, 1, 1, 3},
           {1, 8, 1, 1, 2},
           {1, 1, 1},
           {1, 1, 1},
           {0, 0, 1, 0, 0, 0},
           std::vector<float>(24, 1.0F),
           std::vector<float>(16, 1.0F),
           {0}};
  one.weights[0] = std::numeric_limits<float>::infinity();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto got = run_in(Mode::optimized, *model_of(one).build(), {{"x", tensor_of(one.x, one.source)}});
  EXPECT_EQ(values_of(got.outputs.at(0)), (std::vector<float>{8, kInfinity, kInfinity}));
}

}  // namespace
}  // namespace relayout::test
