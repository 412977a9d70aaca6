#include <gtest/gtest.h>

#include "relayout/error.h"
#include "suite/suite.h"

namespace relayout {
namespace {

std::string complaint(const std::string& text) {
  try {
    (void)parse_expected_cases(text, "list");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    return error.what();
  }
  return "";
}

TEST(ExpectedCases, AreNamesWithStatusAndReason) {
  const ExpectedCases cases = parse_expected_cases("# a remark\n\nnode/a  failed   a reason of words\nb unsupported x\n", "list");
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases.at("node/a").status, "failed");
  EXPECT_EQ(cases.at("node/a").reason, "a reason of words");
  EXPECT_EQ(cases.at("b").status, "unsupported");
}

TEST(ExpectedCases, ThatAreIncompleteAreRefusedWithTheirLine) {
  EXPECT_EQ(complaint("a failed x\nb failed\n"), "list: line 2: no reason is given");
  EXPECT_EQ(complaint("a passed because\n"),
            "list: line 1: 'passed' is none of failed, pass-loose, inconclusive, unsupported, crashed, timeout");
  EXPECT_EQ(complaint("a failed x\na failed x\n"), "list: line 2: 'a' is there twice");
}

}  // namespace
}  // namespace relayout
