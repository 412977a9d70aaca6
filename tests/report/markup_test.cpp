#include <gtest/gtest.h>

#include "report/page.h"

namespace relayout {
namespace {

TEST(Markup, EscapesMarkupInElementsAndAttributes) {
  EXPECT_EQ(escape_markup("a<b & \"c\" > 'd'"), "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(escape_markup("]]>"), "]]&gt;");
}

TEST(Markup, KeepsCharactersThatXmlAllows) {
  EXPECT_EQ(printable_markup("tab\tline\nÄ 漢 \xF0\x9F\x99\x82"), "tab\tline\nÄ 漢 \xF0\x9F\x99\x82");
}

TEST(Markup, V72ReplacesCharactersThatXmlForbids) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(printable_markup(std::string("a\0b", 3)), "a" + mark + "b");
  EXPECT_EQ(printable_markup("\x1B[31m"), mark + "[31m");
  EXPECT_EQ(printable_markup("\xEF\xBF\xBF"), mark) << "U+FFFF";
  EXPECT_EQ(printable_markup("\xEF\xBF\xBE"), mark) << "U+FFFE";
  EXPECT_EQ(printable_markup("\xFF"), mark);
  EXPECT_EQ(printable_markup("\xC0\xAF"), mark + mark) << "overlong";
  EXPECT_EQ(printable_markup("\xED\xA0\x80"), mark + mark + mark) << "surrogate";
  EXPECT_EQ(printable_markup("\xE6\xBC"), mark + mark) << "cut off";
  EXPECT_EQ(printable_markup("\xC2\x85"), mark) << "a control character of the second block";
}

TEST(Markup, NamesBreakWhereTheirPartsEnd) {
  EXPECT_EQ(breakable_markup("/a/b<c>.d_e:f"), "/a/<wbr>b&lt;c&gt;.<wbr>d_<wbr>e:<wbr>f");
  EXPECT_EQ(breakable_markup("plain"), "plain");
  EXPECT_EQ(breakable_markup("a/b is 7.0e-03"), "a/b is 7.0e-03");
  EXPECT_EQ(breakable_markup("/a/b: 7.0e-03"), "/a/<wbr>b:<wbr> 7.0e-03");
  EXPECT_EQ(breakable_markup("a/"), "a/");
  EXPECT_EQ(breakable_markup(""), "");
}

}  // namespace
}  // namespace relayout
