// Tests `relayout diff` on the command line: two traces, gates, several files, refusals.

#include <cstddef>

#include "command/command_test.h"
#include "profile/traces.h"
#include "report/json.h"
#include "support/network.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class DiffCommand : public CommandTest {
 protected:
  DiffCommand() {
    write_file(folder_ / "a.json",
               trace_object(event("Conv", 1, 10) + "," + event("BatchNormalization", 12, 5) + "," + event("Relu", 20, 2)));
    write_file(folder_ / "b.json", trace_object(event("Conv", 1, 11) + "," + event("Reorder", 13, 3) + "," + event("Relu", 20, 2) + "," +
                                                event("Relu", 23, 2)));
  }
};

TEST_F(DiffCommand, ShowsCountsAndTimes) {
  const ProcessResult result = run({"diff", "a.json", "b.json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("BatchNormalization"), HasSubstr("-5.0"), HasSubstr("removed"), HasSubstr("+3.0"),
                                HasSubstr("1 added · 1 removed · 1 increased · 1 unchanged")));
  EXPECT_THAT(run({"diff", "a.json", "b.json", "--top", "1"}).out, AllOf(HasSubstr("(others)"), Not(HasSubstr("Reorder"))));
  EXPECT_THAT(run({"diff", "a.json", "b.json", "--min-us", "4.5"}).out, AllOf(HasSubstr("(excluded)"), Not(HasSubstr("Reorder"))));
}

TEST_F(DiffCommand, JsonHasTraceDiffsNames) {
  const Json report = Json::parse(run({"diff", "a.json", "b.json", "--json"}).out, "report");
  EXPECT_EQ(report.find("schema")->text(), "relayout.diff/1");
  const Json pair = *report.find("comparisons")->at(0);
  EXPECT_EQ(pair.find("ops")->at(0)->find("name")->text(), "BatchNormalization");
  EXPECT_EQ(pair.find("ops")->at(0)->find("class")->text(), "removed");
  EXPECT_EQ(pair.find("ops")->at(0)->find("diff_us")->number(), -5);
  EXPECT_EQ(pair.find("ops_diff")->find("deleted")->dump(-1), "[\"BatchNormalization\"]");
  EXPECT_EQ(pair.find("ops_diff")->find("added")->dump(-1), "[\"Reorder\"]");
}

TEST_F(DiffCommand, Gates) {
  EXPECT_EQ(run({"diff", "a.json", "a.json", "--exit-code"}).code, 0);
  EXPECT_EQ(run({"diff", "a.json", "b.json", "--exit-code"}).code, 1);
  EXPECT_EQ(run({"diff", "a.json", "b.json", "--fail-on", "decreased"}).code, 0);
  EXPECT_EQ(run({"diff", "a.json", "b.json", "--fail-on", "slower:15%", "--only", "Conv"}).code, 0);
  const ProcessResult slower = run({"diff", "a.json", "b.json", "--fail-on", "decreased,slower:5%"});
  EXPECT_EQ(slower.code, 1);
  EXPECT_THAT(slower.out, HasSubstr("exit 1"));
  EXPECT_EQ(run({"diff", "b.json", "a.json", "--fail-on", "faster:5%"}).code, 1);
}

TEST_F(DiffCommand, JunitHasACasePerClass) {
  EXPECT_EQ(run({"diff", "a.json", "b.json", "--fail-on", "added,decreased,slower:50%", "--junit", "d.xml"}).code, 1);
  const std::string xml = read_file(folder_ / "d.xml");
  EXPECT_THAT(xml, AllOf(HasSubstr("name=\"added\""), HasSubstr("name=\"decreased\""), HasSubstr("name=\"slower\""),
                         HasSubstr("name=\"whole\""), HasSubstr("failures=\"3\""), HasSubstr("1 operation: Reorder")));
  expect_refusal(run({"diff", "a.json", "b.json", "--junit", "d.xml"}), 2, "no effect");
}

