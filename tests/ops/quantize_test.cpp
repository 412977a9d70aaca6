#include <gtest/gtest.h>

#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

TEST(Quantize, BlocksOfAVector) {
  const Tensor scale = tensor_of_values(DataType::float32, {3}, {0.5, 2, 4}), zero = tensor_of_values(DataType::int8, {3}, {6, 6, 2});
  const Tensor x = tensor_of_values(DataType::float32, {5}, {1, 0, 4, -4, 5}), q = tensor_of_values(DataType::int8, {5}, {1, 0, 4, 4, 5});
  EXPECT_EQ(numbers_of(run_one("QuantizeLinear <axis = 0, block_size = 2>", {x, scale, zero}, 21)), (std::vector<double>{8, 6, 8, 4, 3}));
  EXPECT_EQ(numbers_of(run_one("DequantizeLinear <axis = 0, block_size = 2>", {q, scale, zero}, 21)),
            (std::vector<double>{-2.5, -3, -4, -4, 12}));
}

}  // namespace
}  // namespace relayout::test
