#include "relayout/findings.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace relayout::passes {
namespace {

TEST(Findings, EachReasonHasItsOwnCodeAndText) {
  std::set<std::string_view> codes, texts;
  for (int i = 0; i < static_cast<int>(Reason::count_); ++i) {
    const auto reason = static_cast<Reason>(i);
    EXPECT_TRUE(codes.insert(to_string(reason)).second) << to_string(reason);
    EXPECT_TRUE(texts.insert(text(reason)).second) << text(reason);
    EXPECT_FALSE(to_string(reason).empty());
    EXPECT_FALSE(text(reason).empty());
    EXPECT_EQ(to_string(reason).find('_'), std::string_view::npos) << "codes are spelled with dashes";
  }
  EXPECT_TRUE(to_string(Reason::count_).empty());
}

TEST(Findings, CodesOfTheClosedSet) {
  // Reason codes: relied on by readers of the JSON.
  EXPECT_EQ(to_string(Reason::not_constant), "not-constant");
  EXPECT_EQ(to_string(Reason::conv_output_shared), "operator-output-shared");
  EXPECT_EQ(to_string(Reason::bn_output_shared), "affine-output-shared");
  EXPECT_EQ(to_string(Reason::no_linear_neighbour), "no-linear-neighbour");
  EXPECT_EQ(to_string(Reason::unknown_op_between), "unknown-op-between");
  EXPECT_EQ(to_string(Reason::pads_with_shift), "pads-with-shift");
  EXPECT_EQ(to_string(Reason::non_finite), "non-finite");
  EXPECT_EQ(to_string(Verdict::not_applicable), "not-applicable");
}

}  // namespace
}  // namespace relayout::passes
