#include <gtest/gtest.h>

#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

TEST(Pad, WrapsBeforeOpset19Too) {
  const Tensor x = tensor_of_values(DataType::float32, {3}, {1, 2, 3});
  for (const int64_t opset : {18, 19}) {
    EXPECT_EQ(numbers_of(run_one("Pad <mode = \"wrap\">", {x, tensor_of_values(DataType::int64, {2}, {1, 2})}, opset)),
              (std::vector<double>{3, 1, 2, 3, 1, 2}));
  }
}

}  // namespace
}  // namespace relayout::test
