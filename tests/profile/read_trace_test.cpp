// Tests traces of every tool in their own form, and malformed files.
#include "profile/read_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "base/file.h"
#include "profile/traces.h"
#include "relayout/diff.h"
#include "relayout/error.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Sums = std::map<std::string, std::pair<int64_t, double>>;

Sums sums_of(const Trace& trace) {
  Sums out;
  for (const TraceOperation& operation : trace.operations) out[operation.name] = {operation.count, operation.us};
  return out;
}

void expect_refused(const std::string& text, ErrorKind kind, const std::string& says, const TraceOptions& options = {}) {
  try {
    (void)read_text(text, options);
    FAIL() << says;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(says));
    EXPECT_THAT(error.what(), HasSubstr("trace"));
  }
}

/// PyTorch's form: a complete event counts in the step in which it begins. Events outside of steps, of category "Trace" or without a
/// category do not count.
TEST(ReadTrace, EventsWithinSteps) {
  const std::string body = span(5, 1000, 30) + "," + span(6, 1030, 30) + "," + event("conv", 1000, 10) + "," + event("conv", 1029, 10) +
                           "," + event("conv", 1030, 5) + "," + event("late", 1060, 5) + "," + event("early", 10, 5) + "," +
                           event("trace", 1001, 1, R"("cat": "Trace")") + "," + event("bare", 1001, 1, R"("x": 1)") +
                           R"(,{"ph": "M", "name": "process_name", "args": {"name": "p"}}, {"ph": "i", "name": "mark", "ts": 1001})";
  const Trace trace = read_text(trace_object(body));
  EXPECT_EQ(sums_of(trace), (Sums{{"conv", {3, 25}}}));
  EXPECT_THAT(trace.steps, ElementsAre(5, 6));
  EXPECT_THAT(trace.operations[0].step_us, ElementsAre(20, 5));
  EXPECT_EQ(trace.outside, 2);
  EXPECT_EQ(sums_of(read_text(trace_object(body), {.steps = {6}})), (Sums{{"conv", {1, 5}}}));
  EXPECT_EQ(sums_of(read_text(gzipped(trace_object(body)))), sums_of(trace));
  expect_refused(trace_object(body), ErrorKind::usage, "no such step", {.steps = {7}});
}

TEST(ReadTrace, OrderInTheFileDoesNotMatter) {
  std::vector<std::string> events = {span(0, 0, 10), span(1, 10, 10), event("a", 1, 2), event("b", 11, 3), event("a", 12, 4)};
  Sums first;
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(events, random);
    std::string body;
    for (const std::string& text : events) body += (body.empty() ? "" : ",") + text;
    const Sums sums = sums_of(read_text(trace_object(body)));
    if (i == 0) first = sums;
    EXPECT_EQ(sums, first);
  }
  EXPECT_EQ(first, (Sums{{"a", {2, 6}}, {"b", {1, 3}}}));
}

/// The array form: kernels by operator or node; fences, sessions and sequential execution do not count.
TEST(ReadTrace, OnnxRuntime) {
  const std::string text =
      R"([{"cat": "Session", "pid": 1, "tid": 1, "dur": 100, "ts": 1, "ph": "X", "name": "model_loading_uri", "args": {}},
      {"cat": "Node", "pid": 1, "tid": 1, "dur": 30, "ts": 205, "ph": "X", "name": "conv1_kernel_time", "args": {"op_name": "Conv", "provider": "CPUExecutionProvider"}},
      {"cat": "Node", "pid": 1, "tid": 1, "dur": 1, "ts": 204, "ph": "X", "name": "conv1_fence_before", "args": {"op_name": "Conv"}},
      {"cat": "Node", "pid": 1, "tid": 1, "dur": 12.5, "ts": 240, "ph": "X", "name": "relu_kernel_time", "args": {"op_name": "Relu"}},
      {"cat": "Session", "pid": 1, "tid": 1, "dur": 60, "ts": 201, "ph": "X", "name": "SequentialExecutor::Execute", "args": {}},
      {"cat": "Session", "pid": 1, "tid": 1, "dur": 70, "ts": 200, "ph": "X", "name": "model_run", "args": {}}])";
  const Trace trace = read_text(text);
  EXPECT_EQ(trace.source, "ONNX Runtime");
  EXPECT_EQ(sums_of(trace), (Sums{{"Conv", {1, 30}}, {"Relu", {1, 12.5}}}));
  EXPECT_EQ(sums_of(read_text(text, {.steps = {}, .names_of_nodes = true})), (Sums{{"conv1", {1, 30}}, {"relu", {1, 12.5}}}));
}

