// Tests `relayout profile` on the command line: the books balance in every form, files for other tools, gates, refusals.

#include <regex>
#include <sstream>

#include "command/browser.h"
#include "command/command_test.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "report/json.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ProfileCommand : public CommandTest {
 protected:
  ProfileCommand() { save_model(conv_batch_norm(), folder_ / "net.onnx"); }

  ProcessResult profile(std::vector<std::string> arguments, ProcessOptions options = {}) {
    arguments.insert(arguments.begin(), {"profile"});
    for (const char* word : {"--repeat", "8"}) arguments.emplace_back(word);
    return run(arguments, std::move(options));
  }
};

double sum_of(const Json& rows) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += rows.at(i)->find("time_us")->number().value();
  return sum;
}

TEST_F(ProfileCommand, BooksBalanceInJson) {
  for (const char* by : {"node", "op", "layout", "impl", "scope:0"}) {
    const ProcessResult result = profile({"net.onnx", "--json", "--by", by});
    ASSERT_EQ(result.code, 0) << result.err;
    const Json report = Json::parse(result.out, "report");
    EXPECT_EQ(report.find("schema")->text(), "relayout.profile/1");
    const double latency = report.find("latency")->find("median_us")->number().value();
    EXPECT_GT(latency, 0);
    EXPECT_NEAR(sum_of(*report.find("rows")), latency, 1e-9 * latency);
    if (by == std::string("node")) continue;
    EXPECT_NEAR(sum_of(*report.find("groups")->find("lines")), latency, 1e-9 * latency) << by;
  }
}

/// The nodes of a Loop and of a function have rows. The row of a Loop holds the remainder, and a call is annotated with the total of its
/// function.
TEST_F(ProfileCommand, BooksBalanceWithinFunctionsAndLoops) {
  const TextModel model(R"(g (float[8,64] x, int64 n, bool c) => (float[8,64] y) {
  a = local.block (x)
  y = Loop (n, c, a) <body = body (int64 i, bool ci, float[8,64] s) => (bool co, float[8,64] t) { co = Identity (ci)
    e = Exp (s)
    t = Tanh (e) }>
}
<domain: "local", opset_import: ["" : 18]>
block (x) => (y) { t = Erf (x)
  y = Sigmoid (t) })",
                        R"(<ir_version: 10, opset_import: ["" : 18, "local" : 1]>)");
  write_file(folder_ / "nested.onnx", model.bytes());
  const ProcessResult result = profile({"nested.onnx", "--mode", "as-written", "--json", "--annotate", "annotated.onnx"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json report = Json::parse(result.out, "report"), rows = *report.find("rows");
  const double latency = report.find("latency")->find("median_us")->number().value();
  EXPECT_NEAR(sum_of(rows), latency, 1e-9 * latency);
  std::vector<std::string> nodes;
  double block = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json callers = *rows.at(i)->find("callers");
    const std::string caller = callers.size() > 0 ? *callers.at(0)->text() : "";
    nodes.push_back(caller + "/" + *rows.at(i)->find("node")->text());
    if (caller == "a") block += rows.at(i)->find("time_us")->number().value();
  }
  EXPECT_THAT(nodes, ElementsAre("a/t", "a/y", "/y", "y/e", "y/t", "/(executor)"));
  const auto annotated = Model::load(folder_ / "annotated.onnx");
  const Node& call = annotated->graph().nodes().front();
  ASSERT_EQ(call.message().metadata_props(0).key(), "relayout.time_us");
  EXPECT_NEAR(std::stod(call.message().metadata_props(0).value()), block, 0.001);
}

/// Events of the runs in a trace of microseconds with three decimals, by node, in whole nanoseconds.
struct TracedTimes {
  std::vector<double> runs;                            ///< microseconds
  std::map<std::string, std::vector<double>> by_node;  ///< of each run
};

/// Events of a run follow each other from its begin to its end.
TracedTimes traced_times(const Json& trace) {
  const auto nanoseconds = [](const Json& event, const char* what) { return std::llround(*event.find(what)->number() * 1000); };
  TracedTimes out;
  int64_t now = 0, end_of_run = 0;
  const Json events = *trace.find("traceEvents");
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Json event = *events.at(i);
    if (*event.find("ph")->text() != "X") continue;
    const int64_t begin = nanoseconds(event, "ts"), length = nanoseconds(event, "dur");
    if (event.find("cat")->text() == "user_annotation") {
      EXPECT_EQ(now, end_of_run) << "before " << event.dump();
      now = begin;
      end_of_run = begin + length;
      out.runs.push_back(static_cast<double>(length) / 1000);
      continue;
    }
    EXPECT_EQ(begin, now) << event.dump();
    now = begin + length;
    std::vector<double>& times = out.by_node[*event.find("args")->find("node")->text()];
    times.resize(out.runs.size());
    times.back() += static_cast<double>(length) / 1000;
  }
  EXPECT_EQ(now, end_of_run);
  for (auto& [node, times] : out.by_node) times.resize(out.runs.size());
  return out;
}

