// Compares the weights of a fold with products in double, in vectorized loops that leave unclear ones to a slower comparison.

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "base/vectorize.h"
#include "proof/recompute.h"

namespace relayout::proof {
namespace {

struct Found {
  int64_t unclear = 0;
  int64_t near = 0;  ///< bits of a nonnegative number: they are in the order of the numbers
};

template <class Factor>
[[gnu::always_inline]] inline Found compare_by(const float* a, const float* b, int64_t count, const Factor& factor,
                                               const FoldLimits& limits) {
  constexpr double kClear = 0x1p-20, kSmallestNormal = 0x1p-126, kInfinity = 0x1p128;
  constexpr int64_t kExponent = 0x7ff0000000000000, kExponentOfInverse = int64_t{2046} << 52;
  const double surely_rounding = limits.rounding * (1 - kClear), surely_more = limits.rounding * (1 + kClear);
  const double surely_folded = limits.error * (1 - kClear);
  Found out;
  for (int64_t i = 0; i < count; ++i) {
    const double expected = static_cast<double>(a[i]) * factor(i), found = static_cast<double>(b[i]);
    const double size = std::abs(found), right = std::abs(expected), off = std::abs(found - expected);
    const int64_t exponent = std::bit_cast<int64_t>(size) & kExponent;
    const auto binade = std::bit_cast<double>(exponent), inverse = std::bit_cast<double>(kExponentOfInverse - exponent);
    const double per_binade = ((size == binade) & (right < size)) ? 0x1p24 : 0x1p23;  // units in the last place, as in spacing()
    const double units = off * per_binade * inverse;
    const bool is_exact = units <= surely_rounding;
    const bool is_off = (units >= surely_more) & (off <= surely_folded * right);
    const bool is_normal = (size >= kSmallestNormal) & (size < kInfinity) & (off < kInfinity);
    out.unclear += ((off == 0) | (is_normal & (is_exact | is_off))) ? 0 : 1;
    out.near = std::max(out.near, is_off ? std::bit_cast<int64_t>(units) : 0);
  }
  return out;
}

RELAYOUT_VECTORIZE Found compare(const float* a, const float* b, int64_t count, double factor, const FoldLimits& limits) {
  return compare_by(a, b, count, [=](int64_t) { return factor; }, limits);
}

RELAYOUT_VECTORIZE Found compare(const float* a, const float* b, std::span<const double> factors, const FoldLimits& limits) {
  const double* const all = factors.data();
  return compare_by(a, b, std::ssize(factors), [=](int64_t i) { return all[i]; }, limits);
}

template <class Factor>
[[gnu::always_inline]] inline int64_t count_unequal_by(const float* a, const float* b, int64_t count, const Factor& factor) {
  int64_t unequal = 0;
  for (int64_t i = 0; i < count; ++i) unequal += static_cast<float>(static_cast<double>(a[i]) * factor(i)) == b[i] ? 0 : 1;
  return unequal;
}

bool is_clear(const Found& found, double& near) {
  if (found.unclear != 0) return false;
  near = std::max(near, std::bit_cast<double>(found.near));
  return true;
}

}  // namespace

RELAYOUT_VECTORIZE int64_t count_unequal(const float* a, const float* b, int64_t count, double factor) {
  return count_unequal_by(a, b, count, [=](int64_t) { return factor; });
}

RELAYOUT_VECTORIZE int64_t count_unequal(const float* a, const float* b, std::span<const double> factors) {
  const double* const all = factors.data();
  return count_unequal_by(a, b, std::ssize(factors), [=](int64_t i) { return all[i]; });
}

RELAYOUT_VECTORIZE uint32_t largest_magnitude(const float* weights, int64_t count) {
  constexpr uint32_t kMagnitude = 0x7FFFFFFF;
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(weights[i]) & kMagnitude);
  return largest;
}

bool is_clearly_near(const float* a, const float* b, int64_t count, double factor, const FoldLimits& limits, double& near) {
  return is_clear(compare(a, b, count, factor, limits), near);
}

bool is_clearly_near(const float* a, const float* b, std::span<const double> factors, const FoldLimits& limits, double& near) {
  return is_clear(compare(a, b, factors, limits), near);
}

}  // namespace relayout::proof
