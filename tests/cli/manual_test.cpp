// Tests how topics of the manual are rendered for terminals and for man.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/common/help.h"
#include "relayout/findings.h"
#include "relayout/verify.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

using testing::HasSubstr;

constexpr std::string_view kText =
    "\nA paragraph with `--code` and\n**bold words**, over [two](x.md) lines.\n\n## A heading\n\n- one\n- two\n- an item that is too\n  "
    "long\n\n"
    "| code | meaning |\n|---|---|\n| 1 | a\\|b |\n\n```console\n$ relayout   inspect\n\n  ...\n```\n";

TEST(Manual, BreaksProseAndNothingElse) {
  EXPECT_EQ(manual_text(kText, 24, false),
            "  A paragraph with\n  --code and bold words,\n  over two lines.\n"
            "\nA heading\n"
            "  - one\n  - two\n"
            "\n  - an item that is too\n    long\n"
            "\n  code   meaning\n  1      a|b\n"
            "\n    $ relayout   inspect\n\n      ...\n");
}

TEST(Manual, EmphasisIsForTerminals) {
  const std::string text = manual_text("see **both words**, `x`", 80, true);
  EXPECT_EQ(text, "  see \x1b[1mboth\x1b[0m \x1b[1mwords\x1b[0m, \x1b[1mx\x1b[0m\n");
}

TEST(Manual, ATableThatDoesNotFitIsAList) {
  const std::string_view table = "| a | some words that are too long |\n|---|---|\n| b | more |\n";
  EXPECT_EQ(manual_text(table, 24, false), "  a\n      some words that\n      are too long\n  b\n      more\n");
}

TEST(Manual, PagesOfManHaveNoControlLinesOfTheText) {
  const std::string page = man_page({"relayout-x", "a summary", 7, "", ".a paragraph\n\n```\n'code \\ -\n```\n"});
  EXPECT_THAT(page, HasSubstr(".TH \"RELAYOUT-X\" 7"));
  EXPECT_THAT(page, HasSubstr(".SH NAME\nrelayout\\-x \\- a summary\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.a paragraph\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&'code \\e \\-\n"));
}

TEST(Manual, EveryDoubtHasARow) {
  const Topic* const verdicts = find_topic("verdicts");
  ASSERT_NE(verdicts, nullptr);
  for (const std::string_view name : doubt_names()) EXPECT_THAT(verdicts->text, HasSubstr("\n| `" + std::string(name) + "` | ")) << name;
}

TEST(Manual, EveryReasonHasARow) {
  const Topic* const reasons = find_topic("reasons");
  ASSERT_NE(reasons, nullptr);
  for (int i = 0; i < static_cast<int>(Reason::count_); ++i) {
    const std::string name(to_string(static_cast<Reason>(i)));
    EXPECT_THAT(reasons->text, HasSubstr("\n| `" + name + "` | ")) << name;
  }
}

TEST(Manual, EveryTopicHasASummaryAndFits) {
  EXPECT_GE(topics().size(), 8U);
  for (const Topic& topic : topics()) {
    SCOPED_TRACE(topic.name);
    EXPECT_LE(topic.summary.size(), 66U);
    EXPECT_GT(topic.text.size(), 200U);
    EXPECT_EQ(find_topic(topic.name), &topic);
    const std::string text = manual_text(topic.text, 80, false);
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      const bool is_code = line.starts_with("    ");
      EXPECT_TRUE(is_code || display_width(line) <= 80) << line;
      EXPECT_TRUE(is_code || line.find("**") == std::string_view::npos) << line;
    }
  }
  EXPECT_EQ(find_topic("nothing"), nullptr);
}

}  // namespace
}  // namespace relayout::cli
