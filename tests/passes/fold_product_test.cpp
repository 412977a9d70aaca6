// Tests folds into Gemm and MatMul.

#include "relayout/findings.h"
#include "relayout/model.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"

namespace relayout::test {
namespace {

class FoldProduct : public ::testing::TestWithParam<FoldCase> {};

TEST_P(FoldProduct, Case) {
  expect_case(GetParam());
}

/// x [2,3] through a product to c [2,5], and on.
std::string product(const std::string& body, const std::string& listed, const std::string& x = "float[2,3] x",
                    const std::string& y = "float[2,5] y") {
  return "g (" + x + ") => (" + y + ") <" + listed + "> { " + body + " }";
}

const std::string kBn = "  y = BatchNormalization (c, s, b, m, var)";
const std::string kP = ", " + parameters(5);

const std::vector<FoldCase> kCases = {
    {"F121aTransB", product("c = Gemm <transB = 1> (x, W, C)" + kBn, "float[5,3] W, float[5] C" + kP), 1},
    {"F121bTransA", product("c = Gemm <transA = 1> (x, W)" + kBn, "float[3,5] W" + kP, "float[3,2] x"), 1},
    {"F122aAlphaBeta", product("c = Gemm <alpha = 0.3, beta = 2.5> (x, W, C)" + kBn, "float[3,5] W, float[5] C" + kP), 1},
    {"F122bBetaWithoutC", product("c = Gemm <beta = 0.5> (x, W)" + kBn, "float[3,5] W" + kP), 1},
    {"F122bBetaZero", product("c = Gemm <beta = 0.0> (x, W, C)" + kBn, "float[3,5] W, float[5] C" + kP), 1},
    {"F123aScalarC", product("c = Gemm (x, W, C)" + kBn, "float[3,5] W, float C" + kP), 1},
    {"F123aOneC", product("c = Gemm <beta = 2.0> (x, W, C)" + kBn, "float[3,5] W, float[1] C" + kP), 1},
    {"F123aRowC", product("c = Gemm (x, W, C)" + kBn, "float[3,5] W, float[1,5] C" + kP), 1},
    {"F123bMatrixC", product("c = Gemm <beta = 2.0> (x, W, C)" + kBn, "float[3,5] W, float[2,5] C" + kP), 1},
    {"F123bColumnC", product("c = Gemm (x, W, C)" + kBn, "float[3,5] W, float[2,1] C" + kP), 1},
    {"F124aRunTimeC", product("c = Gemm (x, W, C)" + kBn, "float[3,5] W" + kP, "float[2,3] x, float[5] C"), 0, Reason::not_constant},
    {"F124bConstantOnTheLeft", product("c = Gemm (A, x)" + kBn, "float[2,3] A" + kP, "float[3,5] x"), 0, Reason::not_constant},
    {"F125SharedWeight",
     product("c = Gemm (x, W)  z = Gemm (x, W)" + kBn, "float[3,5] W" + kP, "float[2,3] x", "float[2,5] y, float[2,5] z"), 1},
    {"F126Gemm7", product("c = Gemm (x, W, C)" + kBn, "float[3,5] W, float[5] C" + kP), 1, {}, 8},
    {"F127aMulAdd", product("c = Gemm (x, W)  d = Mul (c, k)  y = Add (d, t)", "float[3,5] W, float[5] k, float[1,5] t"), 2},
    {"F127aMulUpstream", product("d = Mul (x, k)  y = Gemm (d, W)", "float[3,5] W, float[3] k"), 1},
    {"F127aMulUpstreamOfTransA", product("d = Mul (x, k)  y = Gemm <transA = 1> (d, W)", "float[3,5] W, float[3,1] k", "float[3,2] x"), 1},
    {"F127bMulOfRows", product("c = Gemm (x, W)  y = Mul (c, k)", "float[3,5] W, float[2,1] k"), 0, Reason::not_per_channel},
    {"F128aMatMul", product("c = MatMul (x, W)" + kBn, "float[3,5] W" + kP), 1},
    {"F128bMatMulAdd", product("p = MatMul (x, W)  c = Add (p, B)" + kBn, "float[3,5] W, float[5] B" + kP), 1},
    {"F128bMatMulAddOfAScalar", product("p = MatMul (x, W)  c = Add (B, p)" + kBn, "float[3,5] W, float B" + kP), 1},
    {"F129MatMulOverTime", product("c = MatMul (x, W)" + kBn, "float[3,5] W" + kP, "float[2,5,3] x", "float[2,5,5] y"), 0,
     Reason::channel_axis_moved},
    {"F130aMatMulTransposed",
     product("p = MatMul (x, W)  c = Transpose <perm = [0,2,1]> (p)" + kBn, "float[3,5] W" + kP, "float[2,4,3] x", "float[2,5,4] y"), 1},
    {"F130bMatMulAddTransposed",
     product("p = MatMul (x, W)  q = Add (p, B)  c = Transpose <perm = [0,2,1]> (q)" + kBn, "float[3,5] W, float[5] B" + kP,
             "float[2,4,3] x", "float[2,5,4] y"),
     1},
    {"F131aConstantOnTheLeft", product("c = MatMul (W, x)" + kBn, "float[5,3] W" + kP, "float[2,3,4] x", "float[2,5,4] y"), 1},
    {"F131aStackOnTheLeft", product("c = MatMul (W, x)" + kBn, "float[2,5,3] W" + kP, "float[2,3,4] x", "float[2,5,4] y"), 1},
    {"F131aAddOnTheLeft",
     product("p = MatMul (W, x)  c = Add (p, B)" + kBn, "float[5,3] W, float[5,1] B" + kP, "float[2,3,4] x", "float[2,5,4] y"), 1},
    {"F131bVector", product("c = MatMul (x, W)" + kBn, "float[3] W" + kP, "float[2,5,3] x", "float[2,5] y"), 0, Reason::channel_axis_moved},
    {"F132aMulScalar", product("c = MatMul (x, W)  y = Mul (c, k)", "float[3,5] W, float k = {0.125}"), 1},
    {"F132aMulVector", product("c = MatMul (x, W)  y = Mul (c, k)", "float[3,5] W, float[5] k"), 1},
    {"F132aMulVectorOfAnyRank",
     product("r = Reshape (x, n)  c = MatMul (r, W)  y = Mul (c, k)", "float[2,5] W, float[5] k", "float[2,2] x, int64[2] n",
             "float[2,5] y"),
     1},
    {"F132aStackOfWeights", product("c = MatMul (x, W)  y = Mul (c, k)", "float[2,3,5] W, float[5] k", "float[2,4,3] x", "float[2,4,5] y"),
     1},
    {"F132bTwoRunTimeTensors", product("c = MatMul (x, z)  y = Mul (c, k)", "float k = {0.125}", "float[2,3] x, float[3,5] z"), 0,
     Reason::not_constant},
    {"F132bTwoRunTimeTensorsAndBatchNorm", product("c = MatMul (x, z)" + kBn, parameters(5), "float[2,3] x, float[3,5] z"), 0,
     Reason::not_constant},
    {"F133PlainBias", product("c = MatMul (x, W)  y = Add (c, k)", "float[3,5] W, float[5] k"), 0, {}, 17, true},
    {"F133PlainBiasFromTheLeft", product("c = MatMul (x, W)  y = Add (k, c)", "float[3,5] W, float[5] k"), 0, {}, 17, true},
    {"F133PlainSub", product("c = MatMul (x, W)  y = Sub (c, k)", "float[3,5] W, float[5] k"), 0, {}, 17, true},
    {"F133ShiftUpstream", product("c = Sub (x, k)  y = MatMul (c, W)", "float[3,5] W, float[3] k"), 0, {}, 17, true},
    {"F133ShiftUpstreamOfBias", product("c = Sub (x, k)  p = MatMul (c, W)  y = Add (p, t)", "float[3,5] W, float[3] k, float[5] t"), 1},
    {"F133NegIsStillFolded", product("c = MatMul (x, W)  y = Neg (c)", "float[3,5] W"), 1},
    {"F133SubThenMul", product("c = MatMul (x, W)  d = Sub (c, k)  y = Mul (d, t)", "float[3,5] W, float[5] k, float[5] t"), 2},
    {"F133BothSides", product("d = Mul (x, k)  c = MatMul (d, W)  y = Mul (c, t)", "float[3,5] W, float[3] k, float[5] t"), 2},
    {"F133BothSidesShifted",
     product("n = BatchNormalization (x, s3, b3, m3, var3)  c = Gemm <alpha = 0.5> (n, W, C)" + kBn,
             "float[3,5] W, float[5] C, " + parameters(3, "3") + kP),
     2},
};

std::string name_of_case(const ::testing::TestParamInfo<FoldCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Cases, FoldProduct, ::testing::ValuesIn(kCases), name_of_case);

TEST(FoldProduct, F128OneAddIsLeft) {
  for (const char* const body : {"c = MatMul (x, W)", "p = MatMul (x, W)  c = Add (p, B)"}) {
    const PassResult result = run(kFolds, product(body + kBn, "float[3,5] W, float[5] B" + kP));
    EXPECT_EQ(result.count("Add"), 1) << to_text(*result.model);
    EXPECT_EQ(result.model->graph().nodes().size(), 2U);
  }
}

TEST(FoldProduct, F134RankUnknown) {
  expect_skip(kFoldBatchNorm,
              product("r = Reshape (x, n)  c = MatMul (r, W)" + kBn, "float[3,5] W" + kP, "float[2,3] x, int64[n] n", "float[2,5] y"),
              Reason::rank_unknown);
}

/// A weight that several products read, each through its own Transpose.
TEST(FoldProduct, TiedWeightsStayTied) {
  std::string body;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i), from = i == 0 ? "x" : "r" + std::to_string(i - 1);
    body += "t" + n + " = Transpose <perm = [1, 0]> (W)  c" + n + " = MatMul (" + from + ", t" + n + ")  m" + n + " = Mul (c" + n +
            ", k)  r" + n + " = Relu (m" + n + ")  ";
  }
  const PassResult result = expect_fold("g (float[2,6] x) => (float[2,6] r3) <float[6,6] W, float k = {0.5}> { " + body + "}", 4);
  int weights = 0;
  for (const Initializer& initializer : result.model->graph().initializers()) weights += initializer.data->dims().size() == 2 ? 1 : 0;
  EXPECT_EQ(weights, 1);
  // Different factors give a different weight.
  const std::string other =
      "t = Transpose <perm = [1, 0]> (W)  c = MatMul (x, t)  m = Mul (c, k)  u = Transpose <perm = [1, 0]> (W)  d = "
      "MatMul (m, u)  y = Mul (d, l)";
  const PassResult two =
      expect_fold("g (float[2,6] x) => (float[2,6] y) <float[6,6] W, float k = {0.5}, float l = {0.25}> { " + other + " }", 2);
  weights = 0;
  for (const Initializer& initializer : two.model->graph().initializers()) weights += initializer.data->dims().size() == 2 ? 1 : 0;
  EXPECT_EQ(weights, 2);
}

}  // namespace
}  // namespace relayout::test
