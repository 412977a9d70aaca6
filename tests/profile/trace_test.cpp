// Tests traces: the fields that TraceDiff and Perfetto need, and the events left out. Tests stacks for flame graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <regex>
#include <set>

#include "profile/example.h"
#include "relayout/profile.h"
#include "report/json.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

std::vector<Json> events_of(const std::string& text, const std::string& phase) {
  const Json document = Json::parse(text, "trace");
  const Json events = document.find("traceEvents").value();
  std::vector<Json> out;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.at(i)->find("ph")->text() == phase) out.push_back(*events.at(i));
  }
  return out;
}

TEST(Trace, EventsAreNamedByOperatorWithinSpans) {
  const TraceText trace = trace_text(example_profile(3, 2));
  EXPECT_EQ(trace.runs, 2);
  EXPECT_EQ(trace.left_out, 5);
  EXPECT_TRUE(std::regex_search(trace.text, std::regex("\"rank\":\\s+(\\d+)"))) << "as HolisticTraceAnalysis looks for it";
  std::map<std::string, int> counts;
  std::set<double> ids;
  for (const Json& event : events_of(trace.text, "X")) {
    ++counts[*event.find("name")->text()];
    EXPECT_TRUE(ids.insert(event.find("args")->find("External id")->number().value()).second);
    EXPECT_GE(event.find("dur")->number().value(), 0);
    EXPECT_FALSE(event.find("args")->find("stream"));
  }
  const std::map<std::string, int> expected = {{"Conv", 4},       {"MaxPool", 2},        {"Reorder", 4},
                                               {"(executor)", 2}, {"ProfilerStep#0", 1}, {"ProfilerStep#1", 1}};
  EXPECT_EQ(counts, expected);
}

/// Complete events of one thread must nest: in whole nanoseconds, since doubles of microseconds are not exact. Those within a span follow
/// each other from its begin to its end, those of steps as they were recorded, the executor's in between.
TEST(Trace, EventsAddUpToTheirRuns) {
  const TracedRun whole{0, 0, 900, {0, 300}, {300, 900}};              // nothing else
  const TracedRun around{1, 1000, 2000, {1100, 1500}, {1500, 1900}};   // before the first and after the last
  const TracedRun between{2, 2000, 3001, {2000, 2500}, {2400, 3001}};  // between two plans
  const TracedRun everywhere{3, 1'000'000'001, 1'000'001'000, {1'000'000'007, 1'000'000'011}, {1'000'000'009, 1'000'000'999}};
  Profile profile = example_profile(1);
  profile.timed_steps = {step("/a/Conv", "Conv"), step("/b/Relu", "Relu")};
  profile.traced = {whole, around, between, everywhere};
  const auto nanoseconds = [](const Json& event, const char* what) { return std::llround(*event.find(what)->number() * 1000); };
  std::vector<std::string> names;
  int64_t latest = 0, executor = 0;
  std::size_t run = 0, steps = 0;
  const auto close = [&] {
    EXPECT_EQ(latest, profile.traced[run].end);
    int64_t rest = profile.traced[run].end - profile.traced[run].begin;
    for (std::size_t i = 0; i < 2; ++i) rest -= profile.traced[run].ends[i] - profile.traced[run].begins[i];
    EXPECT_EQ(executor, rest) << "as the table counts the executor's time";
    EXPECT_EQ(steps, 2U);
  };
  for (const Json& event : events_of(trace_text(profile).text, "X")) {
    const int64_t begin = nanoseconds(event, "ts"), end = begin + nanoseconds(event, "dur");
    names.push_back(*event.find("name")->text());
    if (event.find("cat")->text() == "user_annotation") {
      if (names.size() > 1) close(), ++run;
      EXPECT_EQ(std::pair(begin, end), std::pair(profile.traced.at(run).begin, profile.traced.at(run).end));
      latest = begin;
      executor = 0, steps = 0;
      continue;
    }
    EXPECT_EQ(begin, latest);
    EXPECT_GT(end, begin);
    latest = end;
    if (names.back() == "(executor)") {
      executor += end - begin;
    } else {
      EXPECT_EQ(std::pair(begin, end), std::pair(profile.traced[run].begins[steps], profile.traced[run].ends[steps]));
      ++steps;
    }
  }
  close();
  EXPECT_EQ(run, 3U);
  EXPECT_THAT(names, testing::ElementsAre("ProfilerStep#0", "Conv", "Relu",                              //
                                          "ProfilerStep#1", "(executor)", "Conv", "Relu", "(executor)",  //
                                          "ProfilerStep#2", "Conv", "(executor)", "Relu",                //
                                          "ProfilerStep#3", "(executor)", "Conv", "(executor)", "Relu", "(executor)"));
}

TEST(Trace, NamesAbsorbedNodesAndMemoryInUse) {
  const std::string text = trace_text(example_profile(1, 1), true).text;
  EXPECT_THAT(text, HasSubstr("Relu /net/relu/Relu"));
  EXPECT_THAT(text, HasSubstr("\"name\": \"/net/pool/MaxPool\""));
  const auto counters = events_of(text, "C");
  ASSERT_EQ(counters.size(), 5U);
  EXPECT_EQ(counters[3].find("args")->find("bytes")->number(), 4096);
}

/// Whole runs are left out, and counted.
TEST(Trace, IsCapped) {
  const TraceText trace = trace_text(example_profile(10, 10), false, 25);
  EXPECT_EQ(trace.runs, 2);
  EXPECT_EQ(trace.left_out, 40);
  EXPECT_LE(events_of(trace.text, "X").size() + events_of(trace.text, "C").size(), 25U);
  EXPECT_EQ(trace_text(example_profile(10, 10), false, 3).runs, 0);
}

TEST(Trace, HostileNamesStayText) {
  Profile profile = example_profile(1, 1);
  profile.timed_steps.back().node = "a\"]}\n\x01\xff</script>";
  profile.model = "\xff\"";
  for (const bool nodes : {false, true}) EXPECT_EQ(events_of(trace_text(profile, nodes).text, "X").size(), 7U);
}

TEST(Trace, GzipGivesTheTextBack) {
  for (const std::string& text : {std::string(), std::string(300'000, 'x') + trace_text(example_profile(3, 3)).text}) {
    std::string packed = gzip_text(text);
    std::string out(text.size() + 1, '\0');
    z_stream stream{};
    ASSERT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    inflateEnd(&stream);
    EXPECT_EQ(out, text);
  }
}

TEST(Stacks, FramesAreThePath) {
  Profile profile = example_profile(11);
  profile.rows[2].node = "/net/a;b/MaxPool";
  EXPECT_EQ(collapsed_stacks(profile),
            "net.onnx;net;conv;Conv;Reorder 1005\n"
            "net.onnx;net;conv;Conv;Conv + Relu 3014\n"
            "net.onnx;net;a:b;MaxPool;MaxPool 1005\n"
            "net.onnx;(executor) 501\n");
}

}  // namespace
}  // namespace relayout::test
