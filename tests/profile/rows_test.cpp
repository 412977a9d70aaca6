// Tests that steps become rows, that rows add up, and that memory does not grow with runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/example.h"
#include "profile/trace.h"
#include "relayout/estimate.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

double sum_of(const Profile& profile) {
  double sum = 0;
  for (const ProfileRow& row : profile.rows) sum += row.us;
  return sum;
}

TEST(Rows, StepsOfOneNodeAreOneRow) {
  const Profile profile = example_profile(11);
  std::vector<std::string> names;
  for (const ProfileRow& row : profile.rows) names.push_back(row.node + " " + row.op_type + " " + std::to_string(row.steps));
  EXPECT_THAT(names,
              ElementsAre("/net/conv/Conv Reorder 1", "/net/conv/Conv Conv + Relu 3", "/net/pool/MaxPool MaxPool 1", "(executor)  0"));
  EXPECT_EQ(profile.rows[0].kind, StepKind::reorder);
  EXPECT_EQ(profile.rows[1].implementation, "brgconv") << "what a node computes with says more than the copy inside";
  EXPECT_THAT(profile.rows[1].absorbed, ElementsAre("/net/relu/Relu"));
  EXPECT_EQ(profile.rows[1].macs, 1000);
  EXPECT_EQ(profile.rows[1].bytes, 300);
  EXPECT_EQ(profile.views, 1);
  EXPECT_EQ(profile.peak_bytes, 4096);
  EXPECT_EQ(profile.peak_node, "/net/conv/Conv");
}

/// Runs of 1000 … 1010 ns per step: medians and quartiles (the third of eleven) by hand.
TEST(Rows, AddUpToTheLatency) {
  const Profile profile = example_profile(11);
  EXPECT_THAT(profile.latency.us.median, DoubleNear(5.525, 1e-9));
  EXPECT_THAT(profile.rows[1].measured_us.median, DoubleNear(3.015, 1e-9));
  EXPECT_THAT(profile.rows[1].quartile_us, DoubleNear(3.006, 1e-9));
  EXPECT_THAT(profile.rows.back().measured_us.median, DoubleNear(0.5, 1e-9));
  EXPECT_TRUE(profile.rows.back().is_executor());
  EXPECT_THAT(sum_of(profile), DoubleNear(profile.latency.us.median, 1e-9));
  EXPECT_THAT(profile.scale, DoubleNear(5.525 / 5.51, 1e-9));
  EXPECT_THAT(profile.latency.cpu_per_wall, DoubleNear(1, 1e-9));
  EXPECT_FALSE(is_busy(profile.latency));
}

/// Another process's time slice hits one step of each run, a different one each time: medians do not see it, the latency does, and the rows
/// still add up.
TEST(Rows, AddUpWhenEveryRunIsDisturbed) {
  constexpr std::size_t kSteps = 4;
  PlanInfo plan;
  for (std::size_t i = 0; i < kSteps; ++i) plan.steps.push_back(step("n" + std::to_string(i), "Relu"));
  Recorder recorder(kSteps, 0);
  int64_t now = 0;
  for (std::size_t run = 0; run < 20; ++run) {
    const int64_t begin = now;
    StepTimes times;
    for (std::size_t i = 0; i < kSteps; ++i) {
      times.begins.push_back(now);
      now += run % kSteps == i ? 9000 : 1000;
      times.ends.push_back(now);
    }
    recorder.add(begin, now, 4000, times);
  }
  for (const TimeKind clock : {TimeKind::wall, TimeKind::processor}) {
    Profile profile;
    profile.clock = clock;
    fill_profile(profile, plan, recorder);
    EXPECT_THAT(profile.latency.us.median, DoubleNear(12, 1e-9));
    EXPECT_THAT(profile.total_us, DoubleNear(clock == TimeKind::wall ? 12 : 4, 1e-9));
    EXPECT_THAT(sum_of(profile), DoubleNear(profile.total_us, 1e-9));
    for (std::size_t i = 0; i < kSteps; ++i) EXPECT_THAT(profile.rows[i].share, DoubleNear(0.25, 1e-9));
    EXPECT_THAT(profile.scale, DoubleNear(clock == TimeKind::wall ? 3 : 1, 1e-9));
    EXPECT_TRUE(is_busy(profile.latency));
  }
}

