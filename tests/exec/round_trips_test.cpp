// Tests nodes to another type and back, which run as one function, against the definitions of ONNX in double.

#include <cmath>

#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

/// saturate(round half to even(x / scale) + zero point), then (q − zero point) · scale.
template <class Code>
float in_steps(float x, float scale, Code zero) {
  constexpr double kLow = std::numeric_limits<Code>::min(), kHigh = std::numeric_limits<Code>::max();
  const double code = std::fmin(std::fmax(std::nearbyint(static_cast<double>(x / scale)) + zero, kLow), kHigh);
  return static_cast<float>(code - zero) * scale;
}

template <class Code>
void expect_steps(float scale, Code zero) {
  std::vector<float> x{0.0F, -0.0F, 1e30F, -1e30F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  for (int i = -1200; i <= 1200; ++i) x.push_back(static_cast<float>(i) * scale / 4);  // halves too
  const Dims dims{std::ssize(x)};
  ModelBuilder builder;
  builder.input("x", dims).constant("s", Dims{}, std::vector<float>{scale}).constant("z", Dims{}, std::vector<Code>{zero});
  builder.node("QuantizeLinear", {"x", "s", "z"}, {"q"}).node("DequantizeLinear", {"q", "s", "z"}, {"y"}).output("y");
  const auto model = builder.build();
  Executor executor(model->graph(), {});
  const std::vector<float> got = values_of(executor.run({{"x", tensor_of(dims, x)}}).at(0).tensor);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], in_steps(x[i], scale, zero)) << x[i] << " in steps of " << scale;
  EXPECT_EQ(executor.plan_info().steps.size(), 1U);
}

TEST(RoundTrips, QuantizedNumbersAreOnTheStepsOfTheirType) {
  for (const float scale : {0.25F, 0.0371F, 3.0F}) {
    for (const int zero : {0, 1, 127}) {
      expect_steps(scale, static_cast<int8_t>(zero)), expect_steps(scale, static_cast<int8_t>(-1 - zero));
      expect_steps(scale, static_cast<uint8_t>(zero)), expect_steps(scale, static_cast<uint8_t>(255 - zero));
    }
  }
}

/// What others read too stays as it is.
TEST(RoundTrips, CodesThatAreGivenOutAreCodes) {
  ModelBuilder builder;
  builder.input("x", {4}).constant("s", Dims{}, std::vector<float>{0.5F}).constant("z", Dims{}, std::vector<uint8_t>{10});
  builder.node("QuantizeLinear", {"x", "s", "z"}, {"q"}).node("DequantizeLinear", {"q", "s", "z"}, {"y"}).output("q").output("y");
  const auto model = builder.build();
  const Outputs outputs = Executor(model->graph(), {}).run({{"x", tensor_of({4}, {-9, 0.3F, 1, 200})}});
  const auto* const codes = outputs.at(0).tensor.data<uint8_t>();
  EXPECT_EQ(std::vector<uint8_t>(codes, codes + 4), (std::vector<uint8_t>{0, 11, 12, 255}));
  EXPECT_EQ(values_of(outputs.at(1).tensor), (std::vector<float>{-5, 0.5F, 1, 122.5F}));
}

}  // namespace
}  // namespace relayout::test
