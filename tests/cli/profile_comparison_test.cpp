// Tests the statements and exit codes of a comparison of two profiles, by recorded ratios.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/common/report.h"
#include "cli/profile/profile.h"
#include "relayout/estimate.h"
#include "relayout/profile.h"

namespace relayout::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ProfileRow row(const std::string& node, const std::string& op_type, double us) {
  ProfileRow out;
  out.node = node;
  out.op_type = op_type;
  out.operators = {op_type};
  out.steps = op_type.empty() ? 0 : 1;
  out.us = us;
  return out;
}

Profile recorded(const std::string& model, double matmul_us, double total_us) {
  Profile out;
  out.model = model;
  out.rows = {row("MatMul_0", "MatMul", matmul_us), row("(executor)", "", total_us - matmul_us)};
  out.total_us = total_us;
  out.latency.us = out.latency.processor_us = {total_us, Interval{total_us, total_us}};
  out.latency.cpu_per_wall = out.latency.expected_cpus = 1;
  return out;
}

/// 100 µs, and 203 µs with a second product.
ProfileComparison twice_the_work(std::optional<Interval> interval) {
  ProfileComparison out;
  out.a = recorded("a.onnx", 98, 100);
  out.b = recorded("b.onnx", 98, 203);
  out.b.rows.insert(out.b.rows.begin() + 1, row("MatMul_1", "MatMul", 102));
  out.b.rows.back().us = 3;
  out.ratio = {2.03, interval};
  out.pairs = 100;
  out.rounds = 10;
  out.rows = {{0, 0, Cause::unexplained, 0}, {1, 2, Cause::unexplained, 1}, {std::nullopt, 1, Cause::added, 102}};
  return out;
}

std::string text_of(const ProfileComparison& comparison, const SlowdownGate& gate) {
  return text_of(comparison_report(comparison, {}, gate), {});
}

TEST(ProfileComparison, SlowdownFailsTheGate) {
  const ProfileComparison slower = twice_the_work(Interval{1.98, 2.07});
  EXPECT_EQ(exit_code(slower, SlowdownGate{0.05, false}), 1);
  EXPECT_EQ(exit_code(slower, SlowdownGate{0.97, true}), 1);
  EXPECT_EQ(exit_code(slower, std::nullopt), 0) << "without a gate there is nothing to fail";
  EXPECT_THAT(text_of(slower, {0.05, false}),
              AllOf(HasSubstr("slower by more than 5 %"), HasSubstr("MatMul_1"), HasSubstr("added"), HasSubstr("exit 1")));
  EXPECT_EQ(sentence_of(slower), "2.030 × slower: 99 % from nodes added, 1 % unexplained");
}

/// 8,324 µs to 7,500: the removed nodes took 1,010 of them, and 186 came back elsewhere.
TEST(ProfileComparison, PartsAgainstTheDifferenceAreTimes) {
  ProfileComparison faster;
  faster.a = recorded("a.onnx", 7314, 8324);
  faster.b = recorded("b.onnx", 7500, 7500);
  faster.ratio = {0.9, Interval{0.89, 0.91}};
  faster.folded = {{"BatchNormalization", 52}};
  faster.rows = {{0, std::nullopt, Cause::folded, -1010}, {1, 1, Cause::unexplained, 186}};
  EXPECT_EQ(sentence_of(faster), "1.111 × faster: -1,010.0 µs from folding 52 BatchNormalizations, +186.0 µs unexplained");
  EXPECT_THAT(text_of(faster, {0.05, false}),
              HasSubstr("difference -824.0 µs: folded -1,010.0 in 1 line · unexplained +186.0 in 1 line\n"));
  faster.rows = {{0, std::nullopt, Cause::folded, -820}, {1, 1, Cause::unexplained, -4}};
  EXPECT_EQ(sentence_of(faster), "1.111 × faster: 100 % from folding 52 BatchNormalizations");
  faster.rows[1].difference_us = 3;
  EXPECT_EQ(sentence_of(faster), "1.111 × faster: 100 % from folding 52 BatchNormalizations") << "less than half a percent";
}

TEST(ProfileComparison, WithinTheGate) {
  const ProfileComparison slower = twice_the_work(Interval{1.98, 2.07});
  EXPECT_EQ(exit_code(slower, SlowdownGate{1.1, true}), 0);
  EXPECT_THAT(text_of(slower, {1.1, true}), AllOf(HasSubstr("not slower by more than 110 %"), HasSubstr("exit 0")));
}

TEST(ProfileComparison, UndecidedIntervalsAreInconclusive) {
  const ProfileComparison slower = twice_the_work(Interval{1.98, 2.07});
  EXPECT_EQ(exit_code(slower, SlowdownGate{1, false}), 0);
  EXPECT_EQ(exit_code(slower, SlowdownGate{1, true}), 1);
  EXPECT_THAT(text_of(slower, {1, true}), AllOf(HasSubstr("inconclusive: the interval holds 2.000"), HasSubstr("exit 1")));
  const ProfileComparison wide = twice_the_work(Interval{0.6, 4});
  EXPECT_EQ(exit_code(wide, SlowdownGate{0.05, false}), 0);
  EXPECT_EQ(exit_code(wide, SlowdownGate{0.05, true}), 1);
  EXPECT_EQ(comparison_answer(wide, std::nullopt), "inconclusive");
  EXPECT_EQ(sentence_of(wide), "inconclusive");
  const ProfileComparison none = twice_the_work(std::nullopt);
  EXPECT_EQ(exit_code(none, SlowdownGate{0.05, false}), 0);
  EXPECT_EQ(exit_code(none, SlowdownGate{0.05, true}), 1);
  EXPECT_EQ(comparison_answer(none, std::nullopt), "inconclusive");
}

TEST(ProfileComparison, ANarrowIntervalShowsNoDifference) {
  EXPECT_EQ(comparison_answer(twice_the_work(Interval{0.98, 1.03}), std::nullopt), "no difference shown");
}

TEST(ProfileComparison, UnrelatedModelsAreReportedAsSuch) {
  ProfileComparison other = twice_the_work(Interval{1.98, 2.07});
  other.is_related = false;
  other.common = 0.083;
  EXPECT_EQ(sentence_of(other), "2.030 × slower: the models have little in common, 8 % of their nodes belong together");
  EXPECT_THAT(text_of(other, {0.05, false}), AllOf(HasSubstr("little in common"), HasSubstr("B takes 2.030 × (1.980 … 2.070 at 95 %)")));
  other.ratio.interval = Interval{0.5, 4};
  EXPECT_THAT(text_of(other, {0.05, false}), HasSubstr("little in common"));
}

}  // namespace
}  // namespace relayout::cli
