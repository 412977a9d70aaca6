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
  const std::map<std::string, int> expected = {{"Conv", 4}, {"MaxPool", 2}, {"Reorder", 4}, {"ProfilerStep#0", 1}, {"ProfilerStep#1", 1}};
  EXPECT_EQ(counts, expected);
}

/// Complete events of one thread must nest: in whole nanoseconds, since doubles of microseconds are not exact.
TEST(Trace, EventsNest) {
  int64_t span_begin = 0, span_end = 0, latest = 0;
  const auto nanoseconds = [](double us) { return std::llround(us * 1000); };
  for (const Json& event : events_of(trace_text(example_profile(4, 4)).text, "X")) {
    const int64_t begin = nanoseconds(*event.find("ts")->number()), end = begin + nanoseconds(*event.find("dur")->number());
    if (event.find("cat")->text() == "user_annotation") {
      EXPECT_GE(begin, span_end);
      span_begin = latest = begin;
      span_end = end;
      continue;
    }
    EXPECT_GE(begin, latest);
    EXPECT_GE(begin, span_begin);
    EXPECT_LE(end, span_end);
    latest = end;
  }
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
  for (const bool nodes : {false, true}) EXPECT_EQ(events_of(trace_text(profile, nodes).text, "X").size(), 6U);
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
