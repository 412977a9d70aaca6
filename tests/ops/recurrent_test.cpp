#include <gtest/gtest.h>

#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

TEST(Recurrent, TheDefaultOfRnnAsOnnxWritesItDown) {
  const Tensor x = tensor_of_values(DataType::float32, {2, 1, 1}, {1, 2}), one = tensor_of_values(DataType::float32, {1, 1, 1}, {0.5});
  const auto plain = numbers_of(run_one("RNN <hidden_size = 1>", {x, one, one}));
  EXPECT_EQ(numbers_of(run_one("RNN <hidden_size = 1, activations = [\"Tanh\", \"Tanh\"]>", {x, one, one})), plain);
  EXPECT_THROW((void)run_one("RNN <hidden_size = 1, activations = [\"Relu\", \"Relu\"]>", {x, one, one}), Error);
}

}  // namespace
}  // namespace relayout::test