/// One step is interrupted in two runs of three: it does not appear longer than it is.
TEST(Rows, InterruptionsAtOneStepDoNotShow) {
  PlanInfo plan;
  for (const char* name : {"a", "b"}) plan.steps.push_back(step(name, "Relu"));
  Recorder recorder(2, 0);
  for (int64_t run = 0; run < 30; ++run) {
    const int64_t at = run * 100'000, long_step = run % 3 == 0 ? 1000 : 50'000;
    recorder.add(at, at + 1000 + long_step, 2000, {{at, at + 1000}, {at + 1000, at + 1000 + long_step}});
  }
  Profile profile;
  fill_profile(profile, plan, recorder);
  EXPECT_THAT(profile.rows[0].share, DoubleNear(0.5, 1e-9));
  EXPECT_THAT(profile.rows[1].share, DoubleNear(0.5, 1e-9));
  EXPECT_THAT(sum_of(profile), DoubleNear(profile.total_us, 1e-9));
}

/// A Loop of 1000 ns, whose two nodes take 300 and 500 + run in four iterations; then a run that reaches a third node.
TEST(Rows, InnerNodesAreSubtractedFromTheirLoop) {
  PlanInfo plan;
  plan.steps = {step("view", "Reshape", StepKind::view), step("loop", "Loop"), step("after", "Relu")};
  plan.macs = 5;
  for (const char* name : {"exp", "mul", "late"}) {
    InnerStep& inner = plan.inner.emplace_back(InnerStep{step(name, "Op"), 1});
    inner.info.callers = {"loop"};
  }
  Recorder recorder(2, 0);
  for (int64_t run = 0; run < 11; ++run) {
    const int64_t at = run * 10'000;
    StepTimes times{{at, at + 1000 + run}, {at + 1000 + run, at + 1200 + run}, {{300, 4, 40, 0}, {500 + run, 4, 80, 8}}};
    if (run == 10) times.inner.push_back({7, 1, 3, 1});
    recorder.add(at, at + 1200 + run, 1200, times);
  }
  Profile profile;
  fill_profile(profile, plan, recorder);
  std::vector<std::string> lines;
  for (const ProfileRow& row : profile.rows) lines.push_back(full_name(row) + " " + std::to_string(row.calls));
  EXPECT_THAT(lines, ElementsAre("loop 1", "loop › exp 4", "loop › mul 4", "loop › late 1", "after 1", "(executor) 1"));
  EXPECT_THAT(profile.rows[0].measured_us.median, DoubleNear(0.2, 1e-9)) << "1000 + run - 300 - 500 - run";
  EXPECT_THAT(profile.rows[1].measured_us.median, DoubleNear(0.3, 1e-9));
  EXPECT_THAT(profile.rows[2].measured_us.median, DoubleNear(0.505, 1e-9));
  EXPECT_THAT(profile.rows[3].measured_us.median, DoubleNear(0, 1e-9)) << "ten of eleven runs did not take it";
  EXPECT_EQ(profile.rows[2].bytes, 80);
  EXPECT_EQ(profile.rows[2].macs, 8);
  EXPECT_EQ(profile.macs, 5 + 8 + 1);
  EXPECT_THAT(sum_of(profile), DoubleNear(profile.total_us, 1e-9));
  std::vector<std::string> scopes;
  for (const ProfileGroup& group : group_rows(profile, Grouping::scope, 0)) scopes.push_back(group.name);
  EXPECT_THAT(scopes, ElementsAre("(top)", "loop", "(executor)"));
}

