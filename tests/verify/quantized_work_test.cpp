#include <gtest/gtest.h>

#include "relayout/model.h"
#include "verify/run/quantizer.h"

namespace relayout {
namespace {

QuantizedWork work_of(const std::string& graph) {
  return quantized_work(Model::from_text("<ir_version: 8, opset_import: [\"\": 17, \"com.microsoft\": 1]> " + graph)->graph());
}

TEST(QuantizedWork, ConstantsOfEveryOperatorOnQuantizedNumbersCount) {
  // Its operands follow the result's scale and zero point, three inputs each: a and the constant w.
  const QuantizedWork joined = work_of(R"(g (uint8[2] a) => (y) <float s = {0.1}, uint8 z = {3}, uint8[2] w = {1, 2}> {
    y = com.microsoft.QLinearConcat<axis = 0>(s, z, a, s, z, w, s, z) })");
  EXPECT_EQ(joined.constants, 1);
  const QuantizedWork chosen = work_of(R"(g (bool[2] c, uint8[2] a) => (y) <float s = {0.1}, uint8 z = {3}, uint8[2] w = {1, 2}> {
    y = com.microsoft.QLinearWhere(c, a, s, z, w, s, z, s, z) })");
  EXPECT_EQ(chosen.constants, 1);
  EXPECT_EQ(chosen.bits, 8);
}

TEST(QuantizedWork, ScalesZeroPointsAndBiasesAreNoWeights) {
  const QuantizedWork work = work_of(R"(g (uint8[1, 2] a) => (uint8[1, 2] y)
      <float s = {0.1}, uint8 z = {3}, uint8[2, 2] w = {1, 2, 3, 4}, int32[2] b = {5, 6}, uint8 zw = {1}> {
    y = com.microsoft.QGemm(a, s, z, w, s, zw, b, s, z) })");
  EXPECT_EQ(work.constants, 1);
  EXPECT_EQ(work.activations, 1);
}

TEST(QuantizedWork, PackedNumbersHaveTheBitsOfTheirOperator) {
  const std::string weight = "<uint8[2, 1, 8] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, float[2] s = {0.1, 0.2}>";
  const QuantizedWork blocks = work_of("g (float[1, 16] x) => (y) " + weight +
                                       " { y = com.microsoft.MatMulNBits<K = 16, N = 2, bits = 4, block_size = 16>(x, w, s) }");
  EXPECT_EQ(blocks.bits, 4);
  EXPECT_EQ(blocks.constants, 1);
}

}  // namespace
}  // namespace relayout
