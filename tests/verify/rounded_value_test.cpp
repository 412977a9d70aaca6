// Tests the value that a quantizer rounds, upstream of quantizers of the same grid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/network.h"
#include "tensors.h"
#include "verify/compare/quantizer_steps.h"

namespace relayout {
namespace {

using test::Network;
using ::testing::ElementsAre;
using testing::floats;

/// Rounds x, transposes it, and rounds it again; the second time in steps of `scale`.
Network rounded_twice(const std::string& scale) {
  Network n(1);
  n.input("x", {"2", "3"}).output("y", {"3", "2"}).floats("s", {}, {0.5F}).floats("other", {}, {0.25F});
  n.node("QuantizeLinear", {"x", "s"}, {"q"}), n.node("DequantizeLinear", {"q", "s"}, {"d"});
  n.node("Transpose", {"d"}, {"t"}, {"perm=1,0"});
  n.node("QuantizeLinear", {"t", scale}, {"p"}), n.node("DequantizeLinear", {"p", scale}, {"y"});
  return n;
}

TEST(RoundedValue, IsUpstreamOfTheSameGrid) {
  const auto model = Model::from_bytes(rounded_twice("s").bytes());
  const RoundedValue read = rounded_value(*model->graph().find("p")->producer());
  ASSERT_NE(read.value, nullptr);
  EXPECT_EQ(read.value->name(), "x");
  const Datum seen = read.in_order(Datum(floats({2, 3}, {1, 2, 3, 4, 5, 6})));
  ASSERT_EQ(seen.tensor.dims(), (Dims{3, 2}));
  EXPECT_THAT(std::vector<float>(seen.tensor.data<float>(), seen.tensor.data<float>() + 6), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(RoundedValue, IsTheOperandOfAnotherGrid) {
  const auto model = Model::from_bytes(rounded_twice("other").bytes());
  const RoundedValue read = rounded_value(*model->graph().find("p")->producer());
  EXPECT_EQ(read.value->name(), "t");
  EXPECT_TRUE(read.orders.empty());
  EXPECT_EQ(rounded_value(*model->graph().find("q")->producer()).value->name(), "x");
}

}  // namespace
}  // namespace relayout
