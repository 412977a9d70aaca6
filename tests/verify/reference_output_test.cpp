#include "verify/run/reference_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "relayout/datum.h"
#include "relayout/verify.h"
#include "tensors.h"

namespace relayout {
namespace {

using testing::floats;
using ::testing::HasSubstr;
using testing::integers;

/// Reason why these samples are inconclusive; empty if they are conclusive.
std::string inconclusive(const std::vector<Datum>& samples, bool may_saturate = true, bool varied = true) {
  ReferenceOutput output("y", {.may_saturate = may_saturate});
  for (const Datum& sample : samples) output.add(sample);
  return output.inconclusive(varied).value_or("");
}

TEST(ReferenceOutput, OrdinaryOutputsAreConclusive) {
  EXPECT_EQ(inconclusive({floats({3}, {1, 2, 3}), floats({3}, {1, 2.5, 3})}), "");
}

TEST(ReferenceOutput, V45AllNan) {
  EXPECT_EQ(inconclusive({floats({2}, {std::nan(""), std::nan("")})}), "no finite value: NaN and infinities in both confirm nothing");
  EXPECT_EQ(inconclusive({floats({2}, {std::nan(""), 1}), floats({2}, {std::nan(""), 2})}), "");
}

TEST(ReferenceOutput, V49NoElements) {
  EXPECT_THAT(inconclusive({floats({0, 4}, {})}), HasSubstr("no elements"));
  EXPECT_THAT(inconclusive({integers({0}, {})}), HasSubstr("no elements"));
  EXPECT_EQ(inconclusive({floats({0, 2}, {}), floats({1, 2}, {1, 2})}), "");
  ReferenceOutput declared("y", {.may_saturate = true, .is_empty = true});
  declared.add(floats({0, 4}, {}));
  EXPECT_EQ(declared.inconclusive(true), std::nullopt);
}

TEST(ReferenceOutput, V50Constant) {
  EXPECT_EQ(inconclusive({floats({2}, {0.5, 0.5}), floats({1}, {0.5})}), "constant: every element is 0.5");
  EXPECT_EQ(inconclusive({floats({1}, {0.5})}), "");  // one number is not known to be constant
  EXPECT_EQ(inconclusive({floats({1}, {0.5}), floats({1}, {0.6})}), "");
}

TEST(ReferenceOutput, V51Saturated) {
  const Datum saturated = floats({2, 3}, {0, 1, 0, 1, 0, 0});
  const Datum other = floats({2, 3}, {1, 1, 0, 0, 0, 1});
  EXPECT_THAT(inconclusive({saturated, other}), HasSubstr("saturated: 100 %"));
  // One unsaturated sample is enough; and values cast from bool have two values by nature.
  EXPECT_EQ(inconclusive({saturated, floats({2, 3}, {0, 1, 0, 0.5, 0, 0})}), "");
  EXPECT_EQ(inconclusive({saturated, other}, /*may_saturate=*/false), "");
}

TEST(ReferenceOutput, V52IndependentOfTheInputs) {
  const Datum table = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(inconclusive({table, table}), HasSubstr("same bytes for every sample"));
  // A different batch of the same rows is no difference, a different row is one.
  EXPECT_THAT(inconclusive({table, floats({3, 2}, {1, 2, 3, 4, 5, 6})}), HasSubstr("same bytes"));
  EXPECT_EQ(inconclusive({table, floats({3, 2}, {1, 2, 3, 5, 5, 6})}), "");
  // No verdict on constant inputs, or on exact types.
  EXPECT_EQ(inconclusive({table, table}, true, /*varied=*/false), "");
  EXPECT_EQ(inconclusive({integers({2}, {3, 3}), integers({2}, {3, 3})}), "");
}

}  // namespace
}  // namespace relayout
