// Tests models whose images may have any size: a difference at sizes that do not halve evenly is a difference, and a model that takes only
// even sizes is still compared over all samples.

#include <gtest/gtest.h>

#include "relayout/verify.h"
#include "support/network.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::Network;

/// Pools one after another, the last one rounding up or down.
Network pools(int depth, const std::string& last) {
  Network n(5);
  n.input("x", {"N", "3", "H", "W"}).output("y", {"N", "4"});
  n.convolution("c", "x", "p0", {4, 3, 3, 3}, {"pads=1,1,1,1"});
  for (int i = 0; i < depth; ++i) {
    const std::vector<std::string> more = {"kernel_shape=3,3", "strides=2,2", i + 1 == depth ? last : std::string("ceil_mode=1")};
    n.node("MaxPool", {"p" + std::to_string(i)}, {"p" + std::to_string(i + 1)}, more);
  }
  n.node("GlobalAveragePool", {"p" + std::to_string(depth)}, {"g"}), n.node("Flatten", {"g"}, {"y"});
  return n;
}

/// Halves with the padding on one side, as other frameworks do.
Network halved(const std::vector<std::string>& padding) {
  Network n(6);
  n.input("x", {"N", "3", "H", "W"}).output("y", {"N", "8", "h", "w"});
  std::vector<std::string> attributes = padding;
  attributes.emplace_back("strides=2,2");
  n.convolution("c", "x", "f", {8, 3, 3, 3}, attributes).node("Relu", {"f"}, {"y"});
  return n;
}

/// Takes only images of even sizes: a halved image is doubled and added to the whole one.
Network joined(const std::string& activation) {
  Network n(7);
  n.input("x", {"N", "3", "H", "W"}).output("y", {"N", "4", "H", "W"});
  n.convolution("c", "x", "f", {4, 3, 3, 3}, {"pads=1,1,1,1"}).node("MaxPool", {"f"}, {"p"}, {"kernel_shape=2,2", "strides=2,2"});
  n.convolution("u", "p", "d", {4, 4, 2, 2}, {"strides=2,2"}, "ConvTranspose");
  n.node("Add", {"f", "d"}, {"s"}), n.node(activation, {"s"}, {"y"});
  return n;
}

TEST(UnevenSizes, APoolThatRoundsTheOtherWayIsDifferentAtAnyDepth) {
  for (int depth = 1; depth <= 4; ++depth) {
    const VerifyResult result = verified(pools(depth, "ceil_mode=1"), pools(depth, "ceil_mode=0"));
    EXPECT_EQ(result.outcome, Outcome::different) << depth << "\n" << summary(result);
    EXPECT_EQ(ran(pools(depth, "ceil_mode=1"), pools(depth, "ceil_mode=1")).outcome, Outcome::same);
  }
}

TEST(UnevenSizes, PaddingThatDependsOnTheSizeIsNoConstantPadding) {
  const VerifyResult result = verified(halved({"auto_pad='SAME_UPPER'"}), halved({"pads=0,0,1,1"}));
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
}

TEST(UnevenSizes, AModelThatRefusesThemIsComparedOverAllSamples) {
  const VerifyResult same = ran(joined("Relu"), joined("Relu"));
  EXPECT_EQ(same.outcome, Outcome::same) << summary(same);
  EXPECT_EQ(same.inputs.size(), 4U);
  for (const SampleInputs& inputs : same.inputs) EXPECT_EQ(inputs.rejected, "");
  EXPECT_EQ(verified(joined("Relu"), joined("Sigmoid")).outcome, Outcome::different);
}

}  // namespace
}  // namespace relayout
