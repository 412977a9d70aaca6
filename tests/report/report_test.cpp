#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/page.h"

namespace relayout {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Table line_of(const std::string& text, Style style = Style::plain) {
  Table out;
  out.line(text, style);
  return out;
}

Report report_of(std::vector<Section> sections) {
  return {.sections = std::move(sections), .document = [] { return Json(); }};
}

TEST(Report, APageShowsTheAnswerFirstAndBySign) {
  Report report = report_of({{Form::page, "Empty", [](auto&) { return Table(); }},
                             {Form::page, "Full", [](auto&) { return line_of("</p><script>", Style::bad); }}});
  report.verdict = {"different", Style::bad};
  report.subject = "a<b>.onnx";
  report.document = [] { return Json().set("x", "</script><img>"); };
  const std::string html = html_of(report);
  EXPECT_THAT(html, HasSubstr("✗ different</h1>"));
  EXPECT_THAT(html, HasSubstr("<title>different: a&lt;b&gt;.onnx</title>"));
  EXPECT_THAT(html, Not(HasSubstr("Empty")));
  EXPECT_THAT(html, HasSubstr("<h2>Full</h2>"));
  EXPECT_THAT(html, Not(HasSubstr("</p><script>")));
  EXPECT_THAT(html, Not(HasSubstr("<img>")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
}

TEST(Report, ASignRepeatsTheColour) {
  Report report = report_of({});
  report.verdict = {"inconclusive", Style::warning};
  EXPECT_THAT(html_of(report), HasSubstr("⚠ inconclusive</h1>"));
}

TEST(Report, EachFormHasItsSectionsInTheirOrder) {
  Report report = report_of({{Form::text, "", [](auto&) { return "lines <as they stand>\n"; }},
                             {Form::text | Form::page, "Both", [](auto&) { return line_of("both"); }},
                             {Form::page, "Drawn", [](auto&) { return Markup{"<svg/>"}; }},
                             {Form::text | Form::quiet, "", [](auto& style) { return line_of(style.quiet() ? "brief" : "at length"); }}});
  EXPECT_EQ(text_of(report, {}), "lines <as they stand>\nboth\nat length\n");
  EXPECT_EQ(text_of(report, {.form = Form::quiet}), "brief\n");
  const std::string html = html_of(report);
  EXPECT_THAT(html, AllOf(HasSubstr("<h2>Both</h2>\n<p>both</p>"), HasSubstr("<svg/>")));
  EXPECT_THAT(html, AllOf(Not(HasSubstr("as they stand")), Not(HasSubstr("at length")), Not(HasSubstr("brief"))));
  EXPECT_LT(html.find("Both"), html.find("Drawn"));
}

TEST(Report, PagesShowTextAsItStands) {
  const Report report = report_of({{Form::page, "", [](auto&) { return "a <b>\n"; }}});
  EXPECT_THAT(html_of(report), HasSubstr("<pre class='text'>a &lt;b&gt;\n</pre>"));
}

TEST(Report, MarkdownHasNoMarkupOfNames) {
  Report report = report_of({{Form::markdown, "Rows", [](auto&) {
                                Table table;
                                table.head({"name", Cell("bar").only(Form::page), right("µs"), "change"});
                                table.row({"a|b`*", "█", "1.5", "added, slower"});
                                table.row({"Relu", "", "2", "_x_"});
                                return table;
                              }}});
  report.subject = "net.onnx";
  report.verdict = {"1.5 µs", Style::good};
  EXPECT_EQ(markdown_of(report),
            "### `net.onnx`: 1.5 µs\n\n**Rows**\n\n| name | µs | change |\n|---|---:|---|\n"
            "| `a\\|b'*` | 1.5 | added, slower |\n| `Relu` | 2 | `_x_` |\n");
}

TEST(Report, WithoutSectionsMarkdownSumsUpTheTestCases) {
  Report report = report_of({{Form::text, "", [](auto&) { return "text"; }}});
  report.suites = {JunitSuite{"verify", "a b", "", {}, {}}};
  EXPECT_EQ(markdown_of(report), markdown_text(report.suites));
}

TEST(Report, LongTablesAndTablesWithBoxesAreSearched) {
  const auto page = [](std::size_t rows, const std::string& boxes) {
    const auto table = [rows](auto&) {
      Table out;
      out.head({"node"});
      for (std::size_t i = 0; i < rows; ++i) out.row({"conv"});
      return out;
    };
    return html_of(report_of({{Form::page, "Table", table, boxes}}));
  };
  EXPECT_THAT(page(21, ""), AllOf(HasSubstr("type='search'"), HasSubstr("script-src 'sha256-")));
  EXPECT_THAT(page(20, ""), AllOf(Not(HasSubstr("type='search'")), Not(HasSubstr("script-src"))));
  EXPECT_THAT(page(1, "<input type='checkbox'>"),
              AllOf(HasSubstr("aria-label='search'><input type='checkbox'> <output>"), HasSubstr("script-src 'sha256-")));
}

TEST(Report, TablesOfPagesKeepStyleAndAlignment) {
  const std::string html =
      html_table({"name", {"value", Style::plain, Align::right}}, {{{"<y>", Style::strong}, {"1", Style::bad, Align::right}}});
  EXPECT_THAT(html, HasSubstr("<td class='strong text' data-head='name'>&lt;y&gt;</td><td class='bad right' data-head='value'>1</td>"));
  EXPECT_THAT(html, HasSubstr("<th class='right'>value</th>"));
}

}  // namespace
}  // namespace relayout
