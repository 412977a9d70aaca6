#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/types.h"
#include "relayout/verify.h"

namespace relayout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OutputComparison output_with(double ratio, double floor) {
  OutputComparison out;
  out.type = DataType::float32;
  out.ratio = ratio;
  out.floor = floor;
  return out;
}

TEST(Remarks, AnOutputHasOneIfItsRatioIsAbove3) {
  EXPECT_THAT(remarks_on(output_with(3, 1e-6)), IsEmpty());
  EXPECT_THAT(remarks_on(output_with(3.1, 1e-6)), ElementsAre(HasSubstr("within the bound of 5 × floor")));
  EXPECT_THAT(remarks_on(output_with(5.1, 1e-6)), ElementsAre(HasSubstr("by B's own rounding")));
  OutputComparison least = output_with(7, 1e-9);
  least.least_bound = true;
  EXPECT_THAT(remarks_on(least), ElementsAre(HasSubstr("the least bound of f32")));
}

TEST(Remarks, AnOutputHasOneIfItsFloorIsAbove5PercentOfTheRange) {
  EXPECT_THAT(remarks_on(output_with(1, 0.05)), IsEmpty());
  EXPECT_THAT(remarks_on(output_with(1, 0.06)), ElementsAre(HasSubstr("the floor is 6 % of the range")));
}

TEST(Remarks, AnOutputThatIsNotTheSameHasNone) {
  OutputComparison output = output_with(7, 0.06);
  output.outcome = Outcome::different;
  EXPECT_THAT(remarks_on(output), IsEmpty());
}

}  // namespace
}  // namespace relayout