TEST_F(DiffCommand, TracesInOtherForms) {
  const ProcessResult result = run({"diff", "a.json", "b.json", "--csv", "d.csv", "--markdown", "d.md", "--html", "d.html"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(read_file(folder_ / "d.csv"), AllOf(HasSubstr("b.json,BatchNormalization,1,0,-1,5,0,-5,removed,unknown,,\r\n"),
                                                  HasSubstr("b.json,Relu,1,2,1,2,4,2,increased,unknown,,\r\n")));
  EXPECT_THAT(read_file(folder_ / "d.md"), HasSubstr("| `Reorder` | 0 | 1 | 0.0 | 3.0 | +3.0 | added |\n"));
  EXPECT_THAT(read_file(folder_ / "d.html"), AllOf(HasSubstr("Counts"), HasSubstr("Durations"), HasSubstr("██████████")));
}

TEST_F(DiffCommand, TheFirstOfSeveralIsTheBaseline) {
  const Json report = Json::parse(run({"diff", "a.json", "b.json", "a.json", "--json", "--exit-code"}).out, "report");
  ASSERT_EQ(report.find("comparisons")->size(), 2U);
  EXPECT_EQ(report.find("comparisons")->at(1)->find("control")->find("file")->text(), "a.json");
  EXPECT_EQ(report.find("comparisons")->at(1)->find("test")->find("file")->text(), "a.json");
  EXPECT_EQ(report.find("exit_code")->number(), 1);
}

/// Files of `relayout profile`, by operator and by node. A trace and the profile of the same runs hold the same operators.
TEST_F(DiffCommand, ReadsOwnFiles) {
  save_model(conv_batch_norm(), folder_ / "net.onnx");
  const ProcessResult profile =
      run({"profile", "net.onnx", "--repeat", "8", "--mode", "as-written", "--trace", "t.json.gz", "--json", "--threads", "1"});
  ASSERT_EQ(profile.code, 0) << profile.err;
  write_file(folder_ / "p.json", profile.out);
  const ProcessResult same = run({"diff", "t.json.gz", "t.json.gz", "--exit-code"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, AllOf(HasSubstr("BatchNormalization"), HasSubstr("8 steps"), HasSubstr("relayout")));
  const ProcessResult nodes = run({"diff", "p.json", "p.json", "--names", "node", "--exit-code"});
  EXPECT_EQ(nodes.code, 0) << nodes.err;
  EXPECT_THAT(nodes.out, AllOf(HasSubstr("norm0"), HasSubstr("(executor)"), HasSubstr("relayout profile")));
  const ProcessResult both = run({"diff", "t.json.gz", "p.json"});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.err, Not(HasSubstr("different machines")));
}

/// Times of different machines cause a warning, and a gate of times needs an explicit option.
TEST_F(DiffCommand, DifferentMachines) {
  const auto profile = [](const std::string& cpu) {
    return R"({"schema": "relayout.profile/1", "context": {"cpu": ")" + cpu +
           R"(", "isa": "AVX2", "threads": 1}, "rows": [{"node": "c", "op": "Conv", "kind": "node", "time_us": 10}]})";
  };
  write_file(folder_ / "x.json", profile("X"));
  write_file(folder_ / "y.json", profile("Y"));
  const ProcessResult warned = run({"diff", "x.json", "y.json"});
  EXPECT_EQ(warned.code, 0);
  EXPECT_THAT(warned.err, HasSubstr("different machines"));
  expect_refusal(run({"diff", "x.json", "y.json", "--fail-on", "slower:5%"}), 2, "different machines");
  EXPECT_EQ(run({"diff", "x.json", "y.json", "--fail-on", "slower:5%", "--allow-different-machine"}).code, 0);
}

TEST_F(DiffCommand, Refuses) {
  save_model(conv_batch_norm(), folder_ / "net.onnx");
  expect_refusal(run({"diff", "a.json"}), 2, "A B");
  expect_refusal(run({"diff", "a.json", "none.json"}), 5, "none.json");
  expect_refusal(run({"diff", "a.json", "net.onnx"}), 2, "only files of one kind");
  expect_refusal(run({"diff", "net.onnx", "net.onnx", "--steps", "3"}), 2, "--steps has no effect on models");
  expect_refusal(run({"diff", "a.json", "b.json", "--ignore", "metadata"}), 2, "--ignore has no effect on traces");
  expect_refusal(run({"diff", "net.onnx", "net.onnx", "--fail-on", "slower:5%"}), 2, "which models have");
  expect_refusal(run({"diff", "net.onnx", "net.onnx", "--ignore", "explained,weights"}), 2, "'weights' is none of changed, removed");
  expect_refusal(run({"diff", "a.json", "b.json", "--fail-on", "sideways"}), 2, "none of added");
  expect_refusal(run({"diff", "a.json", "b.json", "--only", "Nothing"}), 2, "no operation");
  expect_refusal(run({"diff", "a.json", "b.json", "--steps", "3"}), 2, "no such step");
}

