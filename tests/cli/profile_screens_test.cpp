// Tests reports of profile at three widths of the terminal with a recorded profile, because a measured one differs each time.

#include "cli/common/report.h"
#include "cli/profile/profile.h"
#include "relayout/estimate.h"
#include "relayout/profile.h"
#include "report/table.h"
#include "support/golden.h"
#include "support/paths.h"

namespace relayout::cli {
namespace {

/// One line: time and size of the work grow with its number.
ProfileRow row(const std::string& node, const std::vector<std::string>& operators, const std::string& layout, int number) {
  ProfileRow out;
  out.node = node;
  out.operators = operators;
  for (const std::string& op : operators) out.op_type += (out.op_type.empty() ? "" : " + ") + op;
  for (std::size_t i = 1; i < operators.size(); ++i) out.absorbed.push_back(node + "/" + operators[i]);
  out.layout = layout;
  out.implementation = "brgconv:avx2";
  out.dims = {1, 64, 56, 56};
  out.steps = 1;
  out.us = 123.4 * number;
  out.measured_us = {out.us, Interval{out.us - 1, out.us + 1}};
  out.quartile_us = out.us;
  out.macs = int64_t{1'000'000} * number;
  out.bytes = int64_t{200'000} * number;
  return out;
}

Profile recorded(const std::string& model, int factor) {
  Profile out;
  out.model = model;
  out.precision = "f32";
  out.inputs = {{"input", {1, 3, 224, 224}}};
  out.context = {.cpu = "A Processor", .isa = "AVX2", .relayout = "0.1.0", .onednn = "3.7.2", .threads = 1, .processors = 2, .affinity = 2};
  out.rows = {row("/backbone/features/first_convolution/Conv", {"Conv", "Relu"}, "channels-last", 4 * factor),
              row("/backbone/features/dense_block_1/layer_1/bottleneck/Conv", {"Conv", "BatchNormalization", "Relu"}, "channels-last", 3),
              row("/backbone/features/dense_block_1/Concat", {"Concat"}, "contiguous", 1), row("(executor)", {}, "", 1)};
  out.rows.back().steps = 0;
  for (const ProfileRow& one : out.rows) out.total_us += one.us;
  for (ProfileRow& one : out.rows) one.share = one.us / out.total_us;
  const double total = out.total_us;
  out.latency.us = out.latency.processor_us = {total, Interval{total - 5, total + 5}};
  out.latency.p90_us = total + 10, out.latency.p95_us = total + 20, out.latency.p99_us = total + 40;
  out.latency.load_us = 900, out.latency.plan_us = 5'000, out.latency.first_us = 2'000;
  out.latency.cpu_per_wall = out.latency.expected_cpus = 1;
  out.latency.runs = 50;
  out.macs = 7'000'000, out.arena_bytes = out.peak_bytes = 6'000'000, out.packed_bytes = 14'100'000;
  out.peak_node = out.rows.front().node;
  return out;
}

class ProfileScreens : public testing::TestWithParam<std::size_t> {};

TEST_P(ProfileScreens, AreGolden) {
  const std::string name = "densely_connected_network_with_a_name.onnx";
  const ReportStyle style{.width = GetParam()};
  const Profile a = recorded(name, 2);
  std::string all = "$ relayout profile " + name + "\n" + text_of(profile_report(a, {}, {}), style);
  TableChoice by_operator;
  by_operator.by = Grouping::op;
  all += "\n$ relayout profile " + name + " --by op\n" + text_of(profile_report(a, by_operator, {}), style);
  all += "\n$ relayout profile " + name + " --threads 1,2\n" + text_of(sweep_report({a, recorded(name, 1)}), style);

  ProfileComparison comparison;
  comparison.a = a;
  comparison.b = recorded("densely_connected_network_with_a_name.cl.onnx", 1);
  comparison.ratio = {comparison.b.total_us / a.total_us, Interval{0.66, 0.68}};
  comparison.pairs = 100, comparison.rounds = 10;
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    comparison.rows.push_back({i, i, i == 0 ? Cause::layout : Cause::unexplained, comparison.b.rows[i].us - a.rows[i].us});
  }
  all += "\n$ relayout profile " + name + " densely_connected_network_with_a_name.cl.onnx\n" +
         text_of(comparison_report(comparison, {}, {}), style);
  all = fit_lines(all, GetParam());
  EXPECT_TRUE(test::is_golden(all, source_folder() + "/testdata/golden/screens/profile_" + std::to_string(GetParam()) + ".txt"));
}

INSTANTIATE_TEST_SUITE_P(Widths, ProfileScreens, testing::Values(60, 80, 120));

}  // namespace
}  // namespace relayout::cli
