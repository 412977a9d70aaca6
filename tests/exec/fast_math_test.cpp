// Tests the f32 functions of exec/kernels/fast_math.h against the standard library's in long double, and on special values.
#include "exec/kernels/fast_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace relayout::exec {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The distance from the exact value in steps of the float nearest to it.
double ulps(float made, long double exact) {
  const auto nearest = std::fabs(static_cast<float>(exact));
  const long double step = std::nextafter(nearest, kInfinity) - nearest;
  return static_cast<double>(std::fabs(static_cast<long double>(made) - exact) / step);
}

/// The largest error over floats of either sign from the whole range [2^-126, `end`).
template <class Made, class Wanted>
double worst(Made made, Wanted wanted, float end) {
  constexpr int32_t kStep = 1009;
  double out = 0;
  for (int32_t bits = 0x00800000; bits < std::bit_cast<int32_t>(end); bits += kStep) {
    const auto x = std::bit_cast<float>(bits);
    out = std::max({out, ulps(made(x), wanted(x)), ulps(made(-x), wanted(-x))});
  }
  return out;
}

TEST(FastMath, ExponentialIsWithinTwoUlp) {
  EXPECT_LT(worst([](float x) { return exponential(x); }, [](float x) { return std::exp(static_cast<long double>(x)); }, 87.0F), 2.0);
  EXPECT_EQ(exponential(kInfinity), kInfinity);
  EXPECT_EQ(exponential(-kInfinity), 0.0F);
  EXPECT_TRUE(std::isnan(exponential(kNan)));
  for (const float x : {-88.0F, -95.0F, -100.0F, -103.0F}) {
    EXPECT_NEAR(exponential(x), static_cast<double>(std::exp(static_cast<long double>(x))), 0x1p-146) << x;
  }
}

TEST(FastMath, SigmoidIsWithinThreeUlp) {
  const auto wanted = [](float x) { return 1.0L / (1.0L + std::exp(-static_cast<long double>(x))); };
  EXPECT_LT(worst([](float x) { return sigmoid(x); }, wanted, 87.0F), 3.0);
  EXPECT_EQ(sigmoid(kInfinity), 1.0F);
  EXPECT_EQ(sigmoid(-kInfinity), 0.0F);
  EXPECT_TRUE(std::isnan(sigmoid(kNan)));
  for (const float x : {87.5F, 88.0F, 88.5F, 100.0F}) {
    EXPECT_NEAR(sigmoid(-x), 0.0F, 0x1p-125) << x;
    EXPECT_EQ(sigmoid(x), 1.0F) << x;
  }
}

TEST(FastMath, ExponentialLessOneIsWithinFourUlp) {
  const auto wanted = [](float x) { return std::expm1(static_cast<long double>(x)); };
  EXPECT_LT(worst([](float x) { return exponential_less_one(x); }, wanted, 87.0F), 4.0);
  EXPECT_EQ(exponential_less_one(kInfinity), kInfinity);
  EXPECT_EQ(exponential_less_one(-kInfinity), -1.0F);
  EXPECT_TRUE(std::isnan(exponential_less_one(kNan)));
}

TEST(FastMath, SoftplusIsWithinThreeUlp) {
  const auto wanted = [](float x) { return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(static_cast<long double>(x)))); };
  EXPECT_LT(worst([](float x) { return softplus(x); }, wanted, 87.0F), 3.0);
  EXPECT_EQ(softplus(kInfinity), kInfinity);
  EXPECT_EQ(softplus(-kInfinity), 0.0F);
  EXPECT_EQ(softplus(1e30F), 1e30F);
  EXPECT_TRUE(std::isnan(softplus(kNan)));
  for (const float x : {87.5F, 90.0F, 103.0F}) EXPECT_NEAR(softplus(-x), static_cast<double>(wanted(-x)), 0x1p-146) << x;
}

TEST(FastMath, HyperbolicTangentIsWithinThreeUlp) {
  EXPECT_LT(worst([](float x) { return hyperbolic_tangent(x); }, [](float x) { return std::tanh(static_cast<long double>(x)); }, 100.0F),
            3.0);
  EXPECT_EQ(hyperbolic_tangent(kInfinity), 1.0F);
  EXPECT_EQ(hyperbolic_tangent(-kInfinity), -1.0F);
  EXPECT_TRUE(std::signbit(hyperbolic_tangent(-0.0F)));
  EXPECT_TRUE(std::isnan(hyperbolic_tangent(kNan)));
}

TEST(FastMath, ErrorFunctionIsWithinTwoUlp) {
  EXPECT_LT(worst([](float x) { return error_function(x); }, [](float x) { return std::erf(static_cast<long double>(x)); }, 20.0F), 2.0);
}

TEST(FastMath, ErrorComplementIsWithinFiveUlp) {
  // Above 9, results are subnormal; they are checked below.
  EXPECT_LT(worst([](float x) { return error_complement(x); }, [](float x) { return std::erfc(static_cast<long double>(x)); }, 9.0F), 5.0);
}

TEST(FastMath, ErrorFunctionsAtTheirEnds) {
  EXPECT_EQ(error_function(0.0F), 0.0F);
  EXPECT_TRUE(std::signbit(error_function(-0.0F)));
  EXPECT_EQ(error_function(kInfinity), 1.0F);
  EXPECT_EQ(error_function(-kInfinity), -1.0F);
  EXPECT_EQ(error_complement(0.0F), 1.0F);
  EXPECT_EQ(error_complement(kInfinity), 0.0F);
  EXPECT_EQ(error_complement(-kInfinity), 2.0F);
  EXPECT_TRUE(std::isnan(error_function(kNan)));
  EXPECT_TRUE(std::isnan(error_complement(kNan)));
  for (const float x : {9.1F, 9.5F, 10.0F, 10.5F}) {
    EXPECT_NEAR(error_complement(x), static_cast<double>(std::erfc(static_cast<long double>(x))), 0x1p-146) << x;
  }
}

}  // namespace
}  // namespace relayout::exec
