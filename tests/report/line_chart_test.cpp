#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/charts.h"

namespace relayout {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LineChart, LinesBreakAtGapsAndTakeAnyNumber) {
  const std::string svg = svg_lines({{"error", {1e-6, std::nullopt, 1e-5, INFINITY, std::nan(""), 0.0}, false}}, {{2, "here"}},
                                    {"a", "b", "c", "d", "e", "f"}, "depth");
  EXPECT_THAT(svg, HasSubstr("here"));
  EXPECT_EQ(svg.find("d='M"), svg.rfind("d='M60.0")) << "the line starts at the left edge";
  const std::size_t path = svg.find("<path d='");
  const std::string coordinates = svg.substr(path, svg.find("/>", path) - path);
  EXPECT_THAT(coordinates, Not(HasSubstr("nan")));
  EXPECT_THAT(coordinates, Not(HasSubstr("inf")));
}

TEST(LineChart, ZeroHasAPlaceOfItsOwn) {
  const std::string without = svg_lines({{"error", {1e-7, 1e-5}, false}}, {}, {"a", "b"}, "");
  EXPECT_THAT(without, testing::AllOf(HasSubstr(">1e-7<"), Not(HasSubstr(">0<"))));
  const std::string with = svg_lines({{"error", {0.0, 1e-7, 1e-5}, false}}, {}, {"a", "b", "c"}, "");
  EXPECT_THAT(with, testing::AllOf(HasSubstr(">1e-7<"), HasSubstr(">0<"), Not(HasSubstr(">1e-8<"))));
}

/// Labels of marks by their middle, with the room that 7 pixels for each character take.
TEST(LineChart, TheLabelOfAMarkIsAlwaysInsideTheChart) {
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

TEST(LineChart, IsThereForWideAndForNarrowWindows) {
  const std::string svg = svg_lines({{"error", {1, 2}, false}}, {}, {"a", "b"}, "depth");
  EXPECT_THAT(svg, HasSubstr("<svg class='broad' viewBox='0 0 760.0 "));
  EXPECT_THAT(svg, HasSubstr("<svg class='slim' viewBox='0 0 380.0 "));
}

TEST(LineChart, EmptyDataStillGivesAPicture) {
  EXPECT_THAT(svg_lines({}, {}, {}, ""), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace relayout
