
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "tensors.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/reference_output.h"

namespace relayout {
namespace {

using ::testing::ElementsAre;
using testing::floats;
using ::testing::HasSubstr;
using testing::integers;
using testing::optional;
using testing::sequence;
using testing::strings;
using testing::tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

SampleMetrics compared(const Datum& a, const Datum& b, Floor floor = {1e-7, 1e-7}) {
  Yardstick yardstick;
  yardstick.add(a);
  SampleMetrics metrics = measure(a, b, yardstick);
  judge_numbers(metrics, leaves(a).front().type(), floor);
  return metrics;
}

TEST(Compare, MetricsAreTheirFormulasInDouble) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal(3, 2);
  std::vector<double> a(5000), b(5000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(normal(engine));
    b[i] = static_cast<float>(a[i] + 1e-4 * normal(engine));
  }
  b[4321] = a[4321] + 0.5;
  // The formulas, written out once more.
  double minimum = a[0], maximum = a[0], sum = 0, worst = 0, squares = 0, dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    minimum = std::min(minimum, a[i]);
    maximum = std::max(maximum, a[i]);
    sum += a[i];
    worst = std::max(worst, std::fabs(a[i] - b[i]));
    squares += (a[i] - b[i]) * (a[i] - b[i]);
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  const double n = 5000, mean = sum / n;
  double variance = 0;
  for (const double value : a) variance += (value - mean) * (value - mean) / n;

