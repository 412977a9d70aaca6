#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/charts.h"

namespace relayout {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BarChart, BarsHaveFloorBoundAndText) {
  const std::string svg = svg_bars({{"y<1>", 1e-3, 1e-6, 5e-6, true, "ratio 1,000"}, {"z", 0, 1e-7, 1e-6, false, ""}});
  EXPECT_THAT(svg, HasSubstr("class='bad'"));
  EXPECT_THAT(svg, HasSubstr("y&lt;1&gt;"));
  EXPECT_THAT(svg, HasSubstr("ratio 1,000"));
  EXPECT_THAT(svg, HasSubstr(">1e-7<"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(BarChart, IsThereForWideAndForNarrowWindows) {
  const std::string svg = svg_bars({{"y", 1, 1e-6, 5e-6, true, ""}});
  EXPECT_THAT(svg, HasSubstr("<svg class='broad' viewBox='0 0 760.0 "));
  EXPECT_THAT(svg, HasSubstr("<svg class='slim' viewBox='0 0 380.0 "));
}

TEST(BarChart, EmptyDataStillGivesAPicture) {
  EXPECT_THAT(svg_bars({}), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace relayout
