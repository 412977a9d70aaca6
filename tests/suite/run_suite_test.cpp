#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/error.h"
#include "relayout/suite.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Replaces the program: its result depends on the case's name. $1 is the model, $3 the folder.
constexpr const char* kProgram = R"sh(
  answer() { printf '{"cases": [{"name": "set 0", "status": "passed"}, {"name": "set 1", "status": "%s", "message": "%s"}]}' "$1" "$2"; }
  case "$1" in
    *good*) answer passed ''; exit 0 ;;
    *bad*) answer failed 'far off'; exit 1 ;;
    *loose*) answer pass-loose 'u8, was bool'; exit 1 ;;
    *unknown*) answer unsupported 'cannot run'; exit 4 ;;
    *crash*) kill -SEGV $$ ;;
    *hang*) exec sleep 60 ;;
    *invalid*) echo 'relayout: not a model' >&2; exit 3 ;;
    *light*) answer passed "$3"; exit 0 ;;
  esac
)sh";

class SuiteTest : public testing::Test {
 protected:
  void add_case(const std::string& name) {
    std::filesystem::create_directories(folder_ / name);
    write_file(folder_ / (name + "/model.onnx"), "");
  }
  [[nodiscard]] SuiteResult run(SuiteOptions options = {}) const {
    options.command = {"/bin/sh", "-c", kProgram, "program"};
    options.timeout = 10;
    return run_suite({folder_.path()}, options);
  }
  static std::map<std::string, std::string> statuses(const SuiteResult& result) {
    std::map<std::string, std::string> out;
    for (const SuiteCase& one : result.cases) out[one.name] = one.status;
    return out;
  }
  TemporaryFolder folder_;
};

TEST_F(SuiteTest, EachCaseEndsInItsOwnWay) {
  for (const char* const name : {"node/good", "node/bad", "deep/er/loose", "unknown", "crash", "invalid"}) add_case(name);
  SuiteOptions options;
  options.jobs = 3;
  const SuiteResult result = run(options);
  EXPECT_EQ(statuses(result), (std::map<std::string, std::string>{{"crash", "crashed"},
                                                                  {"deep/er/loose", "pass-loose"},
                                                                  {"invalid", "failed"},
                                                                  {"node/bad", "failed"},
                                                                  {"node/good", "passed"},
                                                                  {"unknown", "unsupported"}}));
  EXPECT_EQ(result.cases[0].message, "ended by signal SIGSEGV");
  EXPECT_EQ(result.cases[1].message, "set 1: u8, was bool");
  EXPECT_EQ(result.cases[2].message, "not a model (exit 3)");
  EXPECT_EQ(result.count("failed"), 2);
  EXPECT_EQ(result.unexpected(), 5);
  EXPECT_EQ(exit_code(result), 1);
}

TEST_F(SuiteTest, AHangDoesNotHoldUpTheOthers) {
  add_case("hang");
  add_case("good");
  SuiteOptions options;
  options.command = {"/bin/sh", "-c", kProgram, "program"};
  options.timeout = 0.5;
  const SuiteResult result = run_suite({folder_.path()}, options);
  EXPECT_EQ(statuses(result), (std::map<std::string, std::string>{{"good", "passed"}, {"hang", "timeout"}}));
  EXPECT_EQ(result.cases.at(1).message, "still running after 0.5 s");
}

TEST_F(SuiteTest, LightModelsAreTheFileAndItsOutput) {
  write_file(folder_ / "light_net.onnx", "");
  write_file(folder_ / "light_net_output_0.pb", "");
  write_file(folder_ / "other.onnx", "");
  const SuiteResult result = run();
  EXPECT_EQ(statuses(result), (std::map<std::string, std::string>{{"light_net", "passed"}}));
}

TEST_F(SuiteTest, ShardsPartitionTheSuite) {
  std::vector<std::string> all, dealt;
  for (int i = 0; i < 7; ++i) {
    all.push_back("good" + std::to_string(i));
    add_case(all.back());
  }
  for (int64_t index = 1; index <= 3; ++index) {
    SuiteOptions options;
    options.shard = {index, 3};
    for (const SuiteCase& one : run(options).cases) dealt.push_back(one.name);
  }
  EXPECT_THAT(dealt, testing::UnorderedElementsAreArray(all));
}