TEST(ReadTrace, OpenVino) {
  const std::string text =
      "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\n"
      "conv1;Status.EXECUTED;Convolution;brgconv_avx512_f32;0.5;0.5;\r\n"
      "bn1;Status.NOT_RUN;Multiply;undef;0.0;0.0;\n"
      "conv2;Status.EXECUTED;Convolution;brgconv_avx512_f32;0.25;0.25;\n"
      "Total;;;;0.75;0.75;\n";
  const Trace trace = read_text(text);
  EXPECT_EQ(trace.source, "OpenVINO");
  EXPECT_EQ(sums_of(trace), (Sums{{"Convolution", {2, 750}}}));
  expect_refused("layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\na;b;c\n", ErrorKind::invalid, "line 2");
  expect_refused("a,b,c\n1,2,3\n", ErrorKind::invalid, "neither a trace nor a profile");
}

TEST(ReadTrace, TensorRt) {
  const Trace trace = read_text(
      R"([{"count": 100}, {"name": "conv1 + relu1", "timeMs": 50, "averageMs": 0.5, "medianMs": 0.5, "percentage": 62.5},
          {"name": "fc", "timeMs": 30, "averageMs": 0.3, "medianMs": 0.3, "percentage": 37.5}])");
  EXPECT_EQ(trace.source, "TensorRT");
  EXPECT_EQ(sums_of(trace), (Sums{{"conv1 + relu1", {1, 500}}, {"fc", {1, 300}}}));
}

TEST(ReadTrace, OwnProfile) {
  const Trace trace = read_text(
      R"J({"schema": "relayout.profile/1", "context": {"cpu": "X", "isa": "AVX2", "threads": 1}, "rows": [
          {"node": "c1", "op": "Conv", "kind": "node", "time_us": 10.5}, {"node": "c2", "op": "Conv", "kind": "node", "time_us": 2},
          {"node": "(executor)", "op": "", "kind": "executor", "time_us": 0.5}]})J");
  EXPECT_EQ(sums_of(trace), (Sums{{"(executor)", {1, 0.5}}, {"Conv", {2, 12.5}}}));
  EXPECT_EQ(trace.machine, "X, AVX2, 1 thread");
}

