#include "report/table.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace relayout {
namespace {

TEST(Table, AlignsColumnsLeftAndRight) {
  Table table({.indent = 2, .gap = 2});
  table.row({"output", {"1.5", Style::plain, Align::right}, "same"});
  table.row({"y", {"100.25", Style::plain, Align::right}, "different"});
  EXPECT_EQ(table.text(),
            "  output     1.5  same\n"
            "  y       100.25  different\n");
}

TEST(Table, NoRowEndsInBlanks) {
  Table table;
  table.row({"a long first cell", ""});
  table.row({"b", "second"});
  table.row({"c", "", "third"});
  table.row({});
  EXPECT_EQ(table.text(),
            "a long first cell\n"
            "b                   second\n"
            "c                            third\n"
            "\n");
}

TEST(Table, FreeLinesKeepTheirPlaceAndWidenNothing) {
  Table table;
  table.row({"a", "b"});
  table.line("a line much longer than any column");
  table.row({"cc", "d"});
  EXPECT_EQ(table.text(),
            "a    b\n"
            "a line much longer than any column\n"
            "cc   d\n");
}

TEST(Table, ColoursOnlyOnRequest) {
  Table plain;
  plain.row({{"same", Style::good}, "x"});
  EXPECT_EQ(plain.text(), "same   x\n");
  Table colored;
  colored.row({{"same", Style::good}, "x"});
  colored.row({{"different", Style::bad}, "y"});
  EXPECT_EQ(colored.text({.color = true}), "\x1b[32msame\x1b[0m        x\n\x1b[31mdifferent\x1b[0m   y\n");
}

TEST(Table, ColumnsCountCharactersNotBytes) {
  Table table;
  table.row({"σσ", "a"});
  table.row({"xxx", "b"});
  EXPECT_EQ(table.text(), "σσ    a\nxxx   b\n");
}

TEST(Table, ColumnsAreAlignedInAsciiToo) {
  measure_ascii(true);
  Table table;
  table.row({"3 → 2 …", "a"});
  table.row({"103 µs", "b"});
  table.row({"a name that is far too long for it", "c"});
  const std::string text = ascii_text(table.text({.width = 30}));
  const std::size_t narrow = shortened("/features/denseblock1/denselayer1/norm1", 12).size();
  measure_ascii(false);
  // The second column ends all lines at the same position.
  const std::size_t line = text.find('\n') + 1;
  for (const char* const end : {"a\n", "b\n", "c\n"}) EXPECT_EQ(text.find(end) % line, line - 2) << text;
  EXPECT_LE(narrow, 12U);
}

TEST(Table, TheHeadAlignsColumnsAndSaysWhichFormsShowThem) {
  Table table({.gap = 2});
  table.head({"case", right("time"), Cell("listed").only(Form::page), Cell("why").only(Form::text)});
  table.row({"a", "1 s", "x", "y"});
  table.row({"bcdef", "12 s"});
  EXPECT_EQ(table.text(),
            "case   time  why\n"
            "a       1 s  y\n"
            "bcdef  12 s\n");
  const std::string html = table.html();
  EXPECT_NE(html.find("<th class='right'>time</th><th>listed</th></tr>"), std::string::npos) << html;
  EXPECT_EQ(html.find("why"), std::string::npos);
}

TEST(Table, ANoteIsALineOfTextAndTheLastCellOfAPage) {
  Table table({.indent = 2});
  table.head_of_page({"node", "error"});
  table.row({"conv", "0.1"});
  table.note("too large", Style::bad);
  table.row({"relu", "0"});
  table.line("in text alone");
  EXPECT_EQ(table.text(), "  conv   0.1\n    too large\n  relu   0\nin text alone\n");
  const std::string html = table.html();
  EXPECT_NE(html.find("too large"), std::string::npos);
  EXPECT_EQ(html.find("in text alone"), std::string::npos);
  EXPECT_EQ(Table().html(), "");
}

}  // namespace
}  // namespace relayout