TEST_F(SuiteTest, ExceptionsMustBeRightInBothDirections) {
  for (const char* const name : {"good", "bad", "bad2", "unknown"}) add_case(name);
  write_file(folder_ / "list", "good failed it once did\nbad failed known\nbad2 unsupported not this way\ngone failed no such case\n");
  SuiteOptions options;
  options.expected = folder_ / "list";
  const SuiteResult result = run(options);
  std::vector<std::string> wrong;
  for (const SuiteCase& one : result.cases) {
    if (!one.is_as_expected()) wrong.push_back(one.name);
  }
  EXPECT_THAT(wrong, ElementsAre("bad2", "good", "unknown"));
  EXPECT_THAT(result.stale, ElementsAre("gone"));
  EXPECT_FALSE(result.passed());

  write_file(folder_ / "list", "bad failed known\nbad2 failed known\nunknown unsupported known\n");
  EXPECT_TRUE(run(options).passed());
}

/// Replaces the program for two models: $2 is the one to judge.
constexpr const char* kPairProgram = R"sh(
  case "$2" in
    *good*) printf '{"verdict": "same", "unsupported": []}' ;;
    *bad*) printf '{"verdict": "different", "reason": "far off", "unsupported": []}'; exit 1 ;;
    *open*) printf '{"verdict": "inconclusive", "reason": "constant", "unsupported": []}'; exit 1 ;;
    *unknown*) printf '{"verdict": "inconclusive", "unsupported": [{"node": "n", "op_type": "Odd", "domain": "com.acme", "why": "no kernel"}, {"node": "m", "op_type": "Even", "domain": "", "why": "blocked"}]}'; exit 4 ;;
    *text*) printf 'no document' ;;
    *gone*) echo 'relayout: gone.cl.onnx: No such file' >&2; exit 5 ;;
  esac
)sh";

TEST_F(SuiteTest, PairsEndInTheirOwnWays) {
  for (const char* const name : {"good", "bad", "open", "unknown", "text", "gone"}) {
    write_file(folder_ / (std::string(name) + ".onnx"), "");
    write_file(folder_ / (std::string(name) + ".cl.onnx"), "");
  }
  write_file(folder_ / "alone.onnx", "");
  SuiteOptions options;
  options.command = {"/bin/sh", "-c", kPairProgram, "program"};
  options.jobs = 2;
  SuiteResult result = run_suite({folder_.path(), folder_.path(), ""}, options);
  EXPECT_EQ(statuses(result), (std::map<std::string, std::string>{{"alone.onnx", "failed"},
                                                                  {"bad.onnx", "failed"},
                                                                  {"gone.onnx", "failed"},
                                                                  {"good.onnx", "passed"},
                                                                  {"open.onnx", "inconclusive"},
                                                                  {"text.onnx", "failed"},
                                                                  {"unknown.onnx", "unsupported"}}));
  EXPECT_EQ(result.cases[0].message, "it has no counterpart 'alone.cl.onnx'");
  EXPECT_EQ(result.cases[1].message, "far off");
  EXPECT_EQ(result.cases[2].message, "gone.cl.onnx: No such file (exit 5)");
  EXPECT_EQ(result.cases[6].message, "cannot run 2 nodes: 'n' (com.acme:Odd: no kernel), 'm' (Even: blocked)");
  EXPECT_EQ(result.unexpected(), 6);
  options.allow_inconclusive = true;
  EXPECT_EQ(run_suite({folder_.path(), folder_.path(), ""}, options).unexpected(), 5);
}

TEST_F(SuiteTest, SomeCasesAreAPartOfTheSuite) {
  for (const char* const name : {"good1", "good2", "good3"}) add_case(name);
  SuiteOptions options;
  options.only = {"good3", "good1"};
  const SuiteResult result = run(options);
  EXPECT_EQ(statuses(result), (std::map<std::string, std::string>{{"good1", "passed"}, {"good3", "passed"}}));
  EXPECT_EQ(result.planned, 2);
  EXPECT_EQ(result.whole.cases, 0) << "the tree was not looked through";
  EXPECT_EQ(run().whole.cases, 3);
  options.only = {"good4"};
  EXPECT_THROW((void)run(options), Error);
}

TEST_F(SuiteTest, ProgressCountsToTheEnd) {
  for (int i = 0; i < 20; ++i) add_case("good" + std::to_string(i));
  SuiteOptions options;
  options.jobs = 3;
  std::vector<int64_t> done;
  options.progress = [&](const SuiteProgress& now) {
    done.push_back(now.done);
    EXPECT_EQ(now.total, 20);
    if (now.done == now.total) {
      EXPECT_EQ(now.seconds_left.value_or(-1), 0);
    }
  };
  (void)run(options);
  ASSERT_EQ(done.size(), 20U);
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], static_cast<int64_t>(i) + 1);
}

TEST_F(SuiteTest, ATreeWithoutCasesIsRefused) {
  try {
    (void)run();
    FAIL() << "nothing to run";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_THAT(error.what(), HasSubstr("no model.onnx below it"));
  }
}

}  // namespace
}  // namespace relayout::test
