#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

namespace relayout {
namespace {

TEST(RandomStream, ValueDependsOnKeyAndIndexAlone) {
  const RandomStream a(1, "x", 0), b(1, "x", 0);
  EXPECT_EQ(a.bits(5), b.bits(5));
  EXPECT_NE(a.bits(5), a.bits(6));
  EXPECT_NE(a.bits(5), RandomStream(2, "x", 0).bits(5));
  EXPECT_NE(a.bits(5), RandomStream(1, "y", 0).bits(5));
  EXPECT_NE(a.bits(5), RandomStream(1, "x", 1).bits(5));
}

TEST(RandomStream, NamesOfTheSameLettersDiffer) {
  EXPECT_NE(RandomStream(1, "ab").bits(0), RandomStream(1, "ba").bits(0));
}

TEST(RandomStream, MomentsOfUniformAndNormal) {
  const RandomStream stream(7, "moments");
  constexpr int kCount = 100'000;
  double uniform = 0, mean = 0, square = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double u = stream.uniform(i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    uniform += u;
    const double n = stream.normal(i);
    ASSERT_TRUE(std::isfinite(n));
    mean += n;
    square += n * n;
  }
  // Six standard errors of each estimate.
  EXPECT_NEAR(uniform / kCount, 0.5, 6 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(mean / kCount, 0, 6 / std::sqrt(kCount));
  EXPECT_NEAR(square / kCount, 1, 6 * std::sqrt(2.0 / kCount));
}

/// Box and Muller's formula by the C library, in long double.
long double by_library(const RandomStream& stream, uint64_t index) {
  const long double first = stream.uniform(2 * index), second = stream.uniform(2 * index + 1);
  return std::sqrt(-2 * std::log(1 - first)) * std::cos(2 * std::numbers::pi_v<long double> * second);
}

TEST(RandomStream, NormalsAreThoseOfTheFormula) {
  const RandomStream stream(11, "normals");
  for (uint64_t i = 0; i < 100'000; ++i) {
    const long double expected = by_library(stream, i);
    ASSERT_NEAR(stream.normal(i), static_cast<double>(expected), 4e-16 * (1 + std::abs(static_cast<double>(expected)))) << i;
  }
}

TEST(RandomStream, ManyNormalsAreTheSameBitsAsEach) {
  const RandomStream stream(13, "many");
  std::vector<double> many(1003);
  stream.normals(5, many);
  for (std::size_t i = 0; i < many.size(); ++i) ASSERT_EQ(many[i], stream.normal(5 + i)) << i;
}

TEST(RandomStream, BelowCoversTheRange) {
  const RandomStream stream(3, "below");
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t value = stream.below(i, 7);
    ASSERT_LT(value, 7U);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 7U);
}

}  // namespace
}  // namespace relayout
