// Tests convolutions whose taps are far apart against sums term by term in whole numbers, which are exact in any order.

#include "exec/draw.h"
#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

/// ONNX Conv along one dim of `length`, of x [images, channels, length] and w [outputs, channels, taps].
struct Case {
  int64_t images, channels, length, outputs, taps, stride, dilation;
  std::vector<float> source, weights, bias;

  [[nodiscard]] int64_t positions() const { return (length - (taps - 1) * dilation - 1) / stride + 1; }
  [[nodiscard]] std::vector<float> convolved() const {
    std::vector<float> out;
    for (int64_t row = 0; row < images * outputs * positions(); ++row) {
      const int64_t image = row / (outputs * positions()), output = row / positions() % outputs, at = row % positions() * stride;
      float sum = bias[static_cast<std::size_t>(output)];
      for (int64_t term = 0; term < channels * taps; ++term) {
        const int64_t from = (image * channels + term / taps) * length + at + term % taps * dilation;
        sum += source[static_cast<std::size_t>(from)] * weights[static_cast<std::size_t>(output * channels * taps + term)];
      }
      out.push_back(sum < 0 ? 0 : sum);
    }
    return out;
  }
};

TEST(FarTaps, OfWholeNumbersAreExact) {
  Draw draw(4, "far taps");
  for (int i = 0; i < 12; ++i) {
    Case one{draw.from(1, 2), 128, 0, draw.from(5, 40), draw.from(2, 3), draw.from(1, 2), draw.from(256, 300), {}, {}, {}};
    one.length = (one.taps - 1) * one.dilation + draw.from(1, 20);
    const Dims x{one.images, one.channels, one.length}, w{one.outputs, one.channels, one.taps};
    one.source = draw.integers(element_count(x)), one.weights = draw.integers(element_count(w)), one.bias = draw.integers(one.outputs);
    ModelBuilder builder;
    builder.input("x", x).constant("w", w, one.weights).constant("b", {one.outputs}, one.bias);
    builder.node("Conv", {"x", "w", "b"}, {"c"}).integers("strides", {one.stride}).integers("dilations", {one.dilation});
    builder.node("Relu", {"c"}, {"y"}).output("y");
    const auto model = builder.build();
    ExecuteOptions options;
    options.layout = LayoutChoice::always, options.threads = draw.yes() ? 1 : 2;
    Executor executor(model->graph(), options);
    ASSERT_EQ(values_of(executor.run({{"x", tensor_of(x, one.source)}}).at(0).tensor), one.convolved()) << to_string(x) << to_string(w);
    const auto steps = std::ranges::count_if(executor.plan_info().steps, [](const StepInfo& step) { return step.macs > 0; });
    EXPECT_EQ(steps, one.taps);
  }
}

}  // namespace
}  // namespace relayout::test
