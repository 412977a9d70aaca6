#include "report/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace relayout {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Svg, LinesBreakAtGapsAndTakeAnyNumber) {
  const std::string svg = svg_lines({{"error", {1e-6, std::nullopt, 1e-5, INFINITY, std::nan(""), 0.0}, false}}, {{2, "here"}},
                                    {"a", "b", "c", "d", "e", "f"}, "depth");
  EXPECT_THAT(svg, HasSubstr("here"));
  EXPECT_EQ(svg.find("d='M"), svg.rfind("d='M60.0")) << "the line starts at the left edge";
  const std::size_t path = svg.find("<path d='");
  const std::string coordinates = svg.substr(path, svg.find("/>", path) - path);
  EXPECT_THAT(coordinates, Not(HasSubstr("nan")));
  EXPECT_THAT(coordinates, Not(HasSubstr("inf")));
}

TEST(Svg, ZeroHasAPlaceOfItsOwn) {
  const std::string without = svg_lines({{"error", {1e-7, 1e-5}, false}}, {}, {"a", "b"}, "");
  EXPECT_THAT(without, testing::AllOf(HasSubstr(">1e-7<"), Not(HasSubstr(">0<"))));
  const std::string with = svg_lines({{"error", {0.0, 1e-7, 1e-5}, false}}, {}, {"a", "b", "c"}, "");
  EXPECT_THAT(with, testing::AllOf(HasSubstr(">1e-7<"), HasSubstr(">0<"), Not(HasSubstr(">1e-8<"))));
}

/// 100 GFLOP/s and 10 GB/s meet at 10 operations per byte: half of the way from 1 to 100, and the upper edge.
TEST(Svg, WorkIsBelowTheRoof) {
  const std::string svg = svg_roofline({{"conv <1>", 100, 10, 0.25}, {"fc", 1, 1, 0}}, 100, 10);
  EXPECT_THAT(svg, HasSubstr("<title>conv &lt;1&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("<line x1='60.0' y1='146.0' x2='400.0' y2='12.0' class='floor'/>"));
  EXPECT_THAT(svg, HasSubstr("<line x1='400.0' y1='12.0' x2='740.0' y2='12.0' class='floor'/>"));
  EXPECT_THAT(svg, HasSubstr("<circle cx='740.0' cy='146.0' r='20.0'")) << "a quarter of the time: half of the largest radius";
  EXPECT_THAT(svg, HasSubstr("<circle cx='60.0' cy='280.0' r='2.0'"));
}

/// At 380 pixels one unit of the picture for narrow windows is a pixel, so that its text has the size of the page's.
TEST(Svg, EachChartIsThereForWideAndForNarrowWindows) {
  for (const std::string& svg :
       {svg_roofline({}, 100, 10), svg_histogram({{"0", 1}}, ""), svg_lines({{"error", {1, 2}, false}}, {}, {"a", "b"}, "depth")}) {
    EXPECT_THAT(svg, HasSubstr("<svg class='broad' viewBox='0 0 760.0 "));
    EXPECT_THAT(svg, HasSubstr("<svg class='slim' viewBox='0 0 380.0 "));
  }
}

TEST(Svg, EmptyDataStillGivesAChart) {
  EXPECT_THAT(svg_roofline({}, 100, 10), HasSubstr("</svg>"));
  EXPECT_THAT(svg_lines({}, {}, {}, ""), HasSubstr("</svg>"));
  EXPECT_THAT(svg_histogram({{"0", 0}}, ""), HasSubstr("</svg>"));
}

/// Labels of marks by their middle, with the room that 7 pixels for each character take.
TEST(Svg, TheLabelOfAMarkIsAlwaysInsideTheChart) {
  const std::vector<std::optional<double>> values(101, 1e-5);
  const std::vector<std::string> names(101, "n");
  for (const std::size_t at : {std::size_t{0}, std::size_t{30}, std::size_t{59}, std::size_t{100}}) {
    const std::string svg =
        svg_lines({{"error", values, false}}, {{at, "first wrong node: /features/stage4/block2/conv/Conv (Conv)"}}, names, "");
    std::size_t found = 0;
    for (std::size_t where = svg.find("(Conv)</text>"); where != std::string::npos; where = svg.find("(Conv)</text>", where + 1)) {
      const std::size_t begin = svg.rfind("<text x='", where) + 9;
      const double middle = std::stod(svg.substr(begin));
      const double half = 3.5 * static_cast<double>(where + 6 - (svg.find('>', begin) + 1));
      const double width = svg.rfind("class='slim'", where) != std::string::npos ? 380 : 760;
      EXPECT_GE(middle - half, 0) << at;
      EXPECT_LE(middle + half, width) << at;
      // Above the plot, whose upper edge is where the dotted line of the mark begins.
      const double base = std::stod(svg.substr(svg.find("y='", begin) + 3));
      const std::size_t mark = svg.rfind("<line", svg.rfind("class='mark'", where));
      EXPECT_LT(base, std::stod(svg.substr(svg.find("y1='", mark) + 4))) << at;
      ++found;
    }
    EXPECT_EQ(found, 2U) << at;
  }
}

TEST(Svg, TheLastColumnOfAHistogramIsNamed) {
  for (const std::size_t columns : {std::size_t{3}, std::size_t{12}, std::size_t{22}, std::size_t{24}, std::size_t{30}}) {
    std::vector<std::pair<std::string, double>> all;
    for (std::size_t i = 0; i < columns; ++i) all.emplace_back("<2^" + std::to_string(i), 1000 + i);
    const std::string svg = svg_histogram(all, "");
    const std::string name = ">&lt;2^" + std::to_string(columns - 1) + "<", count = ">" + std::to_string(1000 + columns - 1) + "<";
    EXPECT_NE(svg.find(name), svg.rfind(name)) << columns << ": in both rooms";
    EXPECT_NE(svg.find(count), svg.rfind(count)) << columns;
  }
}

TEST(Svg, HistogramCountsAreWritten) {
  const std::string svg = svg_histogram({{"0", 12}, {"1", 0}, {"<2^2", 123456}}, "ULPs");
  EXPECT_THAT(svg, HasSubstr(">12<"));
  EXPECT_THAT(svg, HasSubstr(">1.2e+05<"));
}

}  // namespace
}  // namespace relayout
