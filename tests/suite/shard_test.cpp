// Tests the parts that schedulers name, by the variables of their own documentation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/error.h"
#include "relayout/suite.h"
#include "suite/suite.h"

namespace relayout {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Shard shard(const std::string& word, const Variables& variables = {}) {
  return shard_of(word, [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

std::string complaint(const std::string& word, const Variables& variables = {}) {
  try {
    (void)shard(word, variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << "no error: " << word;
  return "";
}

TEST(ShardOf, IgnoresTheEnvironmentWithoutAuto) {
  const Variables gitlab{{"CI_NODE_INDEX", "4"}, {"CI_NODE_TOTAL", "5"}};
  EXPECT_EQ(shard("", gitlab).total, 1);
  EXPECT_EQ(shard("2/3", gitlab).index, 2);
  EXPECT_EQ(shard("2/3", gitlab).total, 3);
  EXPECT_EQ(shard("2/3", gitlab).source, "");
}

TEST(ShardOf, RefusesInvalidParts) {
  for (const char* const word :
       {"3/2", "0/2", "1", "1/", "/2", "a/b", "1/0", "-1/2", "1/2/3", " 1/2", "1/2 ", "+1/2", "Auto", "auto/0", "auto/"}) {
    EXPECT_THAT(complaint(word, {{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "2"}}), HasSubstr("--shard")) << word;
  }
}

TEST(ShardOf, EverySchedulerCountsInItsOwnWay) {
  struct Case {
    Variables variables;
    int64_t index, total;
  };
  const std::vector<Case> cases = {
      {{{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "5"}}, 1, 5},
      {{{"CI_NODE_TOTAL", "1"}}, 1, 1},  // a job that is not parallel
      {{{"CIRCLE_NODE_INDEX", "0"}, {"CIRCLE_NODE_TOTAL", "4"}}, 1, 4},
      {{{"BUILDKITE_PARALLEL_JOB", "3"}, {"BUILDKITE_PARALLEL_JOB_COUNT", "4"}}, 4, 4},
      {{{"SYSTEM_JOBPOSITIONINPHASE", "2"}, {"SYSTEM_TOTALJOBSINPHASE", "2"}}, 2, 2},
      {{{"SLURM_ARRAY_TASK_ID", "10"},
        {"SLURM_ARRAY_TASK_COUNT", "4"},
        {"SLURM_ARRAY_TASK_MIN", "4"},
        {"SLURM_ARRAY_TASK_MAX", "13"},
        {"SLURM_ARRAY_TASK_STEP", "3"}},
       3,
       4},
      {{{"SLURM_ARRAY_TASK_ID", "0"}, {"SLURM_ARRAY_TASK_COUNT", "8"}, {"SLURM_ARRAY_TASK_MIN", "0"}, {"SLURM_ARRAY_TASK_MAX", "7"}}, 1, 8},
      {{{"AWS_BATCH_JOB_ARRAY_INDEX", "9"}, {"AWS_BATCH_JOB_ARRAY_SIZE", "10"}}, 10, 10},
      {{{"CLOUD_RUN_TASK_INDEX", "0"}, {"CLOUD_RUN_TASK_COUNT", "2"}}, 1, 2},
      {{{"TEST_SHARD_INDEX", "6"}, {"TEST_TOTAL_SHARDS", "7"}}, 7, 7},
  };
  for (const Case& one : cases) {
    const Shard found = shard("auto", one.variables);
    EXPECT_EQ(found.index, one.index) << found.source;
    EXPECT_EQ(found.total, one.total) << found.source;
    for (const auto& [name, value] : one.variables) EXPECT_THAT(found.source, HasSubstr(name + "=" + value));
  }
}

TEST(ShardOf, SchedulersWithoutATotalNeedOne) {
  EXPECT_THAT(complaint("auto", {{"JOB_COMPLETION_INDEX", "0"}}), HasSubstr("give auto/N"));
  EXPECT_THAT(complaint("auto", {{"PBS_ARRAY_INDEX", "1"}}), HasSubstr("give auto/N"));
  EXPECT_EQ(shard("auto/3", {{"JOB_COMPLETION_INDEX", "0"}}).index, 1);
  EXPECT_EQ(shard("auto/3", {{"JOB_COMPLETION_INDEX", "2"}}).index, 3);
  EXPECT_EQ(shard("auto/3", {{"PBS_ARRAY_INDEX", "3"}}).index, 3);
  EXPECT_THAT(complaint("auto/3", {{"PBS_ARRAY_INDEX", "0"}}), HasSubstr("no part 0 of 3"));
  EXPECT_THAT(complaint("auto/3", {{"JOB_COMPLETION_INDEX", "3"}}), HasSubstr("no part 4 of 3"));
}

TEST(ShardOf, RefusesAmbiguousEnvironments) {
  EXPECT_THAT(complaint("auto"), HasSubstr("no variable of a known scheduler is set"));
  EXPECT_THAT(complaint("auto", {{"CI_NODE_TOTAL", "3"}}), HasSubstr("CI_NODE_INDEX is not set"));
  EXPECT_THAT(complaint("auto", {{"CI_NODE_INDEX", "3"}}), HasSubstr("CI_NODE_TOTAL is not set"));
  EXPECT_THAT(complaint("auto", {{"CI_NODE_INDEX", "x"}, {"CI_NODE_TOTAL", "3"}}), HasSubstr("CI_NODE_INDEX: 'x'"));
  EXPECT_THAT(complaint("auto", {{"CI_NODE_INDEX", "4"}, {"CI_NODE_TOTAL", "3"}}), HasSubstr("no part 4 of 3"));
  EXPECT_THAT(complaint("auto/4", {{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "3"}}), HasSubstr("contradicts"));
  EXPECT_THAT(
      complaint(
          "auto",
          {{"SLURM_ARRAY_TASK_ID", "7"}, {"SLURM_ARRAY_TASK_COUNT", "3"}, {"SLURM_ARRAY_TASK_MIN", "1"}, {"SLURM_ARRAY_TASK_MAX", "7"}}),
      HasSubstr("do not follow each other"));
  // A scheduler within another: only one of them may have parts.
  const Variables both{{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "2"}, {"TEST_SHARD_INDEX", "0"}, {"TEST_TOTAL_SHARDS", "2"}};
  EXPECT_THAT(complaint("auto", both), HasSubstr("two schedulers"));
  EXPECT_EQ(shard("auto", {{"CI_NODE_TOTAL", "1"}, {"TEST_SHARD_INDEX", "1"}, {"TEST_TOTAL_SHARDS", "2"}}).index, 2);
}

}  // namespace
}  // namespace relayout