double median(std::vector<double> odd) {
  std::ranges::sort(odd);
  return odd.at(odd.size() / 2);
}

/// The nodes of two plans, the second of which follows data, and a Loop: the runs of the trace are those of the table, and the events of a
/// node add up to what the table measured of it, the executor's too.
TEST_F(ProfileCommand, BooksBalanceInTheTrace) {
  write_file(folder_ / "data.onnx", TextModel(R"(g (float[8,64] x, int64 n, bool c) => (float[8,64] y, int64[2,k] z) {
  a = Loop (n, c, x) <body = body (int64 i, bool ci, float[8,64] s) => (bool co, float[8,64] t) { co = Identity (ci)
    t = Exp (s) }>
  r = Relu (a)
  p = NonZero (r)
  z = Add (p, p)
  y = Tanh (a)
})")
                                        .name_nodes()
                                        .bytes());
  for (const char* model : {"net.onnx", "data.onnx"}) {
    for (const char* threads : {"1", "2"}) {
      const ProcessResult result =
          run({"profile", model, "--repeat", "9", "--threads", threads, "--mode", "as-written", "--trace", "t.json", "--json"});
      ASSERT_EQ(result.code, 0) << result.err;
      const Json report = Json::parse(result.out, "report"), rows = *report.find("rows");
      const TracedTimes traced = traced_times(Json::parse(read_file(folder_ / "t.json"), "trace"));
      ASSERT_EQ(traced.runs.size(), 9U);
      EXPECT_NEAR(median(traced.runs), *report.find("latency")->find("median_us")->number(), 1e-6);
      std::vector<std::string> nodes;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::string node = *rows.at(i)->find("node")->text();
        if (rows.at(i)->find("callers")->size() > 0) continue;  // within the Loop's event
        nodes.push_back(node);
        if (rows.at(i)->find("op")->text() == "Loop") continue;
        EXPECT_NEAR(median(traced.by_node.at(node)), *rows.at(i)->find("median_us")->number(), 1e-6) << node;
      }
      EXPECT_THAT(nodes, testing::Contains("(executor)"));
      for (const auto& [node, times] : traced.by_node) EXPECT_THAT(nodes, testing::Contains(node));
    }
  }
}

/// Printed numbers have one decimal: the sum is off by half of one for each line at most.
TEST_F(ProfileCommand, BooksBalanceInText) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--top", "1"}, {"--only", "conv*"}, {"--by", "op"}}) {
    std::vector<std::string> arguments{"net.onnx", "--csv", "net.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = profile(arguments);
    ASSERT_EQ(result.code, 0) << result.err;
    static const std::regex kLine("\n\\S.* ([0-9,]+\\.[0-9]) +([0-9.]+) % +([0-9.]+) %");
    double sum = 0;
    int lines = 0;
    for (auto it = std::sregex_iterator(result.out.begin(), result.out.end(), kLine); it != std::sregex_iterator(); ++it, ++lines) {
      sum += std::stod(std::regex_replace((*it)[1].str(), std::regex(","), ""));
    }
    EXPECT_GE(lines, 2) << result.out;
    std::istringstream csv(read_file(folder_ / "net.csv"));
    std::string line;
    std::getline(csv, line);
    EXPECT_THAT(line, HasSubstr("time_us"));
    double csv_sum = 0;
    while (std::getline(csv, line)) {
      std::vector<std::string> fields;
      bool quoted = false;
      fields.emplace_back();
      for (const char c : line) {
        if (c == '"')
          quoted = !quoted;
        else if (c == ',' && !quoted)
          fields.emplace_back();
        else
          fields.back() += c;
      }
      ASSERT_EQ(fields.size(), 18U) << line;
      csv_sum += std::stod(fields[10]);
    }
    EXPECT_NEAR(sum, csv_sum, 0.05 * lines + 1e-9) << result.out;
  }
}

