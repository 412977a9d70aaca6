// Tests pictures of shares: widths are values, narrow parts are summed up, names are text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "report/charts.h"

namespace relayout::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The picture for wide windows, which is the first.
std::string broad(const std::string& svg) {
  return svg.substr(0, svg.find("</svg>") + 7);
}

/// Sums of widths by row, as drawn.
std::map<double, double> widths_by_row(const std::string& svg) {
  static const std::regex kFrame("x='([0-9.]+)' y='([0-9.]+)' width='([0-9.]+)'");
  std::map<double, double> out;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), kFrame); it != std::sregex_iterator(); ++it) {
    out[std::stod((*it)[2])] += std::stod((*it)[3]);
  }
  return out;
}

TEST(Shares, IcicleRowsAreAsWideAsTheirValues) {
  const Share whole{"net", 100, "", {{"a", 60, "", {{"a1", 30, "", {}}, {"a2", 30, "", {}}}}, {"b", 40, "", {}}}};
  const auto rows = widths_by_row(broad(svg_icicle(whole)));
  ASSERT_EQ(rows.size(), 3U);
  std::vector<double> widths;
  for (const auto& [row, width] : rows) widths.push_back(width);
  EXPECT_NEAR(widths[0], 960, 0.2);
  EXPECT_NEAR(widths[1], 960, 0.2);
  EXPECT_NEAR(widths[2], 576, 0.2);
}

/// Ten thousand parts: those narrower than a column are not drawn, and together they take their place.
TEST(Shares, NarrowPartsAreOne) {
  Share whole{"net", 10'000, "", {}};
  for (int i = 0; i < 9000; ++i) whole.parts.push_back({"part" + std::to_string(i), 1, "", {}});
  whole.parts.push_back({"large", 1000, "", {}});
  const std::string svg = broad(svg_icicle(whole));
  EXPECT_LT(svg.size(), 2000U);
  EXPECT_THAT(svg, HasSubstr("9,000 small"));
  EXPECT_NEAR(widths_by_row(svg).rbegin()->second, 960, 0.2);
}

/// A path of a thousand levels is drawn as far as it is visible.
TEST(Shares, DeepTreesAreCut) {
  Share whole{"leaf", 1, "", {}};
  for (int i = 0; i < 1000; ++i) whole = Share{"level", 1, "", {whole}};
  EXPECT_EQ(widths_by_row(broad(svg_icicle(whole))).size(), 12U);
}

TEST(Shares, NamesAreText) {
  const Share whole{"<script>&\"'", 1, "<b>", {{"</svg>", 1, "", {}}}};
  for (const std::string& svg : {svg_icicle(whole), svg_stacks({whole})}) {
    EXPECT_THAT(svg, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<b>")), HasSubstr("&lt;/svg")));
    EXPECT_EQ(broad(svg).size() + svg.substr(svg.find("<svg class='slim'")).size(), svg.size());
  }
}

TEST(Shares, StacksHaveOneScale) {
  const Share a{"A", 10, "", {{"x", 6, "", {}}, {"y", 4, "", {}}}}, b{"B", 5, "", {{"y", 5, "", {}}}};
  const auto rows = widths_by_row(broad(svg_stacks({a, b})));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NEAR(rows.begin()->second, 960, 0.2);
  EXPECT_NEAR(rows.rbegin()->second, 480, 0.2);
}

TEST(Shares, EmptyDataHasNoPicture) {
  EXPECT_EQ(svg_icicle({"none", 0, "", {}}), "");
  EXPECT_EQ(svg_stacks({}), "");
}

}  // namespace
}  // namespace relayout::test
