// Tests suites on the command line: lists, parts, pairs, interruption, and the reports of all of them.
#include <csignal>
#include <regex>
#include <set>
#include <thread>

#include "base/random.h"
#include "command/browser.h"
#include "command/command_test.h"
#include "report/json.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string without_seconds(const std::string& text) {
  const std::regex times(R"re("seconds": ?[-+.e0-9]+|"time": ?[-+.e0-9]+|time="[.0-9]+"|timestamp="[^"]+"|[.0-9]+ s\b)re");
  return std::regex_replace(text, times, "TIME");
}

class SuiteCommand : public CommandTest {
 protected:
  /// Creates tree/a … tree/f of one small model with its outputs, and outputs in "other" that do not fit.
  void SetUp() override {
    save_model(conv_batch_norm(), folder_ / "net.onnx");
    ASSERT_EQ(run({"convert", "net.onnx"}).code, 0);
    ASSERT_EQ(run({"verify", "net.onnx", "net.cl.onnx", "--samples", "1", "--save-data", "data"}).code, 0);
    for (const char* const name : {"a", "b", "deep/c", "d", "e", "f"}) add_case(name);
    // A different image from that of the outputs.
    ASSERT_EQ(run({"verify", "net.onnx", "net.cl.onnx", "--samples", "1", "--seed", "5", "--save-data", "other"}).code, 0);
  }
  void add_case(const std::string& name) {
    fs::create_directories(folder_ / ("tree/" + name));
    fs::copy(folder_ / "net.onnx", folder_ / ("tree/" + name + "/model.onnx"));
    fs::copy(folder_ / "data", folder_ / ("tree/" + name), fs::copy_options::recursive);
  }
  void spoil(const std::string& name) {
    const std::string output = "test_data_set_0/output_0.pb";
    fs::copy(folder_ / ("other/" + output), folder_ / ("tree/" + name + "/" + output), fs::copy_options::overwrite_existing);
  }
  ProcessResult suite(std::vector<std::string> more, const ProcessOptions& options = {}) {
    more.insert(more.begin(), {"verify", "--suite", "tree"});
    return run(std::move(more), options);
  }
  static std::multiset<std::string> names(const Json& document) {
    std::multiset<std::string> out;
    const Json cases = document.find("cases").value_or(Json::array());
    for (std::size_t i = 0; i < cases.size(); ++i) out.insert(*cases.at(i)->find("name")->text());
    return out;
  }
};

TEST_F(SuiteCommand, ListsItsCases) {
  EXPECT_EQ(suite({"--list"}).out, "a\nb\nd\ndeep/c\ne\nf\n");
  EXPECT_EQ(suite({"--list", "-0", "--shard", "2/3"}).out, std::string("b\0e\0", 4));
  EXPECT_EQ(suite({"--list", "--case", "e", "--case", "a"}).out, "a\ne\n");
  EXPECT_EQ(Json::parse(suite({"--list", "--json"}).out, "list").find("cases")->at(3)->text(), "deep/c");
  add_case("two\nlines");
  expect_refusal(suite({"--list"}), 3, "--list -0");
  EXPECT_THAT(suite({"--list", "-0"}).out, HasSubstr(std::string("two\nlines\0", 10)));
}

