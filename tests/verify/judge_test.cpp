#include "verify/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/verify.h"
#include "tensors.h"

namespace relayout {
namespace {

using testing::floats;
using ::testing::HasSubstr;
using testing::integers;

/// Reason why these samples are inconclusive; empty if they are conclusive.
std::string inconclusive(const std::vector<Datum>& samples, bool may_saturate = true, bool varied = true) {
  ReferenceOutput output("y", {.may_saturate = may_saturate});
  for (const Datum& sample : samples) output.add(sample);
  return output.inconclusive(varied).value_or("");
}

TEST(Judge, OrdinaryOutputsAreConclusive) {
  EXPECT_EQ(inconclusive({floats({3}, {1, 2, 3}), floats({3}, {1, 2.5, 3})}), "");
}

TEST(Judge, V45AllNan) {
  EXPECT_EQ(inconclusive({floats({2}, {std::nan(""), std::nan("")})}), "no finite value");
  EXPECT_EQ(inconclusive({floats({2}, {std::nan(""), 1}), floats({2}, {std::nan(""), 2})}), "");
}

TEST(Judge, V49NoElements) {
  EXPECT_THAT(inconclusive({floats({0, 4}, {})}), HasSubstr("no elements"));
  EXPECT_THAT(inconclusive({integers({0}, {})}), HasSubstr("no elements"));
  EXPECT_EQ(inconclusive({floats({0, 2}, {}), floats({1, 2}, {1, 2})}), "");
  ReferenceOutput declared("y", {.may_saturate = true, .is_empty = true});
  declared.add(floats({0, 4}, {}));
  EXPECT_EQ(declared.inconclusive(true), std::nullopt);
}

TEST(Judge, V50Constant) {
  EXPECT_EQ(inconclusive({floats({2}, {0.5, 0.5}), floats({1}, {0.5})}), "constant: every element is 0.5");
  EXPECT_EQ(inconclusive({floats({1}, {0.5})}), "");  // one number is not known to be constant
  EXPECT_EQ(inconclusive({floats({1}, {0.5}), floats({1}, {0.6})}), "");
}

TEST(Judge, V51Saturated) {
  const Datum saturated = floats({2, 3}, {0, 1, 0, 1, 0, 0});
  const Datum other = floats({2, 3}, {1, 1, 0, 0, 0, 1});
  EXPECT_THAT(inconclusive({saturated, other}), HasSubstr("saturated: 100 %"));
  // One unsaturated sample is enough; and values cast from bool have two values by nature.
  EXPECT_EQ(inconclusive({saturated, floats({2, 3}, {0, 1, 0, 0.5, 0, 0})}), "");
  EXPECT_EQ(inconclusive({saturated, other}, /*may_saturate=*/false), "");
}

TEST(Judge, V52IndependentOfTheInputs) {
  const Datum table = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(inconclusive({table, table}), HasSubstr("same bytes for every sample"));
  // A different batch of the same rows is no difference, a different row is one.
  EXPECT_THAT(inconclusive({table, floats({3, 2}, {1, 2, 3, 4, 5, 6})}), HasSubstr("same bytes"));
  EXPECT_EQ(inconclusive({table, floats({3, 2}, {1, 2, 3, 5, 5, 6})}), "");
  // No verdict on constant inputs, or on exact types.
  EXPECT_EQ(inconclusive({table, table}, true, /*varied=*/false), "");
  EXPECT_EQ(inconclusive({integers({2}, {3, 3}), integers({2}, {3, 3})}), "");
}

TEST(Judge, ADifferentSampleOverridesTheOthers) {
  ReferenceOutput reference("y", {.may_saturate = true});
  reference.add(floats({2}, {0.5, 0.5}));
  OutputComparison output;
  output.samples.resize(2);
  output.samples[0].ratio = 9;
  output.samples[0].max_error = 1e-6;
  output.samples[1].sample = 1;
  output.samples[1].outcome = Outcome::different;
  output.samples[1].reason = "because";
  output.samples[1].ratio = 7;
  output.samples[1].max_error = 1e-3;
  sum_up(output, reference, true, false);
  EXPECT_EQ(output.outcome, Outcome::different);
  EXPECT_EQ(output.reason, "because (sample 1)");
  EXPECT_EQ(output.ratio, 7);
  EXPECT_EQ(output.max_error, 1e-3);
}

TEST(Judge, ReasonAndFiguresAreOfOneSample) {
  ReferenceOutput reference("y", {.may_saturate = true});
  reference.add(floats({2}, {0.5, 0.5}));
  OutputComparison output;
  output.samples.resize(3);
  const double ratios[] = {50, 200, 10}, errors[] = {3e-2, 2e-2, 1e-2};  // the largest error is not the one farthest beyond its floor
  for (int i = 0; i < 3; ++i) {
    SampleMetrics& metrics = output.samples[static_cast<std::size_t>(i)];
    metrics.sample = i + 4;
    metrics.outcome = Outcome::different;
    metrics.ratio = ratios[i];
    metrics.max_error = errors[i];
    metrics.reason = "reason " + std::to_string(i);
  }
  sum_up(output, reference, true, false);
  EXPECT_EQ(output.telling, 1U);
  EXPECT_EQ(output.max_error, 2e-2);
  EXPECT_EQ(output.reason, "reason 1 (sample 5)");
}

TEST(Judge, FiguresAreThoseOfWellConditionedSamples) {
  ReferenceOutput reference("y", {.may_saturate = true});
  reference.add(floats({3}, {0.5, 0.25, 0.1}));
  OutputComparison output;
  output.samples.resize(2);
  output.samples[0].ratio = 1;
  output.samples[0].max_error = 1e-6;
  output.samples[1].ratio = 3;
  output.samples[1].max_error = 0.5;
  output.samples[1].ill_conditioned = true;
  sum_up(output, reference, false, false);
  EXPECT_EQ(output.outcome, Outcome::same);
  EXPECT_EQ(output.max_error, 1e-6);
}

TEST(Judge, V80AConstantOutputIsTheSameWhereTheFilesProveIt) {
  ReferenceOutput reference("y", {.may_saturate = true});
  reference.add(floats({4}, {0, 0, 0, 0}));
  OutputComparison output;
  output.samples.resize(1);
  sum_up(output, reference, true, /*proved=*/false);
  EXPECT_EQ(output.outcome, Outcome::inconclusive);
  sum_up(output, reference, true, /*proved=*/true);
  EXPECT_EQ(output.outcome, Outcome::same);
  EXPECT_EQ(output.reason, "");
}

}  // namespace
}  // namespace relayout
