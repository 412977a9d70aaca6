#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/page.h"
#include "report/table.h"

namespace relayout {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VerdictPage, ShowsTheAnswerFirstAndBySign) {
  VerdictPage page;
  page.verdict = {"different", Style::bad};
  page.subject = "a<b>.onnx";
  page.sections = {{"Empty", ""}, {"Full", html_lines({{"</p><script>", Style::bad}})}};
  page.data = Json::object().set("x", "</script><img>");
  const std::string html = html_page(page);
  EXPECT_THAT(html, HasSubstr("✗ different</h1>"));
  EXPECT_THAT(html, HasSubstr("a&lt;b&gt;.onnx"));
  EXPECT_THAT(html, Not(HasSubstr("Empty")));
  EXPECT_THAT(html, Not(HasSubstr("</p><script>")));
  EXPECT_THAT(html, Not(HasSubstr("<img>")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
}

TEST(VerdictPage, ASignRepeatsTheColour) {
  VerdictPage page;
  page.verdict = {"inconclusive", Style::warning};
  EXPECT_THAT(html_page(page), HasSubstr("⚠ inconclusive</h1>"));
}

TEST(VerdictPage, LongTablesAndTablesWithBoxesAreSearched) {
  const auto page_of = [](std::size_t rows, const std::string& boxes) {
    VerdictPage page;
    page.sections = {{"Table", html_table({"node"}, std::vector<std::vector<Cell>>(rows, {"conv"}), boxes)}};
    return html_page(page);
  };
  EXPECT_THAT(page_of(21, ""), testing::AllOf(HasSubstr("type='search'"), HasSubstr("script-src 'sha256-")));
  EXPECT_THAT(page_of(20, ""), testing::AllOf(Not(HasSubstr("type='search'")), Not(HasSubstr("script-src"))));
  EXPECT_THAT(page_of(1, "<input type='checkbox'>"),
              testing::AllOf(HasSubstr("aria-label='search'><input type='checkbox'> <output>"), HasSubstr("script-src 'sha256-")));
}

TEST(VerdictPage, TablesKeepStyleAndAlignment) {
  const std::string html =
      html_table({"name", {"value", Style::plain, Align::right}}, {{{"<y>", Style::strong}, {"1", Style::bad, Align::right}}});
  EXPECT_THAT(html, HasSubstr("<td class='strong text' data-head='name'>&lt;y&gt;</td><td class='bad right' data-head='value'>1</td>"));
  EXPECT_THAT(html, HasSubstr("<th class='right'>value</th>"));
}

}  // namespace
}  // namespace relayout