  const SampleMetrics metrics = compared(floats({5, 1000}, a), floats({5, 1000}, b));
  EXPECT_NEAR(metrics.max_abs, worst, 1e-15);
  EXPECT_NEAR(metrics.max_error, worst / (maximum - minimum), 1e-12);
  EXPECT_NEAR(metrics.rms_error, std::sqrt(squares / n) / std::sqrt(variance), 1e-9);
  EXPECT_NEAR(metrics.cosine, dot / std::sqrt(aa * bb), 1e-12);
  EXPECT_NEAR(metrics.psnr, 20 * std::log10((maximum - minimum) / std::sqrt(squares / n)), 1e-9);
  EXPECT_THAT(metrics.worst.at, ElementsAre(4, 321));
  EXPECT_EQ(metrics.worst.a, a[4321]);
  EXPECT_EQ(metrics.worst.b, static_cast<float>(b[4321]));
}

TEST(Compare, EqualTensorsAreSameWithInfinitePsnr) {
  const Tensor a = floats({4}, {1, -2, 3, 0});
  const SampleMetrics metrics = compared(a, a);
  EXPECT_EQ(metrics.outcome, Outcome::same);
  EXPECT_EQ(metrics.ratio, 0);
  EXPECT_EQ(metrics.psnr, kInfinity);
  EXPECT_EQ(metrics.cosine, 1);
  EXPECT_THAT(metrics.ulp_histogram, ElementsAre(4));
}

TEST(Compare, UlpHistogramCountsByPowersOfTwo) {
  const float one = 1, up1 = std::nextafter(one, 2.0F);
  float up5 = one;
  for (int i = 0; i < 5; ++i) up5 = std::nextafter(up5, 2.0F);
  // 0, 1 and 5 ULP; and from the smallest negative to the smallest positive number two.
  const float tiny = std::numeric_limits<float>::denorm_min();
  const SampleMetrics metrics = compared(floats({4}, {1, 1, 1, -tiny}), floats({4}, {1, up1, up5, tiny}));
  EXPECT_THAT(metrics.ulp_histogram, ElementsAre(1, 1, 1, 1));
}

TEST(Compare, UlpsAreThoseOfTheType) {
  const SampleMetrics half = compared(tensor(DataType::float16, {2}, {1, 2}), tensor(DataType::float16, {2}, {1 + 0x1p-10, 2}));
  EXPECT_THAT(half.ulp_histogram, ElementsAre(1, 1));
  const SampleMetrics brain = compared(tensor(DataType::bfloat16, {2}, {1, 2}), tensor(DataType::bfloat16, {2}, {1 + 0x1p-6, 2}));
  EXPECT_THAT(brain.ulp_histogram, ElementsAre(1, 0, 1));
  const SampleMetrics wide = compared(tensor(DataType::float64, {2}, {1, 2}), tensor(DataType::float64, {2}, {1 + 0x1p-52, 2}));
  EXPECT_THAT(wide.ulp_histogram, ElementsAre(1, 1));
}

TEST(Compare, V23ElementsNearZeroAreJudgedByTheRange) {
  // Element-wise the first differs by a factor of 100, over the range by 1e-7.
  const SampleMetrics metrics = compared(floats({3}, {1e-9, 1, -1}), floats({3}, {1e-7, 1, -1}), {5e-8, 5e-8});
  EXPECT_EQ(metrics.outcome, Outcome::same);
  EXPECT_THAT(metrics.worst.at, ElementsAre(0));
}

TEST(Compare, V27ConstantFactor) {
  const SampleMetrics metrics = compared(floats({3}, {0.5, 1, -1}), floats({3}, {0.5005, 1.001, -1.001}));
  EXPECT_EQ(metrics.outcome, Outcome::different);
  EXPECT_NEAR(metrics.max_error, 5e-4, 1e-7);
  EXPECT_THAT(metrics.reason, HasSubstr("error/range 5.0e-04"));
}

TEST(Compare, V28TinyOutputsReplacedByZeroOrNegated) {
  const Tensor tiny = floats({3}, {1e-6, -1e-6, 5e-7});
  const SampleMetrics zeroed = compared(tiny, floats({3}, {0, 0, 0}));
  EXPECT_EQ(zeroed.outcome, Outcome::different);
  EXPECT_NEAR(zeroed.max_error, 0.5, 1e-6);  // of a range of 2e-6
  const SampleMetrics negated = compared(floats({2}, {1e-8, -1e-8}), floats({2}, {-1e-8, 1e-8}));
  EXPECT_EQ(negated.outcome, Outcome::different);
  EXPECT_NEAR(negated.max_error, 1, 1e-6);
}

TEST(Compare, RmsAloneIsEnoughToDiffer) {
  // Every element off by 4 floors, none by more: the bound on the largest error holds, the one on RMS does not.
  std::vector<double> a(1000), b(1000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = i % 2 == 0 ? 0.5 : 0.5 + 1e-3;
    b[i] = a[i];
  }
  a[0] = 0;
  a[1] = 1;
  b[0] = 0;
  b[1] = 1;
  for (std::size_t i = 2; i < b.size(); ++i) b[i] += 4e-6;
  const SampleMetrics metrics = compared(tensor(DataType::float64, {1000}, a), tensor(DataType::float64, {1000}, b), {1e-6, 1e-6});
  EXPECT_LT(metrics.max_error, metrics.bound.max);
  EXPECT_EQ(metrics.outcome, Outcome::different);
  EXPECT_THAT(metrics.reason, HasSubstr("RMS/deviation"));
}

TEST(Compare, BoundIsFiveFloorsOrTheTypesMinimum) {
  for (const auto& [type, minimum] :
       {std::pair{DataType::float64, 1e-13}, {DataType::float32, 2e-7}, {DataType::float16, 1e-3}, {DataType::bfloat16, 8e-3}}) {
    SampleMetrics metrics;
    judge_numbers(metrics, type, {0.1, 0.2});
    EXPECT_DOUBLE_EQ(metrics.bound.max, 0.5);
    EXPECT_DOUBLE_EQ(metrics.bound.rms, 1.0);
    EXPECT_FALSE(metrics.least_bound);
    judge_numbers(metrics, type, {1e-20, 1e-20});
    EXPECT_DOUBLE_EQ(metrics.bound.max, minimum);
    EXPECT_DOUBLE_EQ(metrics.bound.rms, minimum);
    EXPECT_TRUE(metrics.least_bound);
    // The reason names the exceeded bound.
    metrics.max_error = 2;
    judge_numbers(metrics, type, {0.1, 0.2});
    EXPECT_EQ(metrics.reason, "error/range 2.0e+00 is above 5.0e-01, 5 × floor");
    judge_numbers(metrics, type, {1e-20, 1e-20});
    EXPECT_THAT(metrics.reason, HasSubstr(", the least bound of " + std::string(name_of(type))));
  }
}

TEST(Compare, V46NonFiniteElementsAtTheSamePlacesAreCounted) {
  const SampleMetrics metrics =
      compared(floats({5}, {kNan, kInfinity, -kInfinity, 1, 2}), floats({5}, {kNan, kInfinity, -kInfinity, 1, 2}));
  EXPECT_EQ(metrics.outcome, Outcome::same);
  EXPECT_EQ(metrics.non_finite.nan_both, 1);
  EXPECT_EQ(metrics.non_finite.unequal(), 0);
}

TEST(Compare, V47NanInOneOnly) {
  const SampleMetrics in_b = compared(floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {1, 2, kNan, kNan}));
  EXPECT_EQ(in_b.outcome, Outcome::different);
  EXPECT_EQ(in_b.non_finite.nan_b, 2);
  EXPECT_THAT(in_b.worst.at, ElementsAre(1, 0));
  EXPECT_THAT(in_b.reason, HasSubstr("2 elements are NaN in B only"));
  const SampleMetrics in_a = compared(floats({2}, {kNan, 2}), floats({2}, {1, 2}));
  EXPECT_EQ(in_a.outcome, Outcome::different);
  EXPECT_EQ(in_a.non_finite.nan_a, 1);
}