/// A model against its conversion and against one with a changed weight: all forms of the report agree, and gates apply by kind.
TEST_F(DiffCommand, Models) {
  save_model(conv_batch_norm(), folder_ / "net.onnx");
  ASSERT_EQ(run({"convert", "net.onnx", "-o", "cl.onnx"}).code, 0);
  const ProcessResult same = run({"diff", "net.onnx", "net.onnx", "--exit-code"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("equal"));
  const ProcessResult converted = run({"diff", "net.onnx", "cl.onnx", "--csv", "d.csv", "--markdown", "d.md", "--html", "d.html"});
  EXPECT_EQ(converted.code, 0) << converted.err;
  for (const std::string& text :
       {converted.out, read_file(folder_ / "d.csv"), read_file(folder_ / "d.md"), read_file(folder_ / "d.html")}) {
    EXPECT_THAT(text, AllOf(HasSubstr("absorbed"), HasSubstr("recomputed, within 1 ULP"))) << text;
  }
  EXPECT_EQ(run({"diff", "net.onnx", "cl.onnx", "--fail-on", "added,removed,changed"}).code, 0);
  EXPECT_EQ(run({"diff", "net.onnx", "cl.onnx", "--exit-code", "--ignore", "explained"}).code, 0);
  EXPECT_EQ(run({"diff", "net.onnx", "cl.onnx", "--exit-code", "--junit", "d.xml"}).code, 1);
  EXPECT_THAT(read_file(folder_ / "d.xml"),
              AllOf(HasSubstr("name=\"explained\""), HasSubstr("name=\"whole\""), HasSubstr("failures=\"2\"")));
  // Textual models are recognized under any name.
  ASSERT_EQ(run({"convert", "net.onnx", "--pass", "none", "-o", "net.json"}).code, 0);
  ASSERT_EQ(run({"convert", "net.onnx", "--pass", "none", "-o", "net.textproto"}).code, 0);
  std::filesystem::copy(folder_ / "net.textproto", folder_ / "net.trace");
  EXPECT_EQ(run({"diff", "net.json", "net.trace", "net.textproto", "net.onnx", "--exit-code"}).code, 0);
  const Json report = Json::parse(run({"diff", "net.onnx", "cl.onnx", "net.onnx", "--json"}).out, "report");
  EXPECT_EQ(report.find("schema")->text(), "relayout.model-diff/1");
  ASSERT_EQ(report.find("comparisons")->size(), 2U);
  const Json first = *report.find("comparisons")->at(0);
  EXPECT_EQ(first.find("equal")->dump(), "false");
  EXPECT_EQ(first.find("counts")->find("changed")->number(), 0);
  EXPECT_EQ(first.find("nodes")->at(0)->find("reason")->text(), "folded");
  EXPECT_EQ(report.find("comparisons")->at(1)->find("equal")->dump(), "true");
}

/// A time between 0.1 and 6.3 of its old value is not the same in any form of the report, and no gate passes it in silence.
TEST_F(DiffCommand, WideIntervalsAreInconclusive) {
  const auto write = [&](const char* name, const std::vector<double>& times) {
    std::string body;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto begin = static_cast<double>(1000 * i);
      body += (i == 0 ? "" : ",") + span(static_cast<int>(i), begin, 1000) + "," + event("Conv", begin + 1, times[i]);
    }
    write_file(folder_ / name, trace_object(body));
  };
  write("even.json", {10, 10, 10, 10, 10, 10, 10, 10});
  write("wild.json", {1, 63, 1, 63, 1, 63, 1, 63});
  write("slow.json", {20, 21, 20, 21, 20, 21, 20, 21});
  const ProcessResult wild =
      run({"diff", "even.json", "wild.json", "--csv", "d.csv", "--markdown", "d.md", "--html", "d.html", "--fail-on", "slower:5%"});
  EXPECT_EQ(wild.code, 0) << wild.err;
  const std::string csv = read_file(folder_ / "d.csv"), markdown = read_file(folder_ / "d.md"), page = read_file(folder_ / "d.html");
  for (const std::string& form : {wild.out, csv, markdown, page})
    EXPECT_THAT(form, AllOf(HasSubstr("inconclusive"), Not(HasSubstr("same"))));
  EXPECT_THAT(wild.out, HasSubstr("inconclusive: 'Conv', where the interval holds the limit"));
  const auto report_of = [&](const char* b, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"diff", "even.json", b, "--fail-on", "slower:5%", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(run(words).out, "report");
  };
  const Json wide = report_of("wild.json"), strict = report_of("wild.json", {"--strict"}), slow = report_of("slow.json");
  const Json pair = *wide.find("comparisons")->at(0);
  EXPECT_EQ(pair.find("ops")->at(0)->find("time")->text(), "inconclusive");
  EXPECT_NEAR(*pair.find("ops")->at(0)->find("ratio_high")->number(), 6.3, 1e-9);
  EXPECT_EQ(pair.find("undecided")->dump(-1), "[\"Conv\"]");
  EXPECT_EQ(wide.find("exit_code")->number(), 0);
  EXPECT_EQ(strict.find("exit_code")->number(), 1);
  EXPECT_EQ(slow.find("exit_code")->number(), 1);
  EXPECT_EQ(slow.find("comparisons")->at(0)->find("undecided")->size(), 0U);
  expect_refusal(run({"diff", "even.json", "wild.json", "--fail-on", "added", "--strict"}), 2, "--strict has an effect");
}

