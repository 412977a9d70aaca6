#include "cli/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <string>

#include "relayout/error.h"
#include "relayout/suite.h"
#include "report/json.h"

namespace relayout::cli {
namespace {

using testing::HasSubstr;

/// CI_NODE_INDEX and CI_NODE_TOTAL for one test.
class CiNode {
 public:
  CiNode(const char* index, const char* total) {
    setenv("CI_NODE_INDEX", index, 1);  // NOLINT(concurrency-mt-unsafe): one thread
    setenv("CI_NODE_TOTAL", total, 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~CiNode() {
    unsetenv("CI_NODE_INDEX");  // NOLINT(concurrency-mt-unsafe)
    unsetenv("CI_NODE_TOTAL");  // NOLINT(concurrency-mt-unsafe)
  }
  CiNode(const CiNode&) = delete;
  CiNode& operator=(const CiNode&) = delete;
};

TEST(ShardOf, ReadsTheOptionThenTheEnvironment) {
  EXPECT_EQ(shard_of("2/3").index, 2);
  EXPECT_EQ(shard_of("2/3").total, 3);
  EXPECT_EQ(shard_of("").total, 1);
  const CiNode node("4", "5");
  EXPECT_EQ(shard_of("").index, 4);
  EXPECT_EQ(shard_of("").total, 5);
  EXPECT_EQ(shard_of("1/2").total, 2);
}

TEST(ShardOf, RefusesWhatIsNoPart) {
  for (const char* const text : {"3/2", "0/2", "1", "1/", "a/b", "1/0", "-1/2"}) {
    EXPECT_THROW((void)shard_of(text), Error) << text;
  }
}

SuiteResult example() {
  SuiteResult result;
  result.tree = "tree";
  result.cases.push_back({"node/a", "passed", 0.1, "", {}, ""});
  result.cases.push_back({"node/b", "failed", 0.1, "far off", {}, ""});
  result.cases.push_back({"node/c", "unsupported", 0.1, "cannot run", "unsupported", "needs a codec"});
  result.stale = {"node/gone"};
  return result;
}

TEST(SuiteReport, ShowsWhatIsNotAsExpected) {
  const std::string text = suite_text(example(), {});
  EXPECT_THAT(text, HasSubstr("node/b"));
  EXPECT_THAT(text, HasSubstr("far off"));
  EXPECT_THAT(text, HasSubstr("node/gone"));
  EXPECT_THAT(text, testing::Not(HasSubstr("node/c")));
  EXPECT_THAT(text, HasSubstr("1 of 3 cases passed · 1 failed, 1 unsupported"));
  EXPECT_THAT(text, HasSubstr("exit 1"));
  EXPECT_THAT(suite_text(example(), {.verbose = true}), HasSubstr("needs a codec"));
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

}  // namespace
}  // namespace relayout::cli
