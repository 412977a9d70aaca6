// Tests fields of tables for other programs: no field ends its cell, becomes a formula or becomes markup.
#include <gtest/gtest.h>

#include "report/table.h"

namespace relayout::test {
namespace {

TEST(Fields, Csv) {
  EXPECT_EQ(csv_field("conv1"), "conv1");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
  EXPECT_EQ(csv_field("=1+1"), "'=1+1");
}

TEST(Fields, CsvRecordsEndInBothSigns) {
  const std::vector<std::string> fields = {csv_field("a,b"), "", "7"};
  EXPECT_EQ(csv_record(fields), "\"a,b\",,7\r\n");
}

TEST(Fields, Markdown) {
  EXPECT_EQ(markdown_code(""), "");
  EXPECT_EQ(markdown_code("a|b`c"), "`a\\|b'c`");
}

TEST(Fields, Bars) {
  EXPECT_EQ(text_bar(1, 1), "██████████");
  EXPECT_EQ(text_bar(1, 4), "██▌");
  EXPECT_EQ(text_bar(0, 1), "");
  EXPECT_EQ(text_bar(1, 0), "");
  EXPECT_EQ(text_bar(9, 1), "██████████");
}

TEST(Fields, SignedBars) {
  EXPECT_EQ(signed_bar(-1, 4), "− ██▌");
  EXPECT_EQ(signed_bar(4, 4), "+ ██████████");
  EXPECT_EQ(signed_bar(0, 4), "");
}

TEST(Fields, ListsLeaveOutEmptyTexts) {
  EXPECT_EQ(joined({"a", "", "b"}, ", "), "a, b");
  EXPECT_EQ(joined(std::vector<int>{1, 2}, "+", [](int number) { return std::to_string(number); }), "1+2");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(markdown_row({"a", "", "b"}), "| a |  | b |\n");
}

TEST(Fields, WordsAreBrokenAtTheWidthWithoutTheirColours) {
  EXPECT_EQ(wrapped({"\x1b[1mbold\x1b[0m", "and", "plain"}, 2, 10), "\x1b[1mbold\x1b[0m and\n  plain");
}

}  // namespace
}  // namespace relayout::test