/// An operation has a class of counts and one of times: each list adds up by itself.
TEST_F(DiffCommand, CountsAndTimesAreSeparate) {
  const auto write = [&](const char* name, const std::vector<double>& times) {
    std::string body;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto begin = static_cast<double>(1000 * i);
      body += (i == 0 ? "" : ",") + span(static_cast<int>(i), begin, 1000) + "," + event("Conv", begin + 1, times[i]) + "," +
              event("Relu", begin + 100, 2);
    }
    write_file(folder_ / name, trace_object(body));
  };
  write("even.json", {10, 10, 10, 10, 10, 10, 10, 10});
  write("wild.json", {1, 63, 1, 63, 1, 63, 1, 63});
  EXPECT_THAT(run({"diff", "even.json", "wild.json", "--html", "d.html"}).out, HasSubstr("\n2 unchanged; times: 1 inconclusive\n"));
  const std::string page = read_file(folder_ / "d.html");
  const std::size_t counts = page.find("Counts"), durations = page.find("Durations in");
  ASSERT_TRUE(counts < durations && durations < page.size());
  EXPECT_THAT(page.substr(counts, durations - counts), Not(HasSubstr("inconclusive"))) << "equal counts are certain";
  EXPECT_THAT(page.substr(durations), HasSubstr("inconclusive"));
}

TEST_F(DiffCommand, TotalsDoNotDependOnTheLinesShown) {
  write_file(folder_ / "layers.json", R"([{"count": 1}, {"name": "conv", "averageMs": 0.010}, {"name": "relu", "averageMs": 0.0075}])");
  const std::string whole = run({"diff", "layers.json", "layers.json"}).out;
  const std::string part = run({"diff", "layers.json", "layers.json", "--only", "relu"}).out;
  EXPECT_THAT(whole, Not(HasSubstr("(excluded)")));
  EXPECT_THAT(part, HasSubstr("(excluded)"));
  const auto last = [](const std::string& text) {
    const std::size_t at = text.find("\nall ");
    return at == std::string::npos ? "no such line" : text.substr(at, text.find('\n', at + 1) - at);
  };
  EXPECT_THAT(last(whole), MatchesRegex("\nall +2 +2 +17\\.5 +17\\.5 +0\\.0 *"));
  EXPECT_THAT(last(part), MatchesRegex("\nall +2 +2 +17\\.5 +17\\.5 +0\\.0 *"));
}