TEST(Compare, V48InfinitiesMustAgree) {
  for (const double other : {-kInfinity, static_cast<double>(std::numeric_limits<float>::max())}) {
    const SampleMetrics metrics = compared(floats({2}, {kInfinity, 1}), floats({2}, {other, 1}));
    EXPECT_EQ(metrics.outcome, Outcome::different);
    EXPECT_EQ(metrics.non_finite.infinite, 1);
  }
}

TEST(Compare, V53IntegersAreExact) {
  const SampleMetrics big = compared(integers({3}, {1000000, 2, 3}), integers({3}, {1000005, 2, 3}));
  EXPECT_EQ(big.outcome, Outcome::different);
  EXPECT_THAT(big.reason, HasSubstr("1 element differs, first [0]: 1000005, was 1000000"));
  // Beyond the integers that double represents.
  const int64_t beyond = int64_t{1} << 53;
  EXPECT_THAT(compared(integers({1}, {beyond}), integers({1}, {beyond + 1})).reason, HasSubstr("9007199254740993, was 9007199254740992"));
  Tensor a(DataType::uint64, {1}), b(DataType::uint64, {1});
  *a.data<uint64_t>() = 18446744073709551614U;
  *b.data<uint64_t>() = 18446744073709551615U;
  EXPECT_THAT(compared(a, b).reason, HasSubstr("18446744073709551615, was 18446744073709551614"));
  EXPECT_EQ(compared(a, a).outcome, Outcome::same);
}

TEST(Compare, BoolsAreTrueOrFalseForAnyByte) {
  Tensor a(DataType::boolean, {2}), b(DataType::boolean, {2});
  a.data<uint8_t>()[0] = 1, a.data<uint8_t>()[1] = 0;
  b.data<uint8_t>()[0] = 7, b.data<uint8_t>()[1] = 0;
  EXPECT_EQ(compared(a, b).outcome, Outcome::same);
  b.data<uint8_t>()[1] = 1;
  EXPECT_THAT(compared(a, b).reason, HasSubstr("true, was false"));
}

