#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace relayout::exec {

// Exponential, sigmoid, softplus, tanh, sine, cosine and erf of f32, to about 1 ulp or as each states, written so that the compiler
// vectorizes loops over them. NaN stays NaN.

/// c₀ · xⁿ + c₁ · xⁿ⁻¹ + … + cₙ.
template <class... Coefficients>
[[gnu::always_inline]] inline float polynomial(float x, float highest, Coefficients... lower) {
  ((highest = highest * x + lower), ...);
  return highest;
}

/// Adding this to an integer below 2²² leaves the integer in the low bits.
inline constexpr float kRounder = 12582912.0F;

/// x = n · ln 2 + r with r in ±ln 2 / 2, and 1 / ln 2 · x rounded as kRounder + n.
struct Reduced {
  float shifted, r;
};
[[gnu::always_inline]] inline Reduced reduced(float x) {
  const float shifted = x * 1.44269504088896341F + kRounder;
  const float n = shifted - kRounder;
  const float r = x - n * 0.693359375F;
  return {shifted, r - n * -2.12194440e-4F};
}

/// (e^r − 1 − r) / r² for r in ±ln 2 / 2: the series of e^r to r^7 (Cephes' expf coefficients).
[[gnu::always_inline]] inline float exponential_rest(float r) {
  return polynomial(r, 1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F);
}

/// e^r − 1.
[[gnu::always_inline]] inline float exponential_series(float r) {
  return exponential_rest(r) * (r * r) + r;
}

/// e^r.
[[gnu::always_inline]] inline float reduced_exponential(float r) {
  return polynomial(r, exponential_rest(r), 1.0F, 1.0F);
}

/// 2^n from the result of reduced(): n from −126 to 127, infinity for 128.
[[gnu::always_inline]] inline float power_of_two(float shifted) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23U) + 0x3F800000U);
}

/// e^x: 2^n · e^r. Subnormal results are reached through two factors.
[[gnu::always_inline]] inline float exponential(float x) {
  const float clamped = x < -104.0F ? -104.0F : (x > 89.0F ? 89.0F : x);
  const auto [shifted, r] = reduced(clamped);
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRounder);
  const int32_t half = exponent >> 1;
  const float first = std::bit_cast<float>((half + 127) << 23);
  const float second = std::bit_cast<float>((exponent - half + 127) << 23);
  return reduced_exponential(r) * first * second;
}

/// e^x for x from −87 on, where neither the result nor its factor 2^n is subnormal; infinity from 88.4.
[[gnu::always_inline]] inline float normal_exponential(float x) {
  const auto [shifted, r] = reduced(x);
  return reduced_exponential(r) * power_of_two(shifted);
}

/// 1 / (1 + e^(−x)). For other numerators, GCC 14 computes a division in each of the three cases: x · sigmoid(x) is faster than x / (…).
[[gnu::always_inline]] inline float sigmoid(float x) {
  return 1.0F / (1.0F + normal_exponential(x < -89.0F ? 89.0F : (x > 87.0F ? -87.0F : -x)));
}

/// log(1 + e^x) to 3 ulp: max(x, 0) + log(1 + u), u = e^(−|x|). That logarithm is 2 · artanh(s) for s = u / (u + 2), by its series in
/// s² ≤ 1/9.
[[gnu::always_inline]] inline float softplus(float x) {
  const float u = exponential(-std::fabs(x));
  const float s = u / (u + 2.0F);
  const float series =
      polynomial(s * s, 1.0F / 13.0F, 1.0F / 11.0F, 1.0F / 9.0F, 1.0F / 7.0F, 1.0F / 5.0F, 1.0F / 3.0F) * (s * s) * (2.0F * s) + 2.0F * s;
  return x > 0 ? x + series : series;
}

/// e / (e + 2) with e = e^(2x) − 1, to 3 ulp: 2^n · (e^r − 1) + (2^n − 1) keeps the relative precision near 0. It is 1 from 9.02 on.
[[gnu::always_inline]] inline float hyperbolic_tangent(float x) {
  const float clamped = x < -9.5F ? -9.5F : (x > 9.5F ? 9.5F : x);
  const auto [shifted, r] = reduced(clamped + clamped);
  const float scale = power_of_two(shifted);
  const float e = exponential_series(r) * scale + (scale - 1.0F);
  return std::copysign(e / (e + 2.0F), x);
}

/// Largest |x| that sine_or_cosine() reduces well.
inline constexpr float kWellReduced = 8192.0F;

/// sin(x), or cos(x) one quarter turn on, for |x| ≤ kWellReduced: x less whole quarter turns in three parts, then Cephes' sinf and cosf.
[[gnu::always_inline]] inline float sine_or_cosine(float x, int32_t quarter) {
  const float turns = (x * 0.636619772367581343F + kRounder) - kRounder;
  const float r = ((x - turns * 1.5703125F) - turns * 4.837512969970703125e-4F) - turns * 7.54978995489188216e-8F;
  const float square = r * r;
  const float sine = ((-1.9515295891e-4F * square + 8.3321608736e-3F) * square - 1.6666654611e-1F) * square * r + r;
  const float cosine =
      ((2.443315711809948e-5F * square - 1.388731625493765e-3F) * square + 4.166664568298827e-2F) * square * square - 0.5F * square + 1.0F;
  const int32_t which = static_cast<int32_t>(turns) + quarter;
  const float chosen = (which & 1) != 0 ? cosine : sine;
  return (which & 2) != 0 ? -chosen : chosen;
}

