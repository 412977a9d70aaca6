#include <gtest/gtest.h>

#include "inspect/model_macs.h"
#include "relayout/model.h"

namespace relayout {
namespace {

constexpr char kHead[] = "<ir_version: 8, opset_import: [\"\": 17, \"com.microsoft\": 1]>\n";

std::optional<int64_t> macs_of(const std::string& graph) {
  return count_macs(*Model::from_text(kHead + graph)).macs;
}

/// With a function, whose opset_import is that of the model's default domain.
ModelMacs count(const std::string& text) {
  return count_macs(*Model::from_text("<ir_version: 8, opset_import: [\"\": 17, \"loc\": 1]>\n" + text));
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
  const ModelMacs found = count(R"(g (float[3,5] a, float[5,7] b, int64 n, bool k, float[2,2] m) => (float[] y, float[] z) {
      c = MatMul (a, b)  e = Einsum <equation = "ij,jk->ik"> (a, b)  y = Add (c, e)
      z = Loop (n, k, m) <body = body (int64 i, bool s, float[2,2] v) => (bool t, float[2,2] w) {
        t = Identity (s)  q = NonZero (v)  f = Cast <to = 1> (q)  p = Transpose (f)  w = MatMul (p, f) }> })");
  EXPECT_EQ(found.macs, 3 * 5 * 7);
  EXPECT_EQ(found.left_out, (std::map<std::string, int64_t>{{"Einsum", 1}, {"Loop", 1}}));
  EXPECT_TRUE(found.is_least);
}

/// Each call counts, with the shapes and attributes that it gives.
TEST(CountMacs, Functions) {
  const std::string block = R"(
    <domain: "loc", opset_import: ["" : 17]> Block <stride> (x, w, b) => (y) { y = Conv <strides = @stride> (x, w, b) }
    <domain: "loc", opset_import: ["" : 17, "loc" : 1]> Twice (x, w) => (y) {
      u = loc.Block <stride = [1, 1]> (x, w)  y = loc.Block <stride = [2, 2]> (u, w) })";
  const ModelMacs called = count(R"(g (float[1,8,8,8] x, float[8,8,3,3] w, float[9,4] m) => (float[] y, float[] z) {
      u = loc.Twice (x, w)  v = loc.Block <stride = [1, 1]> (x, w)
      y = Identity (v)  dims = Constant <value_ints = [8, -1]> ()  flat = Reshape (u, dims)  t = Transpose (flat)  z = MatMul (t, flat) })" +
                                 block);
  // [1, 8, 8, 8] → [1, 8, 6, 6] → [1, 8, 2, 2], once more [1, 8, 6, 6], and [4, 8] · [8, 4] of the result.
  EXPECT_EQ(called.macs, 8 * 36 * 72 + 8 * 4 * 72 + 8 * 36 * 72 + 4 * 8 * 4);
  EXPECT_TRUE(called.left_out.empty());
  EXPECT_TRUE(called.assumed.empty());
  EXPECT_FALSE(called.is_least);
}

TEST(CountMacs, FunctionsCalledTwiceAreExaminedOnce) {
  // 2^39 calls of the innermost one, which adds up no products.
  std::string functions = R"(<domain: "loc", opset_import: ["" : 17]> F0 (x) => (y) { y = Neg (x) })";
  for (int i = 1; i < 40; ++i) {
    const std::string inner = "loc.F" + std::to_string(i - 1);
    functions += " <domain: \"loc\", opset_import: [\"\" : 17, \"loc\" : 1]> F" + std::to_string(i) + " (x) => (y) { u = " + inner +
                 " (x)  y = " + inner + " (u) }";
  }
  const ModelMacs found = count("g (float[4] x) => (float[4] y) { y = loc.F39 (x) } " + functions);
  EXPECT_EQ(found.macs, 0);
  EXPECT_TRUE(found.left_out.empty());
}

TEST(CountMacs, TheLargerBranchOfAnIf) {
  const auto branches = [](const std::string& condition, const char* then_weight, const char* else_weight) {
    return count("g (bool k, float[1,4,8,8] x, float[8,4,3,3] v, float[8,4,1,1] w, float[2,8] m) => (float[] z) {" + condition +
                 "y = If (c) <then_branch = a () => (float[] p) { p = Conv <pads = [1,1,1,1]> (x, v) }, else_branch = b () => (float[] q) "
                 "{ q = Conv <pads = [" +
                 std::string(else_weight) + "]> (x, " + then_weight +
                 ") }>  s = Shape <start = 1, end = 2> (y) "
                 "z = Gemm <transB = 1> (m, m) }");
  };
  const int64_t gemm = int64_t{2} * 8 * 2;
  const ModelMacs larger = branches("c = Identity (k)", "w", "0,0,0,0");
  EXPECT_EQ(larger.macs, int64_t{8} * 64 * 36 + gemm);
  EXPECT_EQ(larger.assumed, (std::vector<std::string>{"the larger branch of each If"}));
  const ModelMacs alike = branches("c = Identity (k)", "v", "1,1,1,1");
  EXPECT_EQ(alike.macs, int64_t{8} * 64 * 36 + gemm);
  EXPECT_TRUE(alike.assumed.empty());
  // A constant condition selects its branch.
  const ModelMacs decided = branches("c = Constant <value = bool {0}> ()", "w", "0,0,0,0");
  EXPECT_EQ(decided.macs, int64_t{8} * 64 * 4 + gemm);
  EXPECT_TRUE(decided.assumed.empty());
}