TEST(Compare, V54StringsAreExact) {
  EXPECT_EQ(compared(strings({2}, {"a", "b"}), strings({2}, {"a", "b"})).outcome, Outcome::same);
  const SampleMetrics metrics = compared(strings({2}, {"a", "b"}), strings({2}, {"a", "b "}));
  EXPECT_EQ(metrics.outcome, Outcome::different);
  EXPECT_THAT(metrics.reason, HasSubstr("'b ', was 'b'"));
}

TEST(Compare, ComplexNumbersAreComparedByParts) {
  Tensor a(DataType::complex64, {2}), b(DataType::complex64, {2});
  const std::vector<float> left{1, 2, 3, 4}, right{1, 2, 3, 4.5};
  std::copy(left.begin(), left.end(), a.data<float>());
  std::copy(right.begin(), right.end(), b.data<float>());
  const SampleMetrics metrics = compared(a, b);
  EXPECT_EQ(metrics.max_abs, 0.5);
  EXPECT_THAT(metrics.worst.at, ElementsAre(1, 1));
  EXPECT_NEAR(metrics.max_error, 0.5 / 3, 1e-12);
}

TEST(Compare, StridesDoNotMatter) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor columns = floats({3, 2}, {1, 4, 2, 5, 3, 6});
  const std::vector<int64_t> swap{1, 0};
  EXPECT_EQ(compared(a, columns.transposed(swap)).max_abs, 0);
  EXPECT_TRUE(bit_equal(a, columns.transposed(swap)));
}

TEST(Compare, V20StructuresAreComparedBeforeNumbers) {
  const Datum two = sequence({floats({1}, {1}), floats({2}, {1, 2})});
  EXPECT_EQ(structural_difference(two, two), "");
  EXPECT_EQ(structural_difference(two, sequence({floats({1}, {1})})), "sequence of 1: f32[1], was sequence of 2: f32[1], f32[2]");
  EXPECT_EQ(structural_difference(two, sequence({floats({1}, {1}), floats({1, 2}, {1, 2})})), "element 1: f32[1, 2], was f32[2]");
  EXPECT_EQ(structural_difference(optional({}), optional({floats({1}, {1})})), "optional f32[1], was nothing");
  // Equal values of a different type or rank.
  EXPECT_EQ(structural_difference(floats({1}, {5}), tensor(DataType::float64, {1}, {5})), "f64[1], was f32[1]");
  EXPECT_EQ(structural_difference(floats({}, {5}), floats({2}, {5, 5})), "f32[2], was f32[]");
}

TEST(Compare, YardstickSpansAllSamplesAndFiniteElements) {
  Yardstick yardstick;
  yardstick.add(floats({2}, {1, kNan}));
  EXPECT_TRUE(yardstick.is_constant());
  EXPECT_EQ(yardstick.range(), 1);  // the magnitude of a constant
  yardstick.add(floats({2}, {-3, kInfinity}));
  EXPECT_FALSE(yardstick.is_constant());
  EXPECT_EQ(yardstick.range(), 4);
  EXPECT_EQ(yardstick.sigma(), 2);
  EXPECT_EQ(yardstick.largest(), 3);
  EXPECT_NEAR(yardstick.rms(), std::sqrt(5), 1e-12);
  EXPECT_EQ(yardstick.count(), 2);
}

TEST(Compare, OneNumberNextToInfinityIsNotConstant) {
  Yardstick yardstick;
  yardstick.add(floats({3}, {0, -kInfinity, 0}));
  EXPECT_FALSE(yardstick.is_constant());
  EXPECT_EQ(yardstick.count(), 2);
}

TEST(Compare, FloorIsAtLeastOneRoundingOfTheOutput) {
  Yardstick yardstick;
  yardstick.add(floats({2}, {1000, 1001}));
  EXPECT_NEAR(least_floor(DataType::float32, yardstick).max, 0x1p-24 * 1001, 1e-12);
  EXPECT_NEAR(least_floor(DataType::float32, yardstick).rms, 0x1p-24 * std::sqrt((1e6 + 1002001) / 2) / 0.5, 1e-12);
}