/// e^x − 1 to 4 ulp: near 0 its series, which keeps the relative precision.
[[gnu::always_inline]] inline float exponential_less_one(float x) {
  const float series = polynomial(x, 1.0F / 5040.0F, 1.0F / 720.0F, 1.0F / 120.0F, 1.0F / 24.0F, 1.0F / 6.0F, 0.5F);
  const float near = series * x * x + x;
  const float far = exponential(x) - 1.0F;
  return std::fabs(x) < 0.5F ? near : far;
}

/// erf(x) / x − 1 for |x| < 1, of x² (Cephes' erff: S. Moshier, ndtrf.c; in SciPy under the BSD licence).
[[gnu::always_inline]] inline float error_series(float square) {
  return polynomial(square, 7.853861353153693e-5F, -8.010193625184903e-4F, 5.188327685732524e-3F, -2.685381193529856e-2F,
                    1.128358514861418e-1F, -3.761262582423300e-1F, 1.28379165726710e-1F);
}

/// 1 − erf(z) for z in [1, 11]: e^(−z²) / z times a polynomial of 1/z², one up to 2 and one beyond. The square of z's upper half is exact;
/// e^rest, |rest| < 0.12, is its series. Rounding z² as a whole would cost 30 ulp. (The polynomials are those of Cephes' erfcf.)
[[gnu::always_inline]] inline float error_tail(float z) {
  const float inverse = 1.0F / z;
  const float u = inverse * inverse;
  const float near =
      polynomial(u, 2.326819970068386e-2F, -1.387039388740657e-1F, 3.687424674597105e-1F, -5.824733027278666e-1F, 6.210004621745983e-1F,
                 -4.944515323274145e-1F, 3.404879937665872e-1F, -2.741127028184656e-1F, 5.638259427386472e-1F);
  const float far = polynomial(u, -1.047766399936249e+1F, 1.297719955372516e+1F, -7.495518717768503e+0F, 2.921019019210786e+0F,
                               -1.015265279202700e+0F, 4.218463358204948e-1F, -2.820767439740514e-1F, 5.641895067754075e-1F);
  const float upper = std::bit_cast<float>(std::bit_cast<uint32_t>(z) & 0xfffff000U);
  const float rest = (upper - z) * (upper + z);
  const float rest_power = (((rest / 24.0F + 1.0F / 6.0F) * rest + 0.5F) * rest + 1.0F) * rest + 1.0F;
  return exponential(-upper * upper) * (rest_power * inverse) * (z < 2.0F ? near : far);
}

/// 1 − erf(x) to 5 ulp.
[[gnu::always_inline]] inline float error_complement(float x) {
  const float magnitude = std::fabs(x);
  const float tail = error_tail(magnitude > 11.0F ? 11.0F : magnitude);
  const float beyond = x < 0 ? 2.0F - tail : tail;
  const float within = 0.5F - ((x - 0.5F) + x * error_series(x * x));
  return magnitude < 1.0F ? within : beyond;
}

/// −log(1 − erf(t)) for t in [0.92, 4]: t · (1 + P(t)) with P fitted by least squares reweighted until the largest relative error of erf
/// was least, 3e-9.
[[gnu::always_inline]] inline float error_exponent(float t) {
  const float series = polynomial(t, -2.139849561210716e-4F, 3.2149556377649158e-3F, -2.2889964222628068e-2F, 1.0526184300098176e-1F,
                                  6.357183154695663e-1F, 1.2851436087048157e-1F);
  return series * t + t;
}

/// erf(x) to 2 ulp. It is 1 from 3.92 on.
[[gnu::always_inline]] inline float error_function(float x) {
  const float magnitude = std::fabs(x);
  const float beyond = 1.0F - normal_exponential(-error_exponent(magnitude > 4.0F ? 4.0F : magnitude));
  return magnitude < 1.0F ? error_series(x * x) * x + x : std::copysign(beyond, x);
}

/// The functions above, for the formulas of ops/formulas.h.
struct FloatMath {
  using Number = float;
  [[gnu::always_inline]] static float exponential(float x) { return exec::exponential(x); }
  [[gnu::always_inline]] static float exponential_less_one(float x) { return exec::exponential_less_one(x); }
  [[gnu::always_inline]] static float error_complement(float x) { return exec::error_complement(x); }
  [[gnu::always_inline]] static float sigmoid(float x) { return exec::sigmoid(x); }
  [[gnu::always_inline]] static float softplus(float x) { return exec::softplus(x); }
  [[gnu::always_inline]] static float hyperbolic_tangent(float x) { return exec::hyperbolic_tangent(x); }
};

/// a where it is larger or NaN, else b.
[[gnu::always_inline]] inline float larger(float a, float b) {
  return a > b || a != a ? a : b;
}

/// Largest of `count` ≥ 1 numbers, NaN if there is one.
[[nodiscard]] float maximum_of(const float* in, int64_t count);

/// Number of terms that are added in f32 before the sum continues in f64.
inline constexpr int64_t kSumBlock = 64;
/// Sum in blocks of kSumBlock terms.
[[nodiscard]] double sum_of(const float* in, int64_t count);

/// The sums of adjacent lines, each divided by `divisor`: faster than sum_of() for lines below kLongLine.
void sums_of_lines(float* out, const float* in, int64_t lines, int64_t length, double divisor);
inline constexpr int64_t kLongLine = 1024;

/// Number of terms of a line that are processed side by side.
inline constexpr int64_t kLanes = 16;

}  // namespace relayout::exec