TEST(ReadTrace, RefusesMalformedTraces) {
  const std::string good = trace_object(event("a", 1, 2));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW((void)read_text(good.substr(0, size)), Error) << size;
  }
  expect_refused("", ErrorKind::invalid, "empty");
  expect_refused("{}", ErrorKind::invalid, "no complete events");
  expect_refused("[]", ErrorKind::invalid, "no complete events");
  expect_refused(trace_object(event("a", 1, -2)), ErrorKind::invalid, "took -2");
  expect_refused(trace_object(R"({"ph": "X", "cat": "c", "name": "a", "ts": NaN, "dur": 1})"), ErrorKind::invalid, "not JSON");
  expect_refused(trace_object(R"({"ph": "X", "cat": "c", "name": "a", "ts": 1, "dur": 1e300})"), ErrorKind::invalid, "took");
  expect_refused(trace_object(R"({"ph": "X", "cat": "c", "name": "a", "ts": 1, "dur": "2"})"), ErrorKind::invalid, "'a' has no numbers");
  expect_refused(trace_object(R"({"ph": "X", "cat": "c", "name": "a", "ts": 1})"), ErrorKind::invalid, "'a' has no numbers");
  expect_refused(trace_object(R"({"args": )" + std::string(10'000, '[')), ErrorKind::invalid, "levels deep");
  const std::string packed = gzipped(good);
  expect_refused(packed.substr(0, packed.size() / 2), ErrorKind::invalid, "ends early");
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
  EXPECT_THROW((void)read_text(damaged), Error);
}

/// An event without a possible time is skipped and counted, with its place; strict options refuse it.
TEST(ReadTrace, SkipsImpossibleTimes) {
  const std::string good = event("a", 1, 2);
  const auto broken = [](const std::string& times) { return R"({"ph": "X", "cat": "cpu_op", "name": "b", )" + times + "}"; };
  for (const char* const times :
       {R"("ts": 1, "dur": -3)", R"("ts": 1, "dur": NaN)", R"("ts": NaN, "dur": 1)", R"("ts": 1, "dur": "3")", R"("ts": 1)", R"("dur": 1)",
        R"("ts": 1, "dur": null)", R"("ts": 1, "dur": 1e999)", R"("ts": -Infinity, "dur": 1)", R"("ts": 1, "dur": Infinity)",
        R"("ts": 1, "dur": 1e300)", R"("ts": 1, "dur": [3])"}) {
    const std::string text = trace_object(good + "," + broken(times) + "," + good + "," + broken(times));
    const Trace trace = read_text(text);
    EXPECT_EQ(sums_of(trace), (Sums{{"a", {2, 4}}})) << times;
    EXPECT_EQ(trace.skipped, 2) << times;
    EXPECT_THAT(trace.first_skipped,
                testing::AllOf(HasSubstr("'b' "), HasSubstr("(byte " + std::to_string(text.find(broken(times))) + ")")));
    expect_refused(text, ErrorKind::invalid, trace.first_skipped, {.strict = true});
  }
  EXPECT_EQ(read_text(trace_object(good)).skipped, 0);
  EXPECT_EQ(read_text(trace_object(event("a", -5, 0)), {.strict = true}).skipped, 0)
      << "a beginning below zero and no duration are possible";
}

TEST(ReadTrace, SkipsImpossibleTimesOfEveryTool) {
  const auto expect = [](const std::string& text, const Sums& sums, const std::string& first) {
    const Trace trace = read_text(text);
    EXPECT_EQ(sums_of(trace), sums) << text;
    EXPECT_EQ(trace.skipped, 1) << text;
    EXPECT_THAT(trace.first_skipped, HasSubstr(first));
    expect_refused(text, ErrorKind::invalid, first, {.strict = true});
  };
  expect(R"([{"cat": "Node", "dur": -30, "ts": 5, "ph": "X", "name": "c_kernel_time", "args": {"op_name": "Conv"}},
             {"cat": "Node", "dur": 3, "ts": 50, "ph": "X", "name": "r_kernel_time", "args": {"op_name": "Relu"}}])",
         {{"Relu", {1, 3}}}, "'c_kernel_time' took -30 µs (byte 1)");
  expect(R"([{"count": 1}, {"name": "conv1", "averageMs": 0.5}, {"name": "fc", "averageMs": "?"}])", {{"conv1", {1, 500}}},
         "'fc' has no numbers as its times (byte ");
  expect(R"({"schema": "relayout.profile/1", "rows": [{"node": "c", "op": "Conv", "kind": "node", "time_us": 1},
             {"node": "d", "op": "Conv", "kind": "node", "time_us": -1}]})",
         {{"Conv", {1, 1}}}, "'d' took -1 µs (byte ");
  const std::string head = "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\nc;EXECUTED;Conv;x;0.5;0.5;\n";
  for (const char* line : {"d;EXECUTED;Conv;x;-0.5;1;\n", "d;EXECUTED;Conv;x;nan;1;\n", "d;EXECUTED;Conv;x;;1;\n", "d;EXECUTED\n",
                           "d;EXECUTED;Conv;x;1e999;1;\n"}) {
    expect(head + line, {{"Conv", {1, 500}}}, "(line 3)");
  }
  EXPECT_EQ(read_text(head + "d;NOT_RUN;Conv;x;?;1;\n").skipped, 0) << "it took no time";
  // A step without a possible time is no step.
  const Trace steps = read_text(trace_object(span(1, 0, 10) + "," + span(2, 10, -10) + "," + event("a", 1, 2) + "," + event("a", 11, 2)));
  EXPECT_EQ(steps.skipped, 1);
  EXPECT_EQ(steps.outside, 1);
}

