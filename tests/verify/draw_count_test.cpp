#include <gtest/gtest.h>

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/bounds.h"

namespace relayout {
namespace {

SampleMetrics figure(double error, double bound) {
  SampleMetrics out;
  out.max_error = out.rms_error = error;
  out.bound = {bound, bound};
  return out;
}

TEST(DrawCount, AFullFloorIsNeededByFiguresFarFromTheFirst) {
  SampleMetrics metrics;
  metrics.ratio = 2;
  EXPECT_FALSE(needs_full_floor(metrics));
  metrics.ratio = 2.1;
  EXPECT_TRUE(needs_full_floor(metrics));
  metrics.ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(needs_full_floor(metrics));
  metrics = {};
  metrics.outcome = Outcome::different;
  EXPECT_TRUE(needs_full_floor(metrics));
}

TEST(DrawCount, AFloorIsHealthyUpToFiftyLeastBounds) {
  EXPECT_TRUE(is_healthy(DataType::float32, {1e-6, 1e-6}));
  EXPECT_FALSE(is_healthy(DataType::float32, {1e-4, 1e-6}));
  EXPECT_TRUE(is_healthy(DataType::float16, {1e-4, 1e-6}));
}

TEST(DrawCount, MoreDrawsMayShowThatAFigureNearItsBoundIsRounding) {
  EXPECT_TRUE(is_near_bound(figure(9e-6, 1e-6)));
  EXPECT_FALSE(is_near_bound(figure(1e-5, 1e-6)));
  EXPECT_TRUE(is_near_bound(figure(9e-4, 1e-6), 95)) << "few elements may all have missed the rounding";
  EXPECT_FALSE(is_near_bound(figure(9e-4, 1e-6), 96));
  EXPECT_FALSE(is_near_bound(figure(0, 0)));
  SampleMetrics strange = figure(9e-6, 1e-6);
  strange.non_finite.nan_b = 1;
  EXPECT_FALSE(is_near_bound(strange));
}

TEST(DrawCount, OutputsOfFewElementsGetMoreDraws) {
  EXPECT_EQ(firm_draws(1000), 9);
  EXPECT_EQ(firm_draws(8), 12);
  EXPECT_EQ(firm_draws(1), 96);
  EXPECT_EQ(stored_draws(false), 3);
  EXPECT_EQ(stored_draws(true), 9);
}

}  // namespace
}  // namespace relayout