/// A hundred thousand runs: the recorded steps stay below the bound, and are spread over all runs.
TEST(Recorder, KeepsAnEvenSelection) {
  constexpr std::size_t kSteps = 3;
  Recorder recorder(kSteps, 2);
  for (int64_t run = 0; run < 100'000; ++run) {
    const int64_t at = run * 1000;
    recorder.add(at, at + 900, 900, {{at, at + 1, at + 2}, {at + 1, at + 2, at + 3 + run}});
  }
  EXPECT_EQ(recorder.runs(), 100'000);
  const ThinnedRuns& kept = recorder.kept();
  EXPECT_LE(kept.size(), 512U);
  EXPECT_GE(kept.size(), 256U);
  const int64_t stride = kept.step(1, 2) - kept.step(0, 2);
  EXPECT_GT(stride, 100);
  for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_EQ(kept.step(i, 2) - kept.step(i - 1, 2), stride);
  EXPECT_GT(kept.step(kept.size() - 1, 2), 99'000);
  EXPECT_EQ(recorder.take_traced().size(), 2U);
}

TEST(Groups, AddUpAsTheRowsDo) {
  const Profile profile = example_profile(11);
  for (const Grouping by : {Grouping::node, Grouping::op, Grouping::layout, Grouping::implementation, Grouping::scope}) {
    double sum = 0;
    for (const ProfileGroup& group : group_rows(profile, by)) sum += group.us;
    EXPECT_THAT(sum, DoubleNear(profile.total_us, 1e-9)) << to_string(by);
  }
  std::vector<std::string> scopes;
  for (const ProfileGroup& group : group_rows(profile, Grouping::scope, 2)) scopes.push_back(group.name);
  EXPECT_THAT(scopes, ElementsAre("net/conv", "net/pool", "(executor)"));
}

/// 100 GFLOP/s and 10 GB/s: the slower of the two limits a row.
TEST(Peak, PartOfTheAttainableRate) {
  const MachinePeak peak{100, 10};
  EXPECT_THAT(attainable_gflops(peak, 1), DoubleNear(10, 1e-9));
  EXPECT_THAT(attainable_gflops(peak, 50), DoubleNear(100, 1e-9));
  // 2 MFLOP take 20 µs at least, 10 kB one.
  EXPECT_THAT(part_of_peak(peak, 1'000'000, 10'000, 40).value(), DoubleNear(0.5, 1e-9));
  EXPECT_THAT(part_of_peak(peak, 1'000, 400'000, 80).value(), DoubleNear(0.5, 1e-9));
  EXPECT_THAT(part_of_peak(peak, 0, 400'000, 80).value(), DoubleNear(0.5, 1e-9));
  EXPECT_EQ(part_of_peak(peak, 1'000'000, 10'000, 19), std::nullopt) << "faster than the machine: something was counted otherwise";
  EXPECT_EQ(part_of_peak(peak, 0, 0, 1), std::nullopt);
  EXPECT_THAT(gflops(1'000'000, 20).value(), DoubleNear(100, 1e-9));
  EXPECT_THAT(gigabytes(400'000, 40).value(), DoubleNear(10, 1e-9));
  EXPECT_EQ(gflops(0, 20), std::nullopt);
  EXPECT_EQ(gigabytes(400'000, 0), std::nullopt);
}

TEST(Peak, IsMeasuredWithEachThread) {
  const MachinePeak one = measure_peak(1), two = measure_peak(2);
  EXPECT_TRUE(one.is_measured);
  EXPECT_GT(one.gflops, 0.1);
  EXPECT_GT(one.gigabytes, 0.1);
  EXPECT_GT(two.gflops, 0.1);
}

TEST(Slowdown, IsJudgedByTheWholeInterval) {
  const auto judge = [](std::optional<Interval> interval) { return judge_slowdown({1.0, interval}, 0.05); };
  EXPECT_EQ(judge(Interval{1.06, 1.2}), SlowdownVerdict::slower);
  EXPECT_EQ(judge(Interval{1.04, 1.2}), SlowdownVerdict::inconclusive);
  EXPECT_EQ(judge(Interval{0.9, 1.04}), SlowdownVerdict::within);
  EXPECT_EQ(judge(std::nullopt), SlowdownVerdict::inconclusive);
}

TEST(Scopes, PathsOfExporters) {
  EXPECT_THAT(path_of("/layer1/layer1.0/conv1/Conv"), ElementsAre("layer1", "layer1.0", "conv1", "Conv"));
  EXPECT_THAT(path_of("features.0.conv"), ElementsAre("features", "0", "conv"));
  EXPECT_THAT(path_of("Conv_0"), ElementsAre("Conv_0"));
  EXPECT_TRUE(path_of("").empty());
  EXPECT_TRUE(path_of("///").empty());
}

}  // namespace
}  // namespace relayout::test