/// Thirty thousand damaged traces of every kind are read or refused, and a trace does not differ from itself.
TEST(ReadTrace, RandomDamageIsReadOrRefused) {
  const std::vector<std::string> seeds = {
      trace_object(span(5, 0, 100) + "," + event("conv", 1, 10) + "," + event("relu", 12, 1)),
      R"([{"cat": "Node", "dur": 30, "ts": 5, "ph": "X", "name": "c_kernel_time", "args": {"op_name": "Conv"}}])",
      R"([{"count": 1}, {"name": "conv1", "averageMs": 0.5}])",
      R"({"schema": "relayout.profile/1", "context": {"cpu": "X"}, "rows": [{"node": "c", "op": "Conv", "kind": "node", "time_us": 1}]})",
      "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\nc;EXECUTED;Conv;x;0.5;0.5;\n",
      gzipped(trace_object(event("conv", 1, 10)))};
  std::mt19937 random(11);
  int read = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (auto change = random() % 3 + 1; change > 0 && !text.empty(); --change) {
      const std::size_t at = random() % text.size();
      const auto kind = random() % 3;
      if (kind == 0) text[at] = static_cast<char>(random());
      if (kind == 1) text.erase(at, random() % 4);
      if (kind == 2) text.insert(at, 1, "{}[]\",:0-e\\"[random() % 11]);
    }
    try {
      const Trace trace = read_trace_file(File::from_bytes(text, "trace"), {});
      ++read;
      for (const OperationDifference& row : diff_traces(trace, trace)) ASSERT_EQ(row.counts, CountClass::unchanged) << text;
    } catch (const Error& error) {
      ASSERT_TRUE(error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::unsupported) << error.what() << "\n" << text;
    }
  }
  EXPECT_GT(read, 3000);
}

/// A nested value in the place of a plain one does not disturb the values next to it.
TEST(ReadTrace, SkipsUnknownContents) {
  const Trace trace = read_text(trace_object(
      R"(17, [1, [2]], {"ph": "X", "cat": "c", "name": "a", "ts": 1, "dur": 2, "args": {"op": {"x": [1]}, "node": [], "op_name": 3}, "more": [[{}]]})"));
  EXPECT_EQ(sums_of(trace), (Sums{{"a", {1, 2}}}));
}