/// Times of two models' profiles, attributed to the changes: parts add up to the difference of the totals.
TEST_F(DiffCommand, ModelsWithProfiles) {
  save_model(conv_batch_norm(), folder_ / "net.onnx");
  ASSERT_EQ(run({"convert", "net.onnx", "-o", "cl.onnx"}).code, 0);
  for (const std::string name : {"net", "cl"}) {
    const ProcessResult profile = run({"profile", name + ".onnx", "--repeat", "10", "--mode", "as-written", "--json", "--threads", "1"});
    ASSERT_EQ(profile.code, 0) << profile.err;
    write_file(folder_ / (name + ".json"), profile.out);
  }
  const ProcessResult text = run({"diff", "net.onnx", "cl.onnx", "--profiles", "net.json,cl.json"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("absorbed"), HasSubstr("folded (proved)"), HasSubstr("measured apart")));
  const Json report = Json::parse(run({"diff", "net.onnx", "cl.onnx", "--profiles", "net.json,cl.json", "--json"}).out, "report");
  const Json time = *report.find("comparisons")->at(0)->find("time");
  const Json a = Json::parse(read_file(folder_ / "net.json"), "a"), b = Json::parse(read_file(folder_ / "cl.json"), "b");
  double sum = 0;
  const Json causes = *time.find("causes");
  for (std::size_t i = 0; i < causes.size(); ++i) sum += causes.at(i)->find("difference_us")->number().value();
  const double whole = b.find("total_us")->number().value() - a.find("total_us")->number().value();
  EXPECT_NEAR(sum, whole, 1e-6 * a.find("total_us")->number().value());
  EXPECT_GT(time.find("folded")->find("BatchNormalization")->number(), 0);

  expect_refusal(run({"diff", "net.onnx", "cl.onnx", "--profiles", "net.json"}), 2, "1 file for 2 models");
  expect_refusal(run({"diff", "net.onnx", "cl.onnx", "--profiles", "net.json,a.json"}), 3, "no profile of relayout");
  expect_refusal(run({"diff", "a.json", "b.json", "--profiles", "net.json,cl.json"}), 2, "--profiles has no effect on traces");
}

class SlowDiffCommand : public CommandTest {};

/// Two models with 40,000 nodes, one of which is removed: the lists of changes are long, and the proof is tried twice.
TEST_F(SlowDiffCommand, FortyThousandNodesInBoundedMemory) {
  const auto write = [&](const std::string& name, int left_out) {
    constexpr int kPairs = 20'000;
    Network net(1);
    net.input("x", {"1", "4", "8", "8"});
    std::string value = "x";
    for (int i = 0; i < kPairs; ++i) {
      const std::string number = std::to_string(i);
      net.convolution("conv" + number, value, "c" + number, {4, 4, 1, 1}, {});
      value = "c" + number;
      if (i == left_out) continue;
      net.batch_norm("norm" + number, value, "n" + number, 4);
      value = "n" + number;
    }
    net.output(value, {"1", "4", "8", "8"});
    write_file(folder_ / name, net.bytes());
  };
  write("a.onnx", -1);
  write("b.onnx", 12'345);
  const ProcessResult result = run({"diff", "a.onnx", "b.onnx", "--quiet"}, {.timeout = 600});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 removed"));
  EXPECT_LT(result.peak_kib, 540 * 1024);
}

/// Ten million events of one name, packed a hundred times smaller.
TEST_F(SlowDiffCommand, TenMillionEventsInBoundedMemory) {
  std::string piece;
  for (int i = 0; i < 1000; ++i) piece += event("Conv", i, 1) + ",";
  std::string body = "{\"traceEvents\": [";
  for (int i = 0; i < 10'000; ++i) body += piece;
  body += event("Conv", 1, 1) + "]}";
  write_file(folder_ / "huge.json.gz", gzipped(std::move(body)));
  const ProcessResult result = run({"diff", "huge.json.gz", "huge.json.gz", "--exit-code"}, {.timeout = 600});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("10,000,001"));
  EXPECT_LT(result.peak_kib, 100 * 1024);
}

}  // namespace
}  // namespace relayout::test
