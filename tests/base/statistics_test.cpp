// Tests medians and their intervals against tables and brute force.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>

#include "base/times.h"
#include "relayout/estimate.h"

namespace relayout::test {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 1);
  return out;
}

TEST(Statistics, MedianAndQuantiles) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3}), 3);
  EXPECT_EQ(median_of({4, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  const std::vector<double> hundred = one_to(100);
  EXPECT_EQ(quantile(hundred, 0.9), 90);
  EXPECT_EQ(quantile(hundred, 0.99), 99);
  EXPECT_EQ(quantile(hundred, 1), 100);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.9), 7);
}

/// Ranks of the 95 % interval of a median, from cumulative binomial tables.
TEST(Statistics, IntervalHasTheTabulatedRanks) {
  const std::vector<std::vector<int>> table = {{6, 1, 6}, {10, 2, 9}, {15, 4, 12}, {20, 6, 15}, {30, 10, 21}, {50, 18, 33}, {100, 40, 61}};
  for (const std::vector<int>& row : table) {
    const auto interval = median_interval(one_to(row[0]));
    ASSERT_TRUE(interval) << row[0];
    EXPECT_EQ(interval->low, row[1]) << row[0];
    EXPECT_EQ(interval->high, row[2]) << row[0];
  }
  for (int n = 0; n < 6; ++n) EXPECT_FALSE(median_interval(one_to(n))) << n;
}

/// Where the normal approximation replaces the sum of probabilities, the ranks continue without a jump.
TEST(Statistics, LargeCountsContinueTheRanks) {
  const auto exact = median_interval(one_to(1000)), normal = median_interval(one_to(1001));
  ASSERT_TRUE(exact && normal);
  EXPECT_NEAR(exact->low, normal->low, 1);
  EXPECT_NEAR(exact->high, normal->high, 2);
  EXPECT_TRUE(median_interval(one_to(100'000)));
}

/// In at least 95 of 100 experiments, the interval contains the true median of a distribution that is far from normal.
TEST(Statistics, IntervalHoldsTheMedian) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> times(1);
  const double median = std::log(2);
  for (const int n : {6, 20, 51, 200}) {
    int held = 0;
    constexpr int kExperiments = 2000;
    for (int i = 0; i < kExperiments; ++i) {
      std::vector<double> values(static_cast<std::size_t>(n));
      for (double& value : values) value = times(random);
      const Estimate result = estimate(values);
      held += result.interval->low <= median && median <= result.interval->high ? 1 : 0;
    }
    EXPECT_GE(held, kExperiments * 0.94) << n;
  }
}

/// A disturbance of one pair of a round does not move the ratio.
TEST(Statistics, RatioOfPairs) {
  std::vector<std::vector<double>> rounds;
  for (int round = 0; round < 10; ++round) rounds.push_back({1.9, 2.0, 40.0, 2.0 + 0.01 * round});
  const Estimate ratio = estimate_ratio(rounds);
  EXPECT_NEAR(ratio.median, 2.02, 0.03);
  ASSERT_TRUE(ratio.interval);
  EXPECT_LE(ratio.interval->low, ratio.median);
  EXPECT_GE(ratio.interval->high, ratio.median);
  EXPECT_LT(ratio.interval->high, 2.1);
  EXPECT_FALSE(estimate_ratio({{1.0, 1.1}}).interval) << "one round is no sample of rounds";
}

/// 10 … 12 over 4 … 5: between 10 / 5 and 12 / 4.
TEST(Statistics, RatiosOfTwoMeasuredApartSpanTheExtremes) {
  const Estimate ratio = ratio_of({4.5, Interval{4, 5}}, {11.25, Interval{10, 12}});
  EXPECT_DOUBLE_EQ(ratio.median, 2.5);
  ASSERT_TRUE(ratio.interval);
  EXPECT_DOUBLE_EQ(ratio.interval->low, 2);
  EXPECT_DOUBLE_EQ(ratio.interval->high, 3);
  EXPECT_FALSE(ratio_of({1, std::nullopt}, {1, Interval{1, 1}}).interval);
  EXPECT_EQ(ratio_of({0, std::nullopt}, {0, std::nullopt}).median, 1);
  EXPECT_TRUE(std::isinf(ratio_of({1, Interval{0, 2}}, {1, Interval{1, 1}}).interval->high));
}

/// The whole interval shows a difference; only a narrow interval shows that there is none.
TEST(Statistics, WideIntervalsAreNotTheSame) {
  const auto judge = [](double low, double high) { return judge_time({(low + high) / 2, Interval{low, high}}); };
  EXPECT_EQ(judge(0.5, 0.9), TimeClass::faster);
  EXPECT_EQ(judge(1.01, 5), TimeClass::slower);
  EXPECT_EQ(judge(0.96, 1.03), TimeClass::same);
  EXPECT_EQ(judge(1, 1), TimeClass::same);
  EXPECT_EQ(judge(0.8, 1.05), TimeClass::inconclusive);
  EXPECT_EQ(judge(0.99, 1.3), TimeClass::inconclusive);
  EXPECT_EQ(judge(0.4, 6), TimeClass::inconclusive);
  EXPECT_EQ(judge_time({3.2, std::nullopt}), TimeClass::unknown);
}

}  // namespace
}  // namespace relayout::test
