#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/charts.h"

namespace relayout {
namespace {

using ::testing::HasSubstr;

TEST(Svg, EachPictureIsDrawnForWideAndForNarrowWindows) {
  const std::string svg = in_both_rooms([](Room room) { return open_chart(room, drawing_width(room), 100, "a<b"); });
  EXPECT_THAT(svg, HasSubstr("<svg class='broad' viewBox='0 0 760.0 100.0' role='img' aria-label='a&lt;b'>"));
  EXPECT_THAT(svg, HasSubstr("<svg class='slim' viewBox='0 0 380.0 100.0' role='img' aria-label='a&lt;b'>"));
}

TEST(Svg, LinesAndLabels) {
  EXPECT_EQ(svg_segment(1, 2, 3.14, 4, "grid"), "<line x1='1.0' y1='2.0' x2='3.1' y2='4.0' class='grid'/>\n");
  EXPECT_EQ(svg_label(1, 2, "y<1>"), "<text x='1.0' y='2.0' class='label'>y&lt;1&gt;</text>\n");
}

TEST(LogAxis, IsBetweenPowersOfTen) {
  LogAxis axis;
  for (const double value : {2e-7, 0.0, 3e-5, -1.0, double{INFINITY}, std::nan("")}) axis.take(value);
  axis.finish();
  EXPECT_EQ(axis.lowest, -7);
  EXPECT_EQ(axis.highest, -4);
  EXPECT_EQ(axis.step(), 1);
  EXPECT_NEAR(axis.place(1e-6), 1.0 / 3, 1e-12);
  EXPECT_EQ(axis.place(0), 0);
  EXPECT_EQ(axis.place(INFINITY), 1);
  EXPECT_EQ(axis.place(std::nan("")), 1);
}

TEST(LogAxis, IsNeverEmpty) {
  LogAxis none, one;
  none.finish();
  EXPECT_LT(none.lowest, none.highest);
  one.take(10);
  one.finish();
  EXPECT_EQ(one.lowest, 1);
  EXPECT_EQ(one.highest, 2);
}

}  // namespace
}  // namespace relayout