TEST_F(SuiteCommand, RunsSomeCases) {
  const ProcessResult one = suite({"--case", "deep/c"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("part of the suite: 1 case\n"));
  EXPECT_THAT(one.out, HasSubstr("as expected   1 of 1 case passed"));
  write_file(folder_ / "list", "a\n\nf\n");
  EXPECT_THAT(names(Json::parse(suite({"--cases-from", "list", "--json"}).out, "report")), ElementsAre("a", "f"));
  const ProcessResult piped = suite({"--cases-from", "-", "--json"}, {.input = std::string("b\0d\0a\0", 6)});
  EXPECT_THAT(names(Json::parse(piped.out, "report")), ElementsAre("a", "b", "d"));
  expect_refusal(suite({"--case", "gone"}), 2, "no case of tree is called 'gone'");
  expect_refusal(suite({"--case", "../net"}), 2, "'../net'");
  expect_refusal(suite({"--cases-from", "nothing"}), 5, "nothing");
}

TEST_F(SuiteCommand, PartsByDurationsAreTheWhole) {
  spoil("b");
  const ProcessResult whole = suite({"--json"});
  EXPECT_EQ(whole.code, 1);
  write_file(folder_ / "whole.json", whole.out);
  std::multiset<std::string> all;
  for (const char* const shard : {"1/2", "2/2"}) {
    const ProcessResult part =
        suite({"--json", "--shard", shard, "--durations", "whole.json"}, {.environment = {{"LC_ALL", "tr_TR.UTF-8"}}});
    const Json document = Json::parse(part.out, "report");
    EXPECT_EQ(document.find("suite")->find("cases")->number(), 6);
    EXPECT_EQ(document.find("suite")->find("digest")->text(), Json::parse(whole.out, "report").find("suite")->find("digest")->text());
    for (const std::string& name : names(document)) all.insert(name);
    EXPECT_EQ(suite({"--list", "--shard", shard, "--durations", "whole.json"}).code, 0);
  }
  EXPECT_THAT(all, ElementsAre("a", "b", "d", "deep/c", "e", "f"));
  write_file(folder_ / "list", "[]");
  expect_refusal(suite({"--durations", "list"}), 3, "list: not a report of relayout verify --suite --json");
  expect_refusal(suite({"--durations", "nothing"}), 5, "nothing");
}

TEST_F(SuiteCommand, ShardAutoNamesItsSource) {
  const ProcessResult part = suite({"--shard", "auto"}, {.environment = {{"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "4"}}});
  EXPECT_THAT(part.out, HasSubstr("shard 2/4, from CI_NODE_TOTAL=4, CI_NODE_INDEX=2 (GitLab CI): 2 of 6 cases\n"));
  // Without --shard, the environment has no effect.
  EXPECT_THAT(suite({}, {.environment = {{"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "4"}}}).out, HasSubstr("6 of 6 cases passed"));
}

TEST_F(SuiteCommand, PairsWithOtherNames) {
  fs::create_directory(folder_ / "o");
  fs::create_directory(folder_ / "c");
  const onnx::ModelProto original = load_model(folder_ / "net.onnx");
  onnx::ModelProto model = original;
  const std::string input = model.graph().input(0).name();
  model.mutable_graph()->mutable_input(0)->set_name("other");
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    for (std::string& name : *node.mutable_input()) name = name == input ? "other" : name;
  }
  save_model(original, folder_ / "o/net.onnx");
  save_model(model, folder_ / "c/net.onnx");
  EXPECT_EQ(run({"verify", "--suite", "o", "--against", "c"}).code, 1);
  EXPECT_THAT(run({"verify", "--suite", "o", "--against", "c", "--rename", input + "=other"}).out, HasSubstr("1 of 1 case"));
  EXPECT_THAT(run({"verify", "--suite", "o", "--against", "c", "--match", "position"}).out, HasSubstr("1 of 1 case"));
}

TEST_F(SuiteCommand, PairsOfTwoTrees) {
  fs::create_directories(folder_ / "o/v");
  fs::create_directories(folder_ / "c/v");
  for (const char* const name : {"good", "v/same", "bad"}) {
    fs::copy(folder_ / "net.onnx", folder_ / ("o/" + std::string(name) + ".onnx"));
    fs::copy(folder_ / "net.cl.onnx", folder_ / ("c/" + std::string(name) + ".cl.onnx"));
  }
  fs::rename(folder_ / "c/v/same.cl.onnx", folder_ / "c/v/same.onnx");
  onnx::ModelProto model = load_model(folder_ / "c/bad.cl.onnx");
  model.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->at(3) ^= 1;
  save_model(model, folder_ / "c/bad.cl.onnx");
  const ProcessResult result = run({"verify", "--suite", "o", "--against", "c", "--samples", "1", "--junit", "r.xml", "--markdown", "r.md",
                                    "--html", "r.html", "--github"});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("bad.onnx   failed"));
  // Every form names the difference between the files and the output that differs.
  EXPECT_THAT(result.out, AllOf(HasSubstr("weight 'W' "), HasSubstr("node 'conv0' (Conv)"), HasSubstr("output 'y': ")));
  for (const char* const file : {"r.xml", "r.md", "r.html"}) {
    EXPECT_THAT(read_file(folder_ / file), AllOf(HasSubstr("conv0"), HasSubstr("output "))) << file;
  }
  EXPECT_THAT(result.err, AllOf(HasSubstr("::error file=c/bad.cl.onnx,"), HasSubstr("conv0")));
  EXPECT_THAT(result.out, HasSubstr("2 of 3 cases passed · 1 failed"));
  EXPECT_THAT(read_file(folder_ / "r.xml"), HasSubstr("--suite o --against c"));
  // A loss that the options accept, and one that they do not.
  EXPECT_THAT(run({"verify", "--suite", "o", "--against", "c", "--samples", "1", "--accept", "snr=-200"}).out,
              HasSubstr("3 of 3 cases passed"));
  EXPECT_THAT(run({"verify", "--suite", "o", "--against", "c", "--samples", "1", "--accept", "snr=60,cosine=0.99"}).out,
              HasSubstr("2 of 3 cases"));
  // Without a counterpart there is no verdict "same".
  fs::remove(folder_ / "c/good.cl.onnx");
  EXPECT_THAT(run({"verify", "--suite", "o", "--against", "c"}).out, HasSubstr("it has no counterpart 'good.cl.onnx'"));
  EXPECT_THAT(run({"verify", "--suite", "o", "--against", "c", "--pair", "{stem}.opt.onnx"}).out, HasSubstr("0 of 3 cases passed"));
  expect_refusal(run({"verify", "--suite", "o", "--against", "c", "--pair", "{stem"}), 2, "without its '}'");
  expect_refusal(run({"verify", "--suite", "o", "--samples", "1"}), 2, "without --against");
  expect_refusal(run({"verify", "--suite", "o", "--against", "nothing"}), 5, "nothing: no such folder");
}

TEST_F(SuiteCommand, UnreadableCasesAreFailures) {
  write_file(folder_ / "tree/a/model.onnx", "no model");
  write_file(folder_ / "tree/b/test_data_set_0/output_0.pb", "no tensor");
  fs::remove(folder_ / "tree/d/test_data_set_0/input_0.pb");
  fs::remove(folder_ / "tree/e/model.onnx");
  fs::create_symlink("nowhere", folder_ / "tree/f/test_data_set_0/output_0.npy");
  const ProcessResult result = suite({"--json"});
  EXPECT_EQ(result.code, 1);
  const Json document = Json::parse(result.out, "report");
  EXPECT_THAT(names(document), ElementsAre("a", "b", "d", "deep/c", "f"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(document.find("cases")->at(i)->find("status")->text(), "failed") << i;
}

TEST_F(SuiteCommand, AFullDiskLosesNoVerdict) {
  // A limit on file sizes replaces the full disk; standard output goes through a pipe, which has no such limit.
  const std::string line = "{ (ulimit -f 1; \"$0\" verify --suite tree --json --junit r.xml; echo $? >&3) | cat; } 3>code";
  const ProcessResult result = run_process({"/bin/sh", "-c", line, program()}, {.directory = folder_.path()});
  EXPECT_EQ(test::read_file(folder_ / "code"), "5\n");
  EXPECT_THAT(result.err, HasSubstr("r.xml: cannot write: File too large"));
  EXPECT_FALSE(fs::exists(folder_ / "r.xml"));
  const Json document = Json::parse(result.out, "report");
  EXPECT_EQ(document.find("unwritten")->find("exit")->number(), 5);
  EXPECT_EQ(document.find("exit_code")->number(), 5);
  // The report is complete: readers see no difference from one whose files were written.
  write_file(folder_ / "r.json", result.out);
  EXPECT_EQ(names(document), names(Json::parse(suite({"--json"}).out, "report")));
  EXPECT_EQ(run({"report", "show", "r.json"}).code, suite({}).code);
}

TEST_F(SuiteCommand, ASignalWritesTheReportOfFinishedCases) {
  for (int i = 0; i < 60; ++i) add_case("more/" + std::to_string(100 + i));
  const ProcessResult warm = suite({"--jobs", "1", "--json"});
  ASSERT_EQ(warm.code, 0) << warm.err;
  for (const int signal : {SIGINT, SIGTERM}) {
    const ProcessResult result =
        suite({"--jobs", "2", "--json", "--junit", "r.xml"}, {.signal_after = std::make_pair(warm.seconds / 8, signal)});
    EXPECT_EQ(result.code, signal == SIGINT ? 130 : 143) << result.err;
    const Json document = Json::parse(result.out, "report");
    EXPECT_EQ(document.find("interrupted")->text(), signal == SIGINT ? "SIGINT" : "SIGTERM");
    EXPECT_EQ(document.find("shard")->find("cases")->number(), 66);
    EXPECT_LT(names(document).size(), 66U);
    EXPECT_THAT(read_file(folder_ / "r.xml"), HasSubstr("<error"));
  }
}

TEST_F(SuiteCommand, AHintIsPrintedOnceAfterAllCases) {
  fs::create_directories(folder_ / "o");
  fs::create_directories(folder_ / "c");
  for (const char* const name : {"a.onnx", "b.onnx"}) {
    write_file(folder_ / "free.onnxtxt",
               "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,F] x) => (float[7,11,C] y) <int64[3] s = {7, 11, -1}> { y = Reshape "
               "(x, s) }");
    for (const char* const folder : {"o/", "c/"}) ASSERT_EQ(run({"convert", "free.onnxtxt", "-o", std::string(folder) + name}).code, 0);
  }
  const ProcessResult result = run({"verify", "--suite", "o", "--against", "c", "--run-identical", "--json"});
  write_file(folder_ / "hinted.json", result.out);
  const std::string text = run({"report", "show", "hinted.json"}).out;
  EXPECT_THAT(text, HasSubstr("  o/b.onnx: dimension 'F' (axis 1) of input 'x' is free, and no guess is safe (exit 2)\n"
                              "hint: give its size: --dim F=SIZE\n2 not as expected"));
  EXPECT_EQ(text.find("hint: "), text.rfind("hint: "));
}

/// A model of a future opset is unsupported, with the same message as outside of a suite.
TEST_F(SuiteCommand, AnErrorOfACaseIsItsMessage) {
  onnx::ModelProto model = conv_batch_norm();
  model.mutable_opset_import(0)->set_version(9999);
  fs::create_directories(folder_ / "newer");
  save_model(model, folder_ / "newer/net.onnx");
  save_model(model, folder_ / "newer/net.cl.onnx");
  const ProcessResult result = run({"verify", "--suite", "newer", "--against", "newer", "--json"});
  const Json one = *Json::parse(result.out, "report").find("cases")->at(0);
  EXPECT_EQ(one.find("status")->text(), "unsupported");
  EXPECT_THAT(*one.find("message")->text(), testing::StartsWith("newer/net.onnx: opset 9999 is newer than "));
}

class ReportCommand : public SuiteCommand {
 protected:
  /// Runs the suite whole and in parts.
  void SetUp() override {
    SuiteCommand::SetUp();
    spoil("b");
    write_file(folder_ / "tree/d/model.onnx", "no model");
    write_file(folder_ / "expected", "d failed a text\ngone failed not there\n");
    fs::create_directory(folder_ / "parts");
    whole_ = suite(with_files({"--expected", "expected"}, "whole"));
    for (const char* const index : {"1", "2", "3", "4"}) {
      const std::string shard = std::string(index) + "/4";
      write_file(folder_ / ("parts/" + std::string(index) + ".json"), suite({"--expected", "expected", "--shard", shard, "--json"}).out);
    }
    write_file(folder_ / "whole.json", suite({"--expected", "expected", "--json"}).out);
  }
  static std::vector<std::string> with_files(std::vector<std::string> words, const std::string& name) {
    words.insert(words.end(), {"--junit", name + ".xml", "--markdown", name + ".md", "--html", name + ".html"});
    return words;
  }
  /// Expects that the reports are equal except for their times.
  void expect_same_files(const std::string& a, const std::string& b) {
    for (const char* const form : {".xml", ".md", ".html"}) {
      EXPECT_EQ(without_seconds(read_file(folder_ / (a + form))), without_seconds(read_file(folder_ / (b + form)))) << form;
      EXPECT_GT(read_file(folder_ / (a + form)).size(), 200U);
    }
  }
  ProcessResult whole_;
};

TEST_F(ReportCommand, MergedShardsAreTheSingleRun) {
  const ProcessResult merged =
      run(with_files({"report", "merge", "parts/3.json", "parts/1.json", "parts/2.json", "parts/4.json"}, "merged"));
  EXPECT_EQ(merged.code, 1) << merged.err;
  EXPECT_EQ(without_seconds(merged.out), without_seconds(whole_.out));
  EXPECT_THAT(merged.out, HasSubstr("gone   not there"));
  expect_same_files("merged", "whole");
  write_file(folder_ / "parts/.5.json", "hidden, as of an editor or another system");
  EXPECT_EQ(without_seconds(run({"report", "merge", "parts", "--json"}).out), without_seconds(read_file(folder_ / "whole.json")));
}

TEST_F(ReportCommand, NonReportsAreRefused) {
  save_model(conv_batch_norm(), folder_ / "net.onnx");
  write_file(folder_ / "text.json", "hello\n");
  write_file(folder_ / "other.json", "{}");
  for (const char* const file : {"net.onnx", "text.json"}) {
    for (const char* const action : {"merge", "show"}) {
      expect_refusal(run({"report", action, file}), 3, std::string(file) + ": not a report of relayout verify --suite --json");
    }
  }
  expect_refusal(run({"verify", "--suite", "tree", "--durations", "net.onnx"}), 3,
                 "net.onnx: not a report of relayout verify --suite --json");
}

TEST_F(ReportCommand, MergedCasesAreTheSingleRun) {
  fs::create_directory(folder_ / "cases");
  write_file(folder_ / "list", suite({"--list", "-0"}).out);
  for (const std::string name : {"a", "b", "d", "deep/c", "e", "f"}) {
    const std::string file = "cases/" + name.substr(name.size() - 1) + ".json";
    write_file(folder_ / file, suite({"--case", name, "--json"}).out);
  }
  expect_refusal(run({"report", "merge", "cases"}), 2, "--cases-from");
  const ProcessResult merged = run({"report", "merge", "cases", "--cases-from", "list", "--expected", "expected", "--json"});
  EXPECT_EQ(merged.code, 1) << merged.err;
  EXPECT_EQ(without_seconds(merged.out), without_seconds(read_file(folder_ / "whole.json")));
}

TEST_F(ReportCommand, ShowsTheOutputOfTheRun) {
  const ProcessResult shown = run(with_files({"report", "show", "whole.json"}, "shown"));
  EXPECT_EQ(shown.code, 1);
  EXPECT_EQ(without_seconds(shown.out), without_seconds(whole_.out));
  expect_same_files("shown", "whole");
  EXPECT_THAT(run({"report", "show", "parts/2.json"}).out, HasSubstr("shard 2/4: 2 of 6 cases\n"));
  EXPECT_EQ(run({"report", "show", "whole.json", "--json"}).out, read_file(folder_ / "whole.json"));
}

TEST_F(ReportCommand, RefusesIncompleteAndInvalidReports) {
  expect_refusal(run({"report", "merge", "parts/1.json", "parts/2.json"}), 3, "2 of 6 cases are missing: no shard 3/4, 4/4");
  expect_refusal(run({"report", "merge", "parts", "parts/1.json"}), 3, "case 'a' is in parts/1.json and in parts/1.json");
  EXPECT_THAT(run({"report", "merge", "parts/1.json", "--allow-missing"}).out, HasSubstr("part of the suite: 2 of 6 cases"));
  write_file(folder_ / "cut.json", read_file(folder_ / "whole.json").substr(0, 500));
  write_file(folder_ / "other.json", "{\"schema\": \"relayout.verify/1\"}");
  expect_refusal(run({"report", "merge", "cut.json"}), 3, "cut.json: not JSON");
  expect_refusal(run({"report", "show", "other.json"}), 3, "other.json: not a report of relayout verify --suite");
  expect_refusal(run({"report"}), 2, "merge or show");
  expect_refusal(run({"report", "show"}), 2, "needs REPORT");
  expect_refusal(run({"report", "show", "whole.json", "--allow-missing"}), 2, "--allow-missing");
  expect_refusal(run({"report", "merge", "nothing.json"}), 5, "nothing.json");
}

TEST_F(ReportCommand, ThePageIsDrawn) {
  EXPECT_EQ(run({"report", "show", "whole.json", "--html", "page.html"}).code, 1);
  EXPECT_THAT(read_file(folder_ / "page.html"), HasSubstr("<input type='search'"));
  expect_drawn(folder_, "page.html");
}

/// Removes times and the mark of verdicts from the cache.
std::string without_source(const std::string& text) {
  return std::regex_replace(without_seconds(text), std::regex(R"re(,\s*"source": "cache"| · [0-9,]+ from the cache)re"), "");
}

TEST_F(SuiteCommand, ResumesAfterAnInterruption) {
  for (int i = 0; i < 40; ++i) add_case("more/" + std::to_string(100 + i));
  spoil("b");
  const ProcessResult whole = suite({"--json"});
  const ProcessResult cut = suite({"--json"}, {.signal_after = std::make_pair(whole.seconds / 4, SIGTERM)});
  ASSERT_EQ(cut.code, 143) << cut.err;
  write_file(folder_ / "cut.json", cut.out);
  const std::size_t done = names(Json::parse(cut.out, "report")).size();
  ASSERT_GT(done, 0U);
  const ProcessResult resumed = suite({"--json", "--resume", "cut.json"});
  EXPECT_EQ(resumed.code, 1);
  EXPECT_EQ(without_source(resumed.out), without_source(whole.out));
  expect_refusal(suite({"--resume", "cut.json", "--seed", "7"}), 3, "it differs in its options");
  expect_refusal(suite({"--resume", "cut.json", "--shard", "1/2"}), 3, "it differs in its shard");
  add_case("new");
  expect_refusal(suite({"--resume", "cut.json"}), 3, "it differs in its cases");
}

TEST_F(SuiteCommand, ACacheRunsOnlyChangedCases) {
  spoil("b");
  const ProcessResult first = suite({"--json", "--cache", "cache"});
  EXPECT_EQ(first.code, 1);
  const ProcessResult second = suite({"--cache", "cache"});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.out, HasSubstr("1 failed · 6 from the cache"));
  EXPECT_EQ(without_source(suite({"--json", "--cache", "cache"}).out), without_source(first.out));
  spoil("a");
  EXPECT_THAT(suite({"--cache", "cache"}).out, HasSubstr("2 failed · 5 from the cache"));
  EXPECT_THAT(suite({"--cache", "cache", "--seed", "3"}).out, Not(HasSubstr("from the cache")));
  EXPECT_THAT(suite({"--cache", "cache"}, {.environment = {{"ONEDNN_MAX_CPU_ISA", "SSE41"}}}).out, Not(HasSubstr("from the cache")));
  write_file(folder_ / "expected", "a failed known\nb failed known\n");
  EXPECT_EQ(suite({"--cache", "cache", "--expected", "expected"}).code, 0) << "exceptions are no part of a verdict";
  expect_refusal(suite({"--cache", "net.onnx"}), 5, "net.onnx");
}

TEST_F(SuiteCommand, CasesWithoutAVerdictAreNotCached) {
  write_file(folder_ / "tree/d/model.onnx", "no model");
  const auto run_all = [&] { return suite({"--cache", "cache", "--timeout", "0.001"}); };
  EXPECT_THAT(run_all().out, HasSubstr("6 timeout"));
  EXPECT_THAT(run_all().out, Not(HasSubstr("from the cache")));
}

/// Drivers that share a cache and are killed at random moments leave no wrong entries, and the surviving ones report the whole suite.
TEST_F(SuiteCommand, DriversUnderKillShareACache) {
  for (int i = 0; i < 20; ++i) add_case("more/" + std::to_string(100 + i));
  spoil("b");
  const ProcessResult whole = suite({"--json"});
  const RandomStream random(3, "kills");
  for (uint64_t round = 0; round < 3; ++round) {
    std::vector<std::jthread> drivers;
    for (uint64_t i = 0; i < 10; ++i) {
      drivers.emplace_back([&, i] {
        const bool is_killed = i % 2 == 0;
        ProcessOptions options;
        if (is_killed) options.signal_after = std::make_pair(random.uniform(10 * round + i) * whole.seconds * 2, SIGKILL);
        const ProcessResult result = suite({"--json", "--jobs", "1", "--cache", "cache"}, options);
        if (result.signal == SIGKILL) return;
        EXPECT_EQ(result.code, 1) << result.err;
        EXPECT_EQ(without_source(result.out), without_source(whole.out));
      });
    }
  }
  const ProcessResult warm = suite({"--json", "--cache", "cache"});
  EXPECT_EQ(without_source(warm.out), without_source(whole.out));
  EXPECT_THAT(suite({"--cache", "cache"}).out, HasSubstr("26 from the cache"));
}

/// A suite with a cache completes although it is killed repeatedly.
TEST_F(SuiteCommand, KilledDriversLoseNothing) {
  for (int i = 0; i < 20; ++i) add_case("more/" + std::to_string(100 + i));
  spoil("b");
  const ProcessResult whole = suite({"--json"});
  const RandomStream random(4, "kills");
  int killed = 0;
  for (uint64_t i = 0; i < 25; ++i) {
    const double after = random.uniform(i) * whole.seconds;
    killed += suite({"--json", "--cache", "cache"}, {.signal_after = std::make_pair(after, SIGKILL)}).signal == SIGKILL ? 1 : 0;
  }
  EXPECT_GT(killed, 0);
  EXPECT_EQ(without_source(suite({"--json", "--cache", "cache"}).out), without_source(whole.out));
}

TEST_F(SuiteCommand, ProgressIsForTerminals) {
  for (int i = 0; i < 90; ++i) add_case("more/" + std::to_string(100 + i));
  EXPECT_THAT(suite({"--jobs", "1"}, {.terminal = true}).out, ::testing::ContainsRegex("verifying .* of 96 .*left"));
  EXPECT_EQ(suite({"--jobs", "2"}).err, "");
}

}  // namespace
}  // namespace relayout::test