TEST(CountMacs, IterationsOfALoop) {
  const auto loop = [](const char* trips, const char* condition, const char* continues) {
    return count(std::string("g (int64 n, bool k, float[3,3] a) => (float[] z, float[] s) { five = Constant <value_int = 5> ()"
                             " yes = Constant <value = bool {1}> ()  no = Constant <value = bool {0}> ()  z, s = Loop (") +
                 trips + ", " + condition + ", a) <body = body (int64 i, bool c, float[3,3] v) => (bool t, float[3,3] w, float[3] r) {" +
                 continues +
                 " w = MatMul (v, v)  axes = Constant <value_ints = [0]> ()  r = ReduceMax <keepdims = 0, axes = [0]> (w) }> }");
  };
  const std::vector<std::string> all = {"all iterations of each Loop"}, once = {"one iteration of each Loop without a known number"};
  EXPECT_EQ(loop("five", "yes", "t = Identity (c)").macs, 5 * 27);
  EXPECT_TRUE(loop("five", "yes", "t = Identity (c)").assumed.empty());
  EXPECT_EQ(loop("five", "", "t = Identity (c)").macs, 5 * 27);
  EXPECT_EQ(loop("five", "no", "t = Identity (c)").macs, 0);
  EXPECT_EQ(loop("five", "yes", "m = ReduceMax <keepdims = 0> (v)  t = Greater (m, m)").assumed, all);
  EXPECT_EQ(loop("five", "yes", "m = ReduceMax <keepdims = 0> (v)  t = Greater (m, m)").macs, 5 * 27);
  EXPECT_FALSE(loop("five", "k", "t = Identity (c)").is_least);
  const ModelMacs open = loop("n", "yes", "t = Identity (c)");
  EXPECT_EQ(open.macs, 27);
  EXPECT_EQ(open.assumed, once);
  EXPECT_FALSE(open.is_least) << "it may run no time";
}

/// A growing state has different dims in each iteration; nodes that do not read it are counted all the same.
TEST(CountMacs, StatesThatGrow) {
  const auto loop = [](const char* factor) {
    return count(std::string("g (float[3,3] a, float[1,3] x) => (float[] z) { five = Constant <value_int = 5> ()  z = Loop (five, , x) "
                             "<body = body (int64 i, bool c, float[] v) => (bool t, float[] w) { t = Identity (c) p = MatMul (") +
                 factor + ", a)  w = Concat <axis = 0> (v, p) }> }");
  };
  EXPECT_EQ(loop("a").macs, 5 * 27);
  EXPECT_TRUE(loop("a").left_out.empty());
  EXPECT_EQ(loop("v").left_out, (std::map<std::string, int64_t>{{"Loop", 1}}));
}

TEST(CountMacs, SlicesOfAScan) {
  const ModelMacs scan = count(R"(g (float[2,3] state, float[2,7,3] x, float[3,3] w, float[2,5] m) => (float[] y, float[] z, float[] p) {
      y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], body = body (float[2,3] s, float[2,3] e) =>
        (float[2,3] t, float[2,3] o) { t = MatMul (e, w)  o = Add (s, t) }> (state, x)
      q = Transpose <perm = [0, 2, 1]> (z)  p = MatMul (z, q) })");
  EXPECT_EQ(scan.macs, 7 * (2 * 3 * 3) + 2 * 7 * 7 * 3);
  EXPECT_TRUE(scan.assumed.empty());
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

TEST(CountMacs, NoCountForUnknownShapes) {
  EXPECT_EQ(macs_of("g (float x, float[5,7] b) => (float[] y) { a = Relu (x)  y = MatMul (a, b) }"), std::nullopt);
  EXPECT_EQ(macs_of(R"(g (float[3,5] x, int64[2] dims, float[5,7] b) => (float[] y) { a = Reshape (x, dims)  y = MatMul (a, b) })"),
            std::nullopt);
  EXPECT_EQ(macs_of("g (float[3,5] x, float[6,7] b) => (float[] y) { y = MatMul (x, b) }"), std::nullopt);
}

}  // namespace
}  // namespace relayout
