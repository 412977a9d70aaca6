#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/vectorize.h"

namespace relayout::wide {

// Exponential, logarithm, power, tangent, inverse and hyperbolic functions of numbers that were floats, in double: errors below 2⁻³², so
// that rounding to float is nearly always right. Special values follow IEEE 754. Written so that the compiler vectorizes loops over them:
// no branches, no conversions to integers that vectors lack.

/// Adding this to an integer below 2⁵¹ leaves the integer in the low bits.
inline constexpr double kRounder = 6755399441055744.0;

/// e^x as 2^n · e^r with |r| ≤ ln 2 / 2; beyond ±110, where no float results, its value at ±110.
[[gnu::always_inline]] inline double exponential(double x) {
  const double clamped = x < -110.0 ? -110.0 : (x > 110.0 ? 110.0 : x);
  const double shifted = clamped * 1.4426950408889634 + kRounder;
  const double n = shifted - kRounder;
  const double r = (clamped - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  constexpr double kSeries[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
  const double scale = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) << 52U) + 0x3FF0000000000000U);
  return polynomial(kSeries, r) * scale;
}

/// atanh(t) / t as a series in z = t²; up to |t| = 0.172.
[[gnu::always_inline]] inline double area_series(double z) {
  constexpr double kSeries[] = {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13};
  return polynomial(kSeries, z);
}

/// log(x): x = 2^k · m with m in [√½, √2), log m = 2 atanh((m − 1) / (m + 1)).
[[gnu::always_inline]] inline double logarithm(double x) {
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCDU, kOne = 0x3FF0000000000000U;
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t biased = (bits - kRootHalf + kOne) >> 52U;  // k + 1023
  const double k = std::bit_cast<double>(biased | 0x4330000000000000U) - 4503599627371519.0;
  const double m = std::bit_cast<double>(bits - (biased << 52U) + kOne);
  const double t = (m - 1.0) / (m + 1.0);
  const double result = k * 0.693147180559945309 + 2.0 * t * area_series(t * t);
  const double finite = x < HUGE_VAL ? result : x;
  const double edge = x == 0 ? -HUGE_VAL : NAN;
  return x > 0 ? finite : edge;
}

/// atan(x): |x| against tan(π/8) and tan(3π/8), then a polynomial.
[[gnu::always_inline]] inline double arc_tangent(double x) {
  const double a = std::fabs(x);
  const bool far = a > 2.414213562373095, middle = a > 0.41421356237309503;
  const double numerator = far ? -1.0 : (middle ? a - 1.0 : a);
  const double denominator = far ? a : (middle ? a + 1.0 : 1.0);
  const double base = far ? 1.5707963267948966 : (middle ? 0.78539816339744831 : 0.0);
  const double t = numerator / denominator;
  constexpr double kFitted[] = {0.9999999999783985, -0.3333333209760746,  0.19999883856415748, -0.14281588768796225,
                                0.1104048917592676, -0.08456192571555839, 0.047073474193883906};
  return std::copysign(base + t * polynomial(kFitted, t * t), x);
}

/// asin(√z) / √z for z ≤ ¼.
[[gnu::always_inline]] inline double arc_sine_series(double z) {
  constexpr double kFitted[] = {1.0000000000008256,   0.16666666613277378, 0.0750000565588075,   0.044640564680999494, 0.03042811914881786,
                                0.021855741576299232, 0.02068133244816275, 0.001915596005647946, 0.032957613219395554};
  return polynomial(kFitted, z);
}

/// asin(a) for 0 ≤ a ≤ ½; beyond it asin(√((1 − a) / 2)), from which asin(a) = π/2 − 2 asin(√((1 − a) / 2)).
[[gnu::always_inline]] inline double reduced_arc_sine(double a, bool far) {
  const double z = far ? (1.0 - a) * 0.5 : a * a;
  const double root = far ? std::sqrt(z) : a;
  return root * arc_sine_series(z);
}

[[gnu::always_inline]] inline double arc_sine(double x) {
  const double a = std::fabs(x);
  const bool far = a > 0.5;
  const double r = reduced_arc_sine(a, far);
  return std::copysign(far ? 1.5707963267948966 - 2.0 * r : r, x);
}

[[gnu::always_inline]] inline double arc_cosine(double x) {
  const double a = std::fabs(x);
  const bool far = a > 0.5;
  const double r = reduced_arc_sine(a, far);
  const double outside = x < 0 ? 3.1415926535897932 - 2.0 * r : 2.0 * r;
  return far ? outside : 1.5707963267948966 - std::copysign(r, x);
}

/// sinh(x): near 0 its series, which keeps the relative precision.
[[gnu::always_inline]] inline double hyperbolic_sine(double x) {
  constexpr double kSeries[] = {1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800};
  const double a = std::fabs(x), e = exponential(a);
  const double near = x * polynomial(kSeries, x * x);
  const double far = std::copysign(0.5 * (e - 1.0 / e), x);
  return a < 1.0 ? near : far;
}

[[gnu::always_inline]] inline double hyperbolic_cosine(double x) {
  const double e = exponential(std::fabs(x));
  return 0.5 * (e + 1.0 / e);
}

/// asinh(x) = atanh(x / √(1 + x²)), far from 0 log(|x| + √(1 + x²)).
[[gnu::always_inline]] inline double area_sine(double x) {
  const double a = std::fabs(x), root = std::sqrt(a * a + 1.0);
  const double t = a / root;
  const double far = logarithm(a + root);
  return std::copysign(a < 0.17 ? t * area_series(t * t) : far, x);
}

[[gnu::always_inline]] inline double area_cosine(double x) {
  const double result = logarithm(x + std::sqrt(x * x - 1.0));
  return x >= 1.0 ? result : NAN;
}

[[gnu::always_inline]] inline double area_tangent(double x) {
  const double near = x * area_series(x * x);
  const double far = 0.5 * logarithm((1.0 + x) / (1.0 - x));
  return std::fabs(x) < 0.17 ? near : far;
}

/// tan(x) for |x| ≤ 8192: x less whole quarter turns in two parts.
[[gnu::always_inline]] inline double tangent(double x) {
  constexpr double kSine[] = {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800};
  constexpr double kCosine[] = {1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
  const double shifted = x * 0.63661977236758134 + kRounder;
  const double n = shifted - kRounder;
  const double r = (x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11;
  const double sine = r * polynomial(kSine, r * r), cosine = polynomial(kCosine, r * r);
  const bool odd = (std::bit_cast<uint64_t>(shifted) & 1U) != 0;
  return (odd ? -cosine : sine) / (odd ? sine : cosine);
}

/// x^y: ±e^(y · log |x|).
[[gnu::always_inline]] inline double power(double x, double y) {
  const double size = exponential(y * logarithm(std::fabs(x)));
  const double half = 0.5 * y;
  const bool whole = std::nearbyint(y) == y, even = std::nearbyint(half) == half;
  const double of_whole = even ? size : -size;
  const double of_fraction = ((x < 0) & (x > -HUGE_VAL)) != 0 ? NAN : size;
  const double of_negative = whole ? of_whole : of_fraction;
  const double result = std::copysign(1.0, x) < 0 ? of_negative : size;
  return (y == 0) | (x == 1) | ((x == -1) & (std::fabs(y) == HUGE_VAL)) ? 1.0 : result;
}

}  // namespace relayout::wide
