// Tests of which bytes the percentages of a layout report are.
#include <gtest/gtest.h>

#include "layout/layout_plan.h"
#include "relayout/layout.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

TensorLayout tensor(int64_t bytes, int region, bool is_input, Dims dims = {1, 8, 4, 4}) {
  TensorLayout out;
  out.dims = std::move(dims);
  out.bytes = bytes;
  out.region = region;
  out.is_input = is_input;
  out.layout = region >= 0 ? "channels-last" : "contiguous";
  return out;
}

TEST(PlanSums, SharesAreOfAllBytesOrOfThoseThatCouldBeChannelsLast) {
  LayoutReport report;
  report.regions.resize(2);
  report.tensors = {tensor(100, -1, true), tensor(40, 0, false), tensor(20, 1, false), tensor(20, -1, false), tensor(20, -1, false, {20})};
  report.reorders.resize(2);
  report.reorders[0].bytes = 40;
  report.reorders[1].bytes = 10;
  report.reorders[1].inner = true;
  add_up(report);
  EXPECT_EQ(report.activation_bytes, 200);
  EXPECT_EQ(report.inner_reorder_bytes, 10);
  EXPECT_DOUBLE_EQ(report.regions[0].share, 0.2);
  EXPECT_DOUBLE_EQ(report.regions[1].share, 0.1);
  EXPECT_DOUBLE_EQ(report.reorder_share, 0.25);
  EXPECT_DOUBLE_EQ(report.ordered_share, 0.75) << "neither the input nor the tensor of one dim could be channels-last";
}

}  // namespace
}  // namespace relayout::layout