TEST_F(ProfileCommand, ReportsTheMeasurement) {
  const ProcessResult result = profile({"net.onnx", "--threads", "1"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("net.onnx   optimized · f32 · x [1, 3, 8, 8]"), HasSubstr("median of 8 runs"),
                                HasSubstr("first run"), HasSubstr("(executor)"), HasSubstr("1 thread on")));
  EXPECT_EQ(line_count(profile({"net.onnx", "--quiet"}).out), 1U);
  EXPECT_THAT(profile({"net.onnx", "-v"}).out, HasSubstr("with norm0"));
  EXPECT_THAT(profile({"net.onnx", "--mode", "as-written"}).out, HasSubstr("BatchNorm"));
}

TEST_F(ProfileCommand, SweepIsOneTable) {
  write_file(folder_ / "free.onnx", TextModel("g (float[N,4] x) => (float[N,4] y) {\ny = Relu (x)\n}").bytes());
  const ProcessResult result = profile({"free.onnx", "--threads", "1,2", "--dim", "N=1,8"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_GE(line_count(result.out), 7U) << result.out;  // one more where the machine is busy
  EXPECT_THAT(result.out, testing::AnyOf(HasSubstr("1, 2 threads on"), HasSubstr("on 1 of "))) << "of all lines, not of the first";
  const Json report = Json::parse(profile({"free.onnx", "--threads", "1,2", "--dim", "N=1,8", "--json"}).out, "report");
  EXPECT_EQ(report.find("schema")->text(), "relayout.profile-sweep/1");
  ASSERT_EQ(report.find("profiles")->size(), 4U);
  EXPECT_EQ(report.find("profiles")->at(1)->find("inputs")->find("x")->at(0)->number(), 8);
  EXPECT_EQ(report.find("profiles")->at(2)->find("context")->find("threads")->number(), 2);
}

/// The table of PyTorch's tutorial: these heads, a rule below them, longest first.
TEST_F(ProfileCommand, ReferenceColumns) {
  const ProcessResult result = profile({"net.onnx", "--reference-columns", "--mode", "as-written"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  std::string head, rule, row;
  std::getline(lines, head);
  std::getline(lines, rule);
  EXPECT_THAT(head, testing::MatchesRegex("Op type +Op +Average runtime \\(s\\)  Pct total runtime"));
  EXPECT_THAT(rule, testing::MatchesRegex("-+  -+  -+  -+"));
  double latest = 1, share = 0;
  while (std::getline(lines, row)) {
    std::istringstream words(row);
    std::string op, name;
    double seconds = 0, percent = 0;
    words >> op >> name >> seconds >> percent;
    EXPECT_TRUE(name == "(executor)" || seconds <= latest) << row;
    latest = seconds;
    share += percent;
  }
  EXPECT_NEAR(share, 100, 0.01);
}

TEST_F(ProfileCommand, FilesForOtherTools) {
  const ProcessResult result =
      profile({"net.onnx", "--trace", "t.json", "--stacks", "s.txt", "--annotate", "a.onnx", "--markdown", "m.md"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json trace = Json::parse(read_file(folder_ / "t.json"), "trace");
  EXPECT_GT(trace.find("traceEvents")->size(), 8U);
  EXPECT_THAT(read_file(folder_ / "s.txt"), HasSubstr("net.onnx;"));
  EXPECT_THAT(read_file(folder_ / "m.md"), HasSubstr("| node | op |"));
  EXPECT_EQ(run({"verify", "net.onnx", "a.onnx"}).code, 0);
  EXPECT_EQ(profile({"net.onnx", "--trace", "t.json.gz", "-q"}).code, 0);
  EXPECT_TRUE(read_file(folder_ / "t.json.gz").starts_with("\x1f\x8b"));
  const ProcessResult streamed = profile({"net.onnx", "--csv", "-"});
  EXPECT_THAT(streamed.out, testing::StartsWith("name,absorbed"));
  EXPECT_THAT(streamed.err, HasSubstr("latency"));
}

TEST_F(ProfileCommand, PagesAreDrawn) {
  ASSERT_EQ(profile({"net.onnx", "--html", "page.html", "--csv", "net.csv"}).code, 0);
  const std::string page = read_file(folder_ / "page.html");
  EXPECT_THAT(page, AllOf(HasSubstr("Time by scope"), HasSubstr("(executor)"), HasSubstr("relayout.profile/1"), Not(HasSubstr("http://")),
                          Not(HasSubstr("https://"))));
  ASSERT_EQ(profile({"net.onnx", "net.onnx", "--html", "pair.html"}).code, 0);
  EXPECT_THAT(read_file(folder_ / "pair.html"), AllOf(HasSubstr("Differences"), HasSubstr("relayout.profile-comparison/1")));
  expect_drawn(folder_, "page.html");
}

TEST_F(ProfileCommand, ComparesTwoModels) {
  ASSERT_EQ(run({"convert", "net.onnx", "-q"}).code, 0);
  const ProcessResult text = profile({"net.onnx", "net.cl.onnx", "--threads", "1"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("B takes"), HasSubstr("8 pairs in 8 rounds, processor time"), HasSubstr("(executor)")));
  const Json causes = Json::parse(profile({"net.onnx", "net.cl.onnx", "--mode", "as-written", "--json"}).out, "report");
  EXPECT_EQ(causes.find("causes")->at(0)->find("cause")->text(), "folded");
  EXPECT_EQ(causes.find("proved")->dump(), "true");
  double sum = 0;
  for (std::size_t i = 0; i < causes.find("causes")->size(); ++i) sum += *causes.find("causes")->at(i)->find("difference_us")->number();
  const double whole = *causes.find("b")->find("total_us")->number() - *causes.find("a")->find("total_us")->number();
  EXPECT_NEAR(sum, whole, 1e-9 * *causes.find("a")->find("total_us")->number());
}

/// For real runs, tests only that the answer follows from the measured ratio: the duration depends on the machine.
TEST_F(ProfileCommand, SlowdownFailsTheGate) {
  const std::string head = "g (float[256,256] x) => (float[256,256] y) {\n";
  write_file(folder_ / "a.onnx", TextModel(head + "y = MatMul (x, x)\n}").name_nodes().bytes());
  write_file(folder_ / "b.onnx", TextModel(head + "z = MatMul (x, x)\ny = MatMul (z, x)\n}").name_nodes().bytes());
  for (const char* limit : {"0%", "5%", "900%"}) {
    const ProcessResult result = profile({"a.onnx", "b.onnx", "--threads", "1", "--fail-on-slowdown", limit, "--json"});
    const Json report = Json::parse(result.out, "report");
    const double most = 1 + *report.find("gate")->find("fail_on_slowdown")->number();
    EXPECT_DOUBLE_EQ(most, 1 + std::stod(limit) / 100);
    const double low = *report.find("ratio")->find("low")->number(), high = *report.find("ratio")->find("high")->number();
    const char* const verdict = low > most ? "slower" : high <= most ? "within" : "inconclusive";
    EXPECT_EQ(report.find("gate")->find("verdict")->text(), verdict) << result.out;
    EXPECT_EQ(result.code, low > most ? 1 : 0) << result.out;
    EXPECT_EQ(report.find("exit_code")->number(), result.code);
    EXPECT_THAT(result.out, HasSubstr("MatMul_1"));
  }
  EXPECT_EQ(run({"profile", "a.onnx", "b.onnx", "--repeat", "3", "--fail-on-slowdown", "20%", "--strict"}).code, 1)
      << "three rounds give no interval";
  EXPECT_EQ(run({"profile", "a.onnx", "b.onnx", "--repeat", "3", "--fail-on-slowdown", "20%"}).code, 0);
}

TEST_F(ProfileCommand, RefusesInvalidArguments) {
  expect_refusal(run({"profile"}), 2, "MODEL");
  expect_refusal(run({"profile", "net.onnx", "--by", "color"}), 2, "none of node");
  expect_refusal(run({"profile", "net.onnx", "--by", "op:2"}), 2, "only a scope");
  expect_refusal(profile({"net.onnx", "--only", "nothing"}), 2, "no line of the table");
  expect_refusal(profile({"net.onnx", "--fail-on-slowdown", "3%"}), 2, "of two models");
  expect_refusal(profile({"net.onnx", "net.onnx", "--csv", "x.csv"}), 2, "of one model");
  expect_refusal(profile({"net.onnx", "--threads", "1,2", "--csv", "x.csv"}), 2, "one setting");
  expect_refusal(profile({"net.onnx", "net.onnx", "--threads", "1,2"}), 2, "one setting");
  expect_refusal(profile({"net.onnx", "--threads", "0"}), 2, "less than 1");
  expect_refusal(run({"profile", "net.onnx", "--until", "x"}), 2, "--until");
  expect_refusal(run({"profile", "net.onnx", "--until", "0%"}), 2, "more than 0");
  expect_refusal(run({"profile", "net.onnx", "--until", "1%", "--repeat", "3"}), 2, "exclude");
  expect_refusal(profile({"net.onnx", "--dim", "Q=2"}), 2, "Q");
  expect_refusal(profile({"nothing.onnx"}), 5, "nothing.onnx");
  expect_refusal(profile({"net.onnx", "--csv", "no/folder/x.csv"}), 5, "no/folder");
  EXPECT_THAT(folder_.entries(), testing::ElementsAre("net.onnx"));
}

}  // namespace
}  // namespace relayout::test
