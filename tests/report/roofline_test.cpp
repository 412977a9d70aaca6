#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/charts.h"

namespace relayout {
namespace {

using ::testing::HasSubstr;

/// 100 GFLOP/s and 10 GB/s meet at 10 operations per byte: half of the way from 1 to 100, and the upper edge.
TEST(Roofline, WorkIsBelowTheRoof) {
  const std::string svg = svg_roofline({{"conv <1>", 100, 10, 0.25}, {"fc", 1, 1, 0}}, 100, 10);
  EXPECT_THAT(svg, HasSubstr("<title>conv &lt;1&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("<line x1='60.0' y1='146.0' x2='400.0' y2='12.0' class='floor'/>"));
  EXPECT_THAT(svg, HasSubstr("<line x1='400.0' y1='12.0' x2='740.0' y2='12.0' class='floor'/>"));
  EXPECT_THAT(svg, HasSubstr("<circle cx='740.0' cy='146.0' r='20.0'")) << "a quarter of the time: half of the largest radius";
  EXPECT_THAT(svg, HasSubstr("<circle cx='60.0' cy='280.0' r='2.0'"));
}

TEST(Roofline, IsThereForWideAndForNarrowWindows) {
  const std::string svg = svg_roofline({}, 100, 10);
  EXPECT_THAT(svg, HasSubstr("<svg class='broad' viewBox='0 0 760.0 "));
  EXPECT_THAT(svg, HasSubstr("<svg class='slim' viewBox='0 0 380.0 "));
}

TEST(Roofline, EmptyDataStillGivesAPicture) {
  EXPECT_THAT(svg_roofline({}, 100, 10), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace relayout
