#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/suite/suite.h"
#include "relayout/suite.h"
#include "report/json.h"
#include "report/junit.h"
#include "suite/suite.h"

namespace relayout::cli {
namespace {

using testing::HasSubstr;

SuiteResult example() {
  SuiteResult result;
  result.tree = "tree";
  result.whole.cases = 3;
  result.planned = 3;
  result.cases.push_back({"node/a", "passed", 0.1, "", {}, ""});
  result.cases.push_back({"node/b", "failed", 0.1, "far off", {}, ""});
  result.cases.push_back({"node/c", "unsupported", 0.1, "cannot run", "unsupported", "needs a codec"});
  result.stale = {"node/gone"};
  return result;
}

TEST(SuiteReport, ShowsUnexpectedResults) {
  const std::string text = text_of(suite_report(example()), {});
  EXPECT_THAT(text, HasSubstr("node/b"));
  EXPECT_THAT(text, HasSubstr("far off"));
  EXPECT_THAT(text, HasSubstr("node/gone"));
  EXPECT_THAT(text, testing::Not(HasSubstr("node/c")));
  EXPECT_THAT(text, HasSubstr("1 of 3 cases passed · 1 failed, 1 unsupported"));
  EXPECT_THAT(text, HasSubstr("exit 1"));
  EXPECT_THAT(text_of(suite_report(example()), {.verbose = true}), HasSubstr("needs a codec"));
}

TEST(SuiteReport, JsonHasCasesAndSummary) {
  const Json json = Json::parse(suite_json(example()).dump(), "report");
  EXPECT_EQ(json.find("cases")->at(1)->find("name")->text(), "node/b");
  EXPECT_EQ(json.find("cases")->at(2)->find("expected")->text(), "unsupported");
  EXPECT_EQ(json.find("summary")->find("total")->number(), 3);
  EXPECT_EQ(json.find("summary")->find("passed")->number(), 1);
  EXPECT_EQ(json.find("summary")->find("unexpected")->number(), 1);
  EXPECT_EQ(json.find("exit_code")->number(), 1);
}

SuiteResult second_shard() {
  SuiteResult result;
  result.tree = "tree";
  result.shard = {2, 4, "CI_NODE_TOTAL=4, CI_NODE_INDEX=2 (GitLab CI)"};
  result.whole.cases = 132;
  result.planned = 1;
  result.cases.push_back({"node/a", "passed", 0.1, "", {}, ""});
  return result;
}

TEST(SuiteReport, NamesTheShardAndTheWhole) {
  EXPECT_THAT(text_of(suite_report(second_shard()), {}),
              HasSubstr("shard 2/4, from CI_NODE_TOTAL=4, CI_NODE_INDEX=2 (GitLab CI): 1 of 132 cases\n"));
  const Json json = suite_json(second_shard());
  EXPECT_EQ(json.find("shard")->find("index")->number(), 2);
  EXPECT_EQ(json.find("shard")->find("total")->number(), 4);
  EXPECT_EQ(json.find("summary")->find("total")->number(), 1);
  EXPECT_EQ(json.find("summary")->find("whole")->number(), 132);
  const std::string junit = junit_text(suite_report(second_shard()).suites);
  EXPECT_THAT(junit, HasSubstr("2/4, from CI_NODE_TOTAL=4"));
  EXPECT_THAT(junit, HasSubstr("1 of 132"));
  EXPECT_THAT(text_of(suite_report(example()), {}), testing::Not(HasSubstr("shard")));
}

TEST(SuiteReport, AnEmptyShardIsNoSuccessUnlessAllowed) {
  SuiteResult result = second_shard();
  result.cases.clear();
  result.planned = 0;
  EXPECT_EQ(exit_code(result), 1);
  EXPECT_THAT(text_of(suite_report(result), {}),
              AllOf(HasSubstr("this shard has no case (--allow-empty accepts that)"), HasSubstr("exit 1")));
  EXPECT_THAT(junit_text(suite_report(result).suites), HasSubstr("<failure"));
  result.allow_empty = true;
  EXPECT_EQ(exit_code(result), 0);
  EXPECT_THAT(text_of(suite_report(result), {}), AllOf(HasSubstr("this shard has no case\n"), HasSubstr("exit 0")));
  EXPECT_THAT(junit_text(suite_report(result).suites), HasSubstr("<skipped"));
}

}  // namespace
}  // namespace relayout::cli