TEST(Compare, AFloorOfAThousandthOfTheRangeIsIllConditioned) {
  EXPECT_FALSE(is_ill_conditioned(DataType::float32, {.max = 9e-4, .rms = 0}));
  EXPECT_TRUE(is_ill_conditioned(DataType::float32, {.max = 2e-3, .rms = 0}));
  EXPECT_TRUE(is_ill_conditioned(DataType::float64, {.max = 2e-3, .rms = 0}));
  // In 16 bits, a hundredth is usual.
  EXPECT_FALSE(is_ill_conditioned(DataType::float16, {.max = 2e-2, .rms = 0}));
  EXPECT_TRUE(is_ill_conditioned(DataType::bfloat16, {.max = 0.2, .rms = 0}));
  EXPECT_FALSE(is_ill_conditioned(DataType::int64, {.max = 1, .rms = 1}));
}

TEST(Compare, SaturatedShareCountsExtremes) {
  EXPECT_EQ(saturated_share(floats({4}, {0, 1, 1, 0})), 1);
  EXPECT_EQ(saturated_share(floats({4}, {0, 1, 0.5, 0})), 0.75);
  EXPECT_EQ(saturated_share(floats({2}, {0, 1})), 0);  // two numbers are always extremes
}

TEST(Compare, SliceHashesDistinguishSlicesOnly) {
  const auto three = slice_hashes(floats({3, 2}, {1, 2, 3, 4, 1, 2}));
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(three[0], three[2]);
  EXPECT_NE(three[0], three[1]);
  EXPECT_EQ(slice_hashes(floats({1, 2}, {3, 4})).front(), three[1]);
}

TEST(Compare, TopScores) {
  std::vector<double> a{0, 1, 2, 3, 4, 5, 6, 7}, b = a;
  std::swap(b[0], b[1]);
  EXPECT_EQ(compared(floats({1, 8}, a), floats({1, 8}, b)).top1, true);
  EXPECT_EQ(compared(floats({1, 8}, a), floats({1, 8}, b)).top5, true);
  // Like top-5 accuracy with a's best entry as the label: the other entries may change places.
  std::swap(b[3], b[2]);
  EXPECT_EQ(compared(floats({1, 8}, a), floats({1, 8}, b)).top5, true);
  std::swap(b[6], b[7]);
  EXPECT_EQ(compared(floats({1, 8}, a), floats({1, 8}, b)).top1, false);
  EXPECT_EQ(compared(floats({1, 8}, a), floats({1, 8}, b)).top5, true);
  b[7] = -1;
  EXPECT_EQ(compared(floats({1, 8}, a), floats({1, 8}, b)).top5, false);
  EXPECT_FALSE(compared(floats({8}, a), floats({8}, b)).top1.has_value());
  EXPECT_FALSE(compared(floats({4, 2}, a), floats({4, 2}, b)).top1.has_value());
}

TEST(Compare, CountsElementsBeyondTheUsersBounds) {
  const Tensor a = floats({4}, {1, 100, kNan, kInfinity});
  EXPECT_EQ(count_beyond(a, floats({4}, {1.05, 100.5, kNan, kInfinity}), 0.01, 0), 1);
  EXPECT_EQ(count_beyond(a, floats({4}, {1.05, 100.5, kNan, kInfinity}), 0, 0.1), 1);
  EXPECT_EQ(count_beyond(a, floats({4}, {1.05, 100.5, kNan, kInfinity}), 0.01, 0.1), 0);
  EXPECT_EQ(count_beyond(a, floats({4}, {1, 100, 1, 1}), 1, 1), 2);
}

}  // namespace
}  // namespace relayout
