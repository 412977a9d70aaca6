// Tests that counts, classes and times equal those of TraceDiff of HolisticTraceAnalysis, if the Python of RELAYOUT_PYTHON has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <random>

#include "profile/traces.h"
#include "relayout/diff.h"
#include "report/json.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

/// Steps with operations of random names and lengths, shuffled; some between the steps.
std::string random_trace(std::mt19937& random) {
  const std::vector<std::string> names = {"aten::conv2d", "aten::add", "aten::relu", "a b", "\\u03bb", "void f<int>(a)", "Conv", "Reorder"};
  const auto draw = [&](int from, int to) { return static_cast<int>(random() % static_cast<unsigned>(to - from + 1)) + from; };
  std::vector<std::string> events;
  double now = 1000;
  const int steps = draw(1, 8), used = draw(3, 8);
  for (int step = 0; step < steps; ++step) {
    const double begin = now;
    for (int i = draw(2, 25); i > 0; --i) {
      const double duration = draw(0, 400) / 8.0;
      events.push_back(event(names[static_cast<std::size_t>(draw(0, used - 1))], now, duration));
      now += duration + draw(0, 3);
    }
    events.push_back(span(step + 3, begin, now - begin + 1));
    now += draw(3, 40);
    events.push_back(event("outside", now - 1, 1));
  }
  std::ranges::shuffle(events, random);
  std::string body;
  for (const std::string& text : events) body += (body.empty() ? "\n" : ",\n") + text;
  return "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [" + body + "]}";
}

void expect_equal(const Json& expected, const std::vector<OperationDifference>& rows) {
  ASSERT_EQ(expected.find("rows")->size(), rows.size());
  std::map<std::string, std::vector<std::string>> classes;
  for (const OperationDifference& row : rows) {
    const auto known = expected.find("rows")->find(row.name);
    ASSERT_TRUE(known) << row.name;
    EXPECT_EQ(known->at(0)->number(), row.control_count) << row.name;
    EXPECT_EQ(known->at(1)->number(), row.test_count) << row.name;
    EXPECT_NEAR(*known->at(2)->number(), row.control_us, 1e-6) << row.name;
    EXPECT_NEAR(*known->at(3)->number(), row.test_us, 1e-6) << row.name;
    classes[row.counts == CountClass::removed ? "deleted" : std::string(to_string(row.counts))].push_back(row.name);
  }
  for (const char* kind : {"added", "deleted", "increased", "decreased", "unchanged"}) {
    std::ranges::sort(classes[kind]);
    EXPECT_EQ(expected.find("ops_diff")->find(kind)->dump(-1), Json(classes[kind]).dump(-1)) << kind;
  }
}

TEST(SlowTraceDiff, FortyRandomPairsAsHolisticTraceAnalysis) {
  const char* const chosen = std::getenv("RELAYOUT_PYTHON");
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const TemporaryFolder folder;
    for (const char* side : {"control", "test"}) {
      std::filesystem::create_directory(folder / side);
      write_file(folder / side / "trace.json", random_trace(random));
    }
    const ProcessResult result = run_process({chosen != nullptr ? chosen : "python3", source_folder() + "/tests/profile/tracediff.py",
                                              (folder / "control").string(), (folder / "test").string()});
    if (result.code != 0) GTEST_SKIP() << "no Python with HolisticTraceAnalysis (RELAYOUT_PYTHON names one): " << result.out << result.err;
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_equal(Json::parse(result.out, "TraceDiff"),
                 diff_traces(read_trace(folder / "control" / "trace.json"), read_trace(folder / "test" / "trace.json")));
  }
}

}  // namespace
}  // namespace relayout::test
