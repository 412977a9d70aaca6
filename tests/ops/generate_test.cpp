#include <gtest/gtest.h>

#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

TEST(Window, OfOneElement) {
  const Tensor one = tensor_of_values(DataType::int64, {}, {1});
  EXPECT_NEAR(numbers_of(run_one("HammingWindow", {one}))[0], 25.0 / 46 - 21.0 / 46, 1e-7) << "periodic: the formula at 0";
  EXPECT_EQ(numbers_of(run_one("HannWindow", {one}))[0], 0);
  EXPECT_EQ(numbers_of(run_one("HannWindow <periodic = 0>", {one}))[0], 1) << "symmetric: its middle";
}

}  // namespace
}  // namespace relayout::test