/// The examples of HolisticTraceAnalysis' own documentation of shortened names.
TEST(ShortName, AsHolisticTraceAnalysis) {
  EXPECT_EQ(short_name("aten::add"), "aten::add");
  EXPECT_EQ(short_name("void at::native::vectorized<4, at::Functor<float>>(int, float*)"), "at::native::vectorized");
  EXPECT_EQ(short_name("Memcpy HtoD (Pageable -> Device)"), "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(short_name("two words"), "two words");
  EXPECT_EQ(short_name("f(int)->void g(x)"), "g");
  EXPECT_EQ(short_name("(executor)"), "(executor)") << "nothing would be left";
}

TEST(DiffTraces, ClassesOfCounts) {
  const Trace a = read_text(trace_object(event("gone", 1, 1) + "," + event("less", 2, 1) + "," + event("less", 3, 1) + "," +
                                         event("more", 4, 1) + "," + event("same", 5, 1)));
  const Trace b = read_text(trace_object(event("new", 1, 9) + "," + event("less", 2, 1) + "," + event("more", 3, 1) + "," +
                                         event("more", 4, 1) + "," + event("same", 5, 3)));
  std::vector<std::string> rows;
  for (const OperationDifference& row : diff_traces(a, b)) rows.push_back(row.name + " " + std::string(to_string(row.counts)));
  EXPECT_THAT(rows, ElementsAre("new added", "same unchanged", "gone removed", "less decreased", "more increased"));
  for (const OperationDifference& row : diff_traces(a, a)) {
    EXPECT_EQ(row.counts, CountClass::unchanged);
    EXPECT_EQ(row.difference_us(), 0);
  }
}

/// Eight steps: disjoint intervals are a difference of time, narrow overlapping ones are none, wide overlapping ones are inconclusive. Five
/// steps have no interval.
TEST(DiffTraces, ClassesOfTime) {
  const auto steps = [](int count, double first, double drift) {
    std::string body;
    for (int i = 0; i < count; ++i) {
      body += (i == 0 ? "" : ",") + span(i, i * 100.0, 100) + "," + event("op", i * 100.0 + 1, first + drift * (i % 3));
    }
    return read_text(trace_object(body));
  };
  const auto time = [](const Trace& a, const Trace& b) { return diff_traces(a, b).front().time; };
  EXPECT_EQ(time(steps(8, 10, 1), steps(8, 20, 1)), TimeClass::slower);
  EXPECT_EQ(time(steps(8, 20, 1), steps(8, 10, 1)), TimeClass::faster);
  EXPECT_EQ(time(steps(8, 10, 0.1), steps(8, 10.05, 0.1)), TimeClass::same);
  EXPECT_EQ(time(steps(8, 10, 1), steps(8, 10.5, 1)), TimeClass::inconclusive) << "10.5 / 12 … 12.5 / 10";
  EXPECT_EQ(time(steps(8, 10, 0), steps(8, 1, 31)), TimeClass::inconclusive) << "1, 32, 63 against 10";
  EXPECT_EQ(time(steps(5, 10, 1), steps(5, 20, 1)), TimeClass::unknown);
}

/// A profile's rows have intervals of their own scale: the sum of 10 in 9 … 12 and of 20 in 10 … 60, compared with 30 in 29.5 … 30.5.
TEST(DiffTraces, IntervalsOfProfiles) {
  const auto row = [](const char* node, double us, double scale, double low, double high) {
    const auto text = [](double value) { return std::to_string(value); };
    return std::string(R"({"node": ")") + node + R"(", "op": "Conv", "kind": "node", "time_us": )" + text(us) + R"(, "median_us": )" +
           text(us * scale) + R"(, "low_us": )" + text(low * scale) + R"(, "high_us": )" + text(high * scale) + "}";
  };
  const auto profile = [](const std::string& rows) { return read_text(R"({"schema": "relayout.profile/1", "rows": [)" + rows + "]}"); };
  const Trace wide = profile(row("a", 10, 1.5, 9, 12) + "," + row("b", 20, 1.5, 10, 60));
  ASSERT_EQ(wide.operations.size(), 1U);
  ASSERT_TRUE(wide.operations[0].interval);
  EXPECT_NEAR(wide.operations[0].interval->low, 19, 1e-6);
  EXPECT_NEAR(wide.operations[0].interval->high, 72, 1e-6);
  const Trace narrow = profile(row("a", 30, 2, 29.5, 30.5)), double_work = profile(row("a", 60, 1, 59, 61));
  EXPECT_EQ(diff_traces(wide, narrow).front().time, TimeClass::inconclusive);
  EXPECT_EQ(diff_traces(narrow, narrow).front().time, TimeClass::same);
  EXPECT_EQ(diff_traces(narrow, double_work).front().time, TimeClass::slower);
  const Trace bare = profile(R"({"node": "a", "op": "Conv", "kind": "node", "time_us": 30})");
  EXPECT_EQ(diff_traces(bare, narrow).front().time, TimeClass::unknown);
}

}  // namespace
}  // namespace relayout::test
