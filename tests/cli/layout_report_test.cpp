#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/inspect/inspect.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "report/json.h"
#include "support/text_model.h"

namespace relayout::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

LayoutReport report_of(const std::string& output = "y") {
  auto text = test::TextModel(
      "g (float[N,3,96,96] x) => (float[1,16,96,96] y) <float[16,3,3,3] W, float[16,1,3,3] V> { a = Conv <pads = [1,1,1,1]> (x, W)  b = "
      "Conv <pads = "
      "[1,1,1,1], group = 16> (a, V)  y = Trilu (b) }");
  if (output != "y") text.rename("y", output);
  return report_layout(text.load()->graph(), {.compare = true});
}

TEST(LayoutText, NamesReordersAndLosses) {
  const std::string text = layout_text(report_of(), {});
  EXPECT_THAT(text, HasSubstr("layout for N = 1 (--dim, --shape)"));
  EXPECT_THAT(text, HasSubstr("region 1"));
  EXPECT_THAT(text, HasSubstr("x 110.6 kB contiguous → channels-last"));
  EXPECT_THAT(text, HasSubstr("reorder inside        b 589.8 kB channels-last → contiguous"));
  EXPECT_THAT(text, HasSubstr("loses channels-last   y (Trilu)"));
  EXPECT_THAT(text, HasSubstr("2 reorders"));
  EXPECT_THAT(text, HasSubstr("PyTorch's propagation: 2 reorders"));
  EXPECT_THAT(text, HasSubstr("thrashing: "));
  EXPECT_THAT(layout_text(report_of(), {.verbose = true}), HasSubstr("runs in"));
}

TEST(LayoutJson, HasEverything) {
  const Json json = Json::parse(layout_json(report_of()).dump(), "report");
  EXPECT_EQ(json.find("reorders")->size(), 2U);
  EXPECT_EQ(json.find("operators")->size(), 3U);
  EXPECT_EQ(json.find("operators")->at(2)->find("loses")->dump(), "true");
  EXPECT_EQ(json.find("tensors")->size(), 4U);
  EXPECT_EQ(json.find("reorders")->at(1)->find("tensor")->text(), "b");
  EXPECT_EQ(json.find("propagation")->find("reorders")->number(), 2);
}

TEST(LayoutDot, QuotesNamesAndMarksReorders) {
  const std::string dot = layout_dot(report_of("evil\"; } \\"), "m.onnx");
  EXPECT_THAT(dot, HasSubstr("digraph \"m.onnx\" {"));
  EXPECT_THAT(dot, HasSubstr("reorder 589.8 kB"));
  EXPECT_THAT(dot, HasSubstr("evil\\\"; } \\\\"));
}

TEST(LayoutHtml, IsOnePageThatLoadsAndRunsNothing) {
  const std::string page = layout_html(report_of("<script>alert(1)</script>"), "a & b.onnx");
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, HasSubstr("a &amp; b.onnx"));
  EXPECT_THAT(page, HasSubstr("class=\"cl\""));
  EXPECT_THAT(page, HasSubstr("class=\"re\""));
  EXPECT_THAT(page, HasSubstr("class=\"lo\""));
}

}  // namespace
}  // namespace relayout::cli
