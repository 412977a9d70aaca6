#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/charts.h"

namespace relayout {
namespace {

using ::testing::HasSubstr;

TEST(Histogram, TheLastColumnIsNamed) {
  for (const std::size_t columns : {std::size_t{3}, std::size_t{12}, std::size_t{22}, std::size_t{24}, std::size_t{30}}) {
    std::vector<std::pair<std::string, double>> all;
    for (std::size_t i = 0; i < columns; ++i) all.emplace_back("<2^" + std::to_string(i), 1000 + i);
    const std::string svg = svg_histogram(all, "");
    const std::string name = ">&lt;2^" + std::to_string(columns - 1) + "<", count = ">" + std::to_string(1000 + columns - 1) + "<";
    EXPECT_NE(svg.find(name), svg.rfind(name)) << columns << ": in both rooms";
    EXPECT_NE(svg.find(count), svg.rfind(count)) << columns;
  }
}

TEST(Histogram, CountsAreWritten) {
  const std::string svg = svg_histogram({{"0", 12}, {"1", 0}, {"<2^2", 123456}}, "ULPs");
  EXPECT_THAT(svg, HasSubstr(">12<"));
  EXPECT_THAT(svg, HasSubstr(">1.2e+05<"));
}

TEST(Histogram, IsThereForWideAndForNarrowWindows) {
  const std::string svg = svg_histogram({{"0", 1}}, "");
  EXPECT_THAT(svg, HasSubstr("<svg class='broad' viewBox='0 0 760.0 "));
  EXPECT_THAT(svg, HasSubstr("<svg class='slim' viewBox='0 0 380.0 "));
}

TEST(Histogram, EmptyDataStillGivesAPicture) {
  EXPECT_THAT(svg_histogram({{"0", 0}}, ""), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace relayout
