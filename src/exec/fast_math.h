#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace relayout {

// Functions of one variable to about 1 ulp, written so that the compiler widens loops over them. NaN stays NaN.

/// e^x: 2^n · e^r with r in ±ln 2 / 2 and the series of e^r to r^6 (Cephes' expf coefficients). Subnormal results are reached through
/// two factors.
[[gnu::always_inline]] inline float exponential(float x) {
  const float clamped = x < -104.0F ? -104.0F : (x > 89.0F ? 89.0F : x);
  const float shifted = clamped * 1.44269504088896341F + 12582912.0F;
  const float n = shifted - 12582912.0F;
  float r = clamped - n * 0.693359375F;
  r = r - n * -2.12194440e-4F;
  float series = 1.9875691500e-4F;
  series = series * r + 1.3981999507e-3F;
  series = series * r + 8.3334519073e-3F;
  series = series * r + 4.1665795894e-2F;
  series = series * r + 1.6666665459e-1F;
  series = series * r + 5.0000001201e-1F;
  series = series * r * r + r + 1.0F;
  const auto exponent = static_cast<int32_t>(n);
  const int32_t half = exponent >> 1;
  const float first = std::bit_cast<float>((half + 127) << 23);
  const float second = std::bit_cast<float>((exponent - half + 127) << 23);
  const float result = series * first * second;
  return x != x ? x : result;
}

[[gnu::always_inline]] inline float sigmoid(float x) {
  return 1.0F / (1.0F + exponential(-x));
}

/// Near 0 an odd polynomial (Cephes' tanhf), else 1 − 2 / (e^(2|x|) + 1) under the sign of x.
[[gnu::always_inline]] inline float hyperbolic_tangent(float x) {
  const float square = x * x;
  float series = -5.70498872745e-3F;
  series = series * square + 2.06390887954e-2F;
  series = series * square - 5.37397155531e-2F;
  series = series * square + 1.33314422036e-1F;
  series = series * square - 3.33332819422e-1F;
  const float near = series * square * x + x;
  const float magnitude = 1.0F - 2.0F / (exponential(2.0F * std::fabs(x)) + 1.0F);
  const float far = x < 0 ? -magnitude : magnitude;
  return square < 0.390625F ? near : far;
}

/// How far sine_or_cosine() reduces its argument well.
inline constexpr float kWellReduced = 8192.0F;

/// sin(x), or cos(x) one quarter turn on, for |x| ≤ kWellReduced: x less whole quarter turns in three parts, then Cephes' sinf and cosf.
[[gnu::always_inline]] inline float sine_or_cosine(float x, int32_t quarter) {
  const float turns = (x * 0.636619772367581343F + 12582912.0F) - 12582912.0F;
  const float r = ((x - turns * 1.5703125F) - turns * 4.837512969970703125e-4F) - turns * 7.54978995489188216e-8F;
  const float square = r * r;
  const float sine = ((-1.9515295891e-4F * square + 8.3321608736e-3F) * square - 1.6666654611e-1F) * square * r + r;
  const float cosine =
      ((2.443315711809948e-5F * square - 1.388731625493765e-3F) * square + 4.166664568298827e-2F) * square * square - 0.5F * square + 1.0F;
  const int32_t which = static_cast<int32_t>(turns) + quarter;
  const float chosen = (which & 1) != 0 ? cosine : sine;
  return (which & 2) != 0 ? -chosen : chosen;
}

/// e^x − 1 for x ≤ 0: near 0 its series, which keeps the relative precision.
[[gnu::always_inline]] inline float exponential_less_one(float x) {
  float series = 1.0F / 5040.0F;
  series = series * x + 1.0F / 720.0F;
  series = series * x + 1.0F / 120.0F;
  series = series * x + 1.0F / 24.0F;
  series = series * x + 1.0F / 6.0F;
  series = series * x + 0.5F;
  const float near = series * x * x + x;
  const float far = exponential(x) - 1.0F;
  return x > -0.5F ? near : far;
}

/// 1 − erf(x) to 2e-7 of itself (W. Press et al., Numerical Recipes, erfcc).
[[gnu::always_inline]] inline float error_complement(float x) {
  const float z = std::fabs(x);
  const float t = 1.0F / (1.0F + 0.5F * z);
  float series = 0.17087277F;
  series = series * t - 0.82215223F;
  series = series * t + 1.48851587F;
  series = series * t - 1.13520398F;
  series = series * t + 0.27886807F;
  series = series * t - 0.18628806F;
  series = series * t + 0.09678418F;
  series = series * t + 0.37409196F;
  series = series * t + 1.00002368F;
  series = series * t - 1.26551223F;
  const float tail = t * exponential(series - z * z);
  return x < 0 ? 2.0F - tail : tail;
}

/// erf(x): near 0 its Taylor series, which keeps the relative precision.
[[gnu::always_inline]] inline float error_function(float x) {
  const float square = x * x;
  float series = 1.0F / 9360.0F;
  series = series * square - 1.0F / 1320.0F;
  series = series * square + 1.0F / 216.0F;
  series = series * square - 1.0F / 42.0F;
  series = series * square + 0.1F;
  series = series * square - 1.0F / 3.0F;
  series = series * square + 1.0F;
  const float near = series * x * 1.12837916709551257F;
  const float far = 1.0F - error_complement(x);
  return square < 0.25F ? near : far;
}

}  // namespace relayout
