#include "exec/kernels/wide_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <vector>

namespace relayout::exec {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The distance of two floats in floats; −0 and 0 are one apart, all NaNs are the same.
int64_t distance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? 0 : INT64_MAX;
  const auto place = [](float x) {
    const auto bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? int64_t{INT32_MIN} - bits - 1 : int64_t{bits};
  };
  return std::abs(place(a) - place(b));
}

/// Zeros, subnormals, infinities, NaN, the smallest and largest of either sign, and floats from everywhere between.
std::vector<float> samples() {
  constexpr uint32_t kStep = 10007;
  std::vector<float> out{0.0F, -0.0F, kInfinity, -kInfinity, kNan, 1.0F, -1.0F, 0x1p-149F, -0x1p-149F};
  for (uint64_t bits = 1; bits <= UINT32_MAX; bits += kStep) out.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const float around : {1.0F, -1.0F, 0.5F, -0.5F, 0.17F, 0.4F, 88.72F, -103.3F}) {
    for (int32_t i = -20; i <= 20; ++i) out.push_back(std::bit_cast<float>(std::bit_cast<int32_t>(around) + i));
  }
  return out;
}

struct Case {
  const char* name;
  double (*made)(double);
  double (*wanted)(double);
  float largest = kInfinity;
};

TEST(WideMath, FunctionsAreWithinOneUlpOfTheStandardLibrarys) {
  const std::array<Case, 11> cases{{
      {"exp", wide::exponential, [](double x) { return std::exp(x); }},
      {"log", wide::logarithm, [](double x) { return std::log(x); }},
      {"asin", wide::arc_sine, [](double x) { return std::asin(x); }},
      {"acos", wide::arc_cosine, [](double x) { return std::acos(x); }},
      {"atan", wide::arc_tangent, [](double x) { return std::atan(x); }},
      {"sinh", wide::hyperbolic_sine, [](double x) { return std::sinh(x); }},
      {"cosh", wide::hyperbolic_cosine, [](double x) { return std::cosh(x); }},
      {"asinh", wide::area_sine, [](double x) { return std::asinh(x); }},
      {"acosh", wide::area_cosine, [](double x) { return std::acosh(x); }},
      {"atanh", wide::area_tangent, [](double x) { return std::atanh(x); }},
      {"tan", wide::tangent, [](double x) { return std::tan(x); }, 8192},
  }};
  for (const Case& each : cases) {
    int64_t differing = 0, count = 0;
    for (const float x : samples()) {
      if (std::abs(x) > each.largest) continue;
      const auto made = static_cast<float>(each.made(x)), wanted = static_cast<float>(each.wanted(x));
      ASSERT_LE(distance(made, wanted), 1) << each.name << " " << x;
      ASSERT_TRUE(std::isnan(wanted) || std::signbit(made) == std::signbit(wanted)) << each.name << " " << x;
      differing += made != wanted && !std::isnan(wanted) ? 1 : 0;
      ++count;
    }
    EXPECT_LE(differing * 10000, count) << each.name;
  }
}

TEST(WideMath, PowersAreThoseOfTheStandardLibrary) {
  std::vector<float> bases{0.0F, -0.0F, 1.0F, -1.0F, kInfinity, -kInfinity, kNan,   2.0F,    -2.0F,       0.5F,       -0.5F,
                           3.0F, -3.0F, 2.5F, -2.5F, 1e30F,     -1e30F,     1e-40F, -1e-40F, 0.99999994F, 1.0000001F, -1.5F};
  std::vector<float> exponents = bases;
  for (const float y : {16777215.0F, 16777216.0F, 33554432.0F, -16777215.0F, 100.5F, -7.0F, 127.0F, 1.0F / 3}) exponents.push_back(y);
  for (const float x : samples()) bases.push_back(x);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    for (std::size_t k = 0; k < exponents.size(); ++k) {
      if (i > 100 && k % 7 != i % 7) continue;
      const float x = bases[i], y = exponents[k];
      const auto made = static_cast<float>(wide::power(x, y)), wanted = static_cast<float>(std::pow(double{x}, double{y}));
      ASSERT_LE(distance(made, wanted), 1) << x << "^" << y << ": " << made << ", " << wanted;
    }
  }
}

}  // namespace
}  // namespace relayout::exec
