#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "inspect/model_macs.h"
#include "layout/shapes.h"
#include "relayout/model.h"

namespace relayout {
namespace {

constexpr char kHead[] = "<ir_version: 8, opset_import: [\"\": 17, \"com.microsoft\": 1]>\n";

std::optional<int64_t> macs_of(const std::string& graph) {
  const auto model = Model::from_text(kHead + graph);
  Shapes shapes(model->graph());
  return count_macs(model->graph(), shapes);
}

TEST(CountMacs, Convolutions) {
  // Output [1, 8, 6, 6], each element 4 · 3 · 3 products.
  EXPECT_EQ(macs_of("g (float[1,4,8,8] x, float[8,4,3,3] w) => (float[] y) { y = Conv (x, w) }"), 8 * 36 * 4 * 9);
  EXPECT_EQ(macs_of("g (float[1,4,8,8] x, float[8,2,3,3] w) => (float[] y) { y = Conv <group = 2> (x, w) }"), 8 * 36 * 2 * 9);
  // Each of 4 · 64 elements of x meets 8 · 9 weights.
  EXPECT_EQ(macs_of("g (float[1,4,8,8] x, float[4,8,3,3] w) => (float[] y) { y = ConvTranspose (x, w) }"), 4 * 64 * 8 * 9);
}

TEST(CountMacs, Products) {
  EXPECT_EQ(macs_of("g (float[3,5] a, float[5,7] b) => (float[] y) { y = Gemm (a, b) }"), 3 * 5 * 7);
  EXPECT_EQ(macs_of("g (float[5,3] a, float[7,5] b) => (float[] y) { y = Gemm <transA = 1, transB = 1> (a, b) }"), 3 * 5 * 7);
  EXPECT_EQ(macs_of("g (float[2,3,5] a, float[5,7] b) => (float[] y) { y = MatMul (a, b) }"), 2 * 3 * 5 * 7);
}

TEST(CountMacs, QuantizedAndIntegerOperators) {
  const std::string scales = "float xs, uint8 xz, ", others = "float ws, uint8 wz, float ys, uint8 yz";
  EXPECT_EQ(macs_of("g (uint8[1,4,8,8] x, " + scales + "uint8[8,2,3,3] w, " + others +
                    ") => (uint8[] y) { y = QLinearConv <group = 2> (x, xs, xz, w, ws, wz, ys, yz) }"),
            8 * 36 * 2 * 9);
  EXPECT_EQ(macs_of("g (uint8[2,3,5] x, " + scales + "uint8[5,7] w, " + others +
                    ") => (uint8[] y) { y = QLinearMatMul (x, xs, xz, w, ws, wz, ys, yz) }"),
            2 * 3 * 5 * 7);
  EXPECT_EQ(macs_of("g (uint8[3,5] a, uint8[5,7] b) => (int32[] y) { y = MatMulInteger (a, b) }"), 3 * 5 * 7);
  EXPECT_EQ(macs_of("g (uint8[1,4,8,8] x, uint8[8,4,3,3] w) => (int32[] y) { y = ConvInteger (x, w) }"), 8 * 36 * 4 * 9);
}

TEST(CountMacs, RecurrentOperators) {
  // gates · hidden · (input + hidden) for each of 5 steps, 2 sequences and every direction.
  EXPECT_EQ(macs_of("g (float[5,2,8] x, float[1,24,8] w, float[1,24,6] r) => (float[] y) { y = LSTM <hidden_size = 6> (x, w, r) }"),
            5 * 2 * 4 * 6 * (8 + 6));
  EXPECT_EQ(macs_of("g (float[5,2,8] x, float[2,18,8] w, float[2,18,6] r) => (float[] y) { y = GRU <hidden_size = 6, direction = "
                    "\"bidirectional\"> (x, w, r) }"),
            2 * 5 * 2 * 3 * 6 * (8 + 6));
  EXPECT_EQ(
      macs_of("g (float[2,5,8] x, float[1,6,8] w, float[1,6,6] r) => (float[] y) { y = RNN <hidden_size = 6, layout = 1> (x, w, r) }"),
      5 * 2 * 6 * (8 + 6));
}

TEST(CountMacs, OperatorsThatAreLeftOutAreNamed) {
  const auto model = Model::from_text(std::string(kHead) + R"(g (float[3,5] a, float[5,7] b, int64 n, bool k) => (float[] y, float[] z) {
      c = MatMul (a, b)  e = Einsum <equation = "ij,jk->ik"> (a, b)  y = Add (c, e)
      z = Loop (n, k, a) <body = body (int64 i, bool s, float[3,5] v) => (bool t, float[3,5] w) {
        t = Identity (s)  q = Transpose (v)  p = MatMul (v, q)  w = MatMul (p, v) }> })");
  Shapes shapes(model->graph());
  EXPECT_EQ(operators_without_macs(model->graph(), shapes), (std::map<std::string, int64_t>{{"Einsum", 1}, {"Loop", 1}}));
}

TEST(CountMacs, OperatorsOfOtherDomains) {
  EXPECT_EQ(macs_of("g (float[1,4,8,8] x, float[8,2,3,3] w) => (float[] y) { y = com.microsoft.FusedConv <group = 2> (x, w) }"),
            8 * 36 * 2 * 9);
  EXPECT_EQ(macs_of("g (float[1,8,8,4] x, float[8,2,3,3] w) => (float[] y) { y = com.microsoft.NhwcConv <group = 2> (x, w) }"),
            8 * 36 * 2 * 9);
  EXPECT_EQ(macs_of("g (float[2,5,3] a, float[5,7] b) => (float[] y) { y = com.microsoft.FusedMatMul <transA = 1> (a, b) }"),
            2 * 3 * 5 * 7);
  EXPECT_EQ(
      macs_of("g (float[5,2,3] a, float[2,5,7] b) => (float[] y) { y = com.microsoft.FusedMatMul <transA = 1, transBatchA = 1> (a, b) }"),
      2 * 3 * 5 * 7);
}

TEST(CountMacs, ShapeArithmeticIsFollowed) {
  EXPECT_EQ(macs_of(R"(g (float[N,4,2,2] x, float[16,3] w) => (float[] y) {
                       shape = Shape (x)  zero = Constant <value_ints = [0]> ()  n = Gather (shape, zero)
                       rest = Constant <value_ints = [-1]> ()  dims = Concat <axis = 0> (n, rest)
                       flat = Reshape (x, dims)  y = MatMul (flat, w) })"),
            16 * 3);
}

TEST(CountMacs, NothingWhenAShapeIsNotKnown) {
  EXPECT_EQ(macs_of("g (float x, float[5,7] b) => (float[] y) { a = Relu (x)  y = MatMul (a, b) }"), std::nullopt);
  EXPECT_EQ(macs_of(R"(g (float[3,5] x, int64[2] dims, float[5,7] b) => (float[] y) { a = Reshape (x, dims)  y = MatMul (a, b) })"),
            std::nullopt);
  EXPECT_EQ(macs_of("g (float[3,5] x, float[6,7] b) => (float[] y) { y = MatMul (x, b) }"), std::nullopt);
}

}  // namespace
}  // namespace relayout
