// Tests folds of affines upstream of linear operators.

#include "relayout/findings.h"
#include "support/fold_models.h"

namespace relayout::test {
namespace {

class FoldUpstream : public ::testing::TestWithParam<FoldCase> {};

TEST_P(FoldUpstream, Case) {
  expect_case(GetParam());
}

/// x [2,3,5,6] through a BatchNormalization of 3 channels and on to y.
std::string downstream_of_bn(const std::string& listed, const std::string& body, const std::string& result = "float[2,4,3,4] y") {
  return "g (float[2,3,5,6] x) => (" + result + ") <" + parameters(3) + ", " + listed + "> { n = BatchNormalization (x, s, b, m, var)  " +
         body + " }";
}

const std::vector<FoldCase> kCases = {
    {"F67aUnpadded", downstream_of_bn("float[4,3,3,3] W, float[4] B", "y = Conv (n, W, B)"), 1},
    {"F67bGroups",
     "g (float[2,6,5,6] x) => (float[2,12,3,4] y) <float[12,2,3,3] W, " + parameters(6) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Conv <group = 3> (n, W) }",
     1},
    {"F67cDepthwise", downstream_of_bn("float[3,1,3,3] W", "y = Conv <group = 3> (n, W)", "float[2,3,3,4] y"), 1},
    {"F67cDepthwiseMultiplier", downstream_of_bn("float[6,1,3,3] W", "y = Conv <group = 3> (n, W)", "float[2,6,3,4] y"), 1},
    {"F67dOneDim",
     "g (float[2,3,9] x) => (float[2,4,4] y) <float[4,3,3] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Conv <strides = [2]> (n, W) }",
     1},
    {"F67dThreeDims",
     "g (float[2,3,4,5,6] x) => (float[2,4,2,3,4] y) <float[4,3,2,2,2] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Conv <dilations = [2,2,2]> (n, W) }",
     1},
    {"F67dValid", downstream_of_bn("float[4,3,3,3] W", "y = Conv <auto_pad = \"VALID\"> (n, W)"), 1},
    {"F68Padded", downstream_of_bn("float[4,3,3,3] W", "y = Conv <pads = [1,1,1,1]> (n, W)", "float[2,4,5,6] y"), 0,
     Reason::pads_with_shift},
    {"F68PaddedOnOneSide", downstream_of_bn("float[4,3,3,3] W", "y = Conv <pads = [0,0,0,1]> (n, W)", "float[2,4,3,5] y"), 0,
     Reason::pads_with_shift},
    {"F69aNoShift",
     "g (float[2,3,5,6] x) => (float[2,4,5,6] y) <float[4,3,3,3] W, float[3] s, float[3] var, float[3] b = {0,0,0}, float[3] m = {0,0,0}> "
     "{ "
     "n = BatchNormalization (x, s, b, m, var)  y = Conv <pads = [1,1,1,1]> (n, W) }",
     1},
    {"F69aShiftThatMeanTakesBack",
     "g (float[2,3,5,6] x) => (float[2,4,5,6] y) <float[4,3,3,3] W, float[3] s = {1,2,4}, float[3] var = {4,4,4}, float[3] b = "
     "{0.5,-1,3}, float[3] m = {1,-1,1.5}> { n = BatchNormalization <epsilon = 0.0> (x, s, b, m, var)  y = Conv <pads = [1,1,1,1]> (n, W) "
     "}",
     1},
    {"F69aShiftThatMeanTakesBackButForRounding",
     "g (float[2,3,5,6] x) => (float[2,4,5,6] y) <float[4,3,3,3] W, float[3] s = {1,2,4}, float[3] var = {3,5,7}, float[3] b = "
     "{0.5773502692,-0.894427191,2.2677868381}, float[3] m = {1,-1,1.5}> { n = BatchNormalization <epsilon = 0.0> (x, s, b, m, var)  y = "
     "Conv <pads = [1,1,1,1]> (n, W) }",
     1},
    {"F69bShiftInOneChannel",
     "g (float[2,3,5,6] x) => (float[2,4,5,6] y) <float[4,3,3,3] W, float[3] s = {1,2,4}, float[3] var = {4,4,4}, float[3] b = "
     "{0.5,-1,3.01}, float[3] m = {1,-1,1.5}> { n = BatchNormalization <epsilon = 0.0> (x, s, b, m, var)  y = Conv <pads = [1,1,1,1]> (n, "
     "W) }",
     0, Reason::pads_with_shift},
    {"F70aSameUpper", downstream_of_bn("float[4,3,3,3] W", "y = Conv <auto_pad = \"SAME_UPPER\"> (n, W)", "float[2,4,5,6] y"), 0,
     Reason::pads_with_shift},
    {"F70bSameOfAPoint", downstream_of_bn("float[4,3,1,1] W", "y = Conv <auto_pad = \"SAME_LOWER\"> (n, W)", "float[2,4,5,6] y"), 1},
    {"F70bSameThatPadsNothing",
     "g (float[2,3,6,6] x) => (float[2,4,3,3] y) <float[4,3,2,2] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Conv <auto_pad = \"SAME_UPPER\", strides = [2,2]> (n, W) }",
     1},
    {"F70cTapsThatCancel",
     "g (float[1,1,5,6] x) => (float[1,1,5,6] y) <float[1,1,1,2] W = {1.0,-1.0}, " + parameters(1) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Conv <pads = [0,0,0,1]> (n, W) }",
     0, Reason::pads_with_shift},
    {"F71aTransposedNoShift",
     "g (float[2,6,3,3] x) => (float[2,10,5,5] y) <float[6,5,3,3] W, float[6] s, float[6] var, float[6] b = {0,0,0,0,0,0}, float[6] m = "
     "{0,0,0,0,0,0}> { n = BatchNormalization (x, s, b, m, var)  y = ConvTranspose <group = 2> (n, W) }",
     1},
    {"F71bTransposedShift",
     "g (float[2,3,3,3] x) => (float[2,4,5,5] y) <float[3,4,3,3] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = ConvTranspose (n, W) }",
     0, Reason::pads_with_shift},
    {"F71cTransposedPoint",
     "g (float[2,6,3,3] x) => (float[2,8,3,3] y) <float[6,4,1,1] W, float[8] B, " + parameters(6) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = ConvTranspose <group = 2> (n, W, B) }",
     1},
    {"F71dTransposedOneTapPerPhase",
     "g (float[2,3,3,3] x) => (float[2,4,6,6] y) <float[3,4,2,2] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = ConvTranspose <strides = [2,2]> (n, W) }",
     0, Reason::pads_with_shift},
    {"F72TwoConvolutions",
     downstream_of_bn("float[4,3,3,3] W, float[5,3,1,1] V, float[5] B", "y = Conv (n, W)  z = Conv (n, V, B)",
                      "float[2,4,3,4] y, float[2,5,5,6] z"),
     1},
    {"F72TwoConvolutionsOfOneWeight",
     downstream_of_bn("float[4,3,3,3] W, float[4] B", "y = Conv (n, W, B)  z = Conv (n, W, B)", "float[2,4,3,4] y, float[2,4,3,4] z"), 1},
    {"F73aAnotherReader", downstream_of_bn("float[4,3,1,1] W", "y = Conv (n, W)  z = Relu (n)", "float[2,4,5,6] y, float[2,3,5,6] z"), 0,
     Reason::affine_output_shared},
    {"F73aOneOfTwoIsPadded",
     downstream_of_bn("float[4,3,3,3] W", "y = Conv (n, W)  z = Conv <pads = [1,1,1,1]> (n, W)", "float[2,4,3,4] y, float[2,4,5,6] z"), 0,
     Reason::affine_output_shared},
    {"F73bGraphOutput", downstream_of_bn("float[4,3,3,3] W", "y = Conv (n, W)", "float[2,4,3,4] y, float[2,3,5,6] n"), 0,
     Reason::affine_output_shared},
    {"F74Relu", downstream_of_bn("float[4,3,3,3] W", "r = Relu (n)  y = Conv (r, W)"), 0, Reason::nonlinear_between},
    {"F75ForwardWhereBackwardIsShared",
     "g (float[2,3,5,6] x) => (float[2,4,3,4] y, float[2,3,5,6] z) <float[3,3,1,1] V, float[4,3,3,3] W, " + parameters(3) +
         "> { c = Conv (x, V)  z = Relu (c)  n = BatchNormalization (c, s, b, m, var)  y = Conv (n, W) }",
     1},
    {"F76RunTimeWeight",
     "g (float[2,3,5,6] x, float[4,3,3,3] W) => (float[2,4,3,4] y) <" + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Conv (n, W) }",
     0, Reason::not_constant},
    {"F76OverridableWeight",
     "g (float[2,3,5,6] x, float[4,3,3,3] W) => (float[2,4,3,4] y) <float[4,3,3,3] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Conv (n, W) }",
     0, Reason::overridable},
    {"F77aReshapeOfAFreeBatch",
     "g (float[N,3,5,6] x) => (float[N,5] y) <float[90,5] W, int64[2] t = {-1,90}, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  f = Reshape (n, t)  y = Gemm (f, W) }",
     1},
    {"F77aFlattenGemm", downstream_of_bn("float[90,5] W, float[5] B", "f = Flatten (n)  y = Gemm (f, W, B)", "float[2,5] y"), 1},
    {"F77aFlattenGemmTransposed", downstream_of_bn("float[5,90] W", "f = Flatten (n)  y = Gemm <transB = 1> (f, W)", "float[2,5] y"), 1},
    {"F77aReshapeGemm",
     downstream_of_bn("float[90,5] W, float[5] B, int64[2] t = {2,-1}", "f = Reshape (n, t)  y = Gemm (f, W, B)", "float[2,5] y"), 1},
    {"F77aFlattenWithFreeBatch",
     "g (float[N,3,5,6] x) => (float[N,5] y) <float[90,5] W, float[5] B, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  f = Flatten (n)  y = Gemm (f, W, B) }",
     1},
    {"F77bGemm",
     "g (float[2,3] x) => (float[2,5] y) <float[3,5] W, float[5] B, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Gemm <alpha = 0.5, beta = 3.0> (n, W, B) }",
     1},
    {"F77bGemmWithoutC",
     "g (float[2,3] x) => (float[2,5] y) <float[5,3] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Gemm <alpha = 0.5, transB = 1> (n, W) }",
     1},
    {"F77bGemmWithMatrixC",
     "g (float[2,3] x) => (float[2,5] y) <float[3,5] W, float[2,1] C, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Gemm <beta = 0.5> (n, W, C) }",
     1},
    {"F77cGemmTransA",
     "g (float[3,3] x) => (float[3,5] y) <float[3,5] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = Gemm <transA = 1> (n, W) }",
     0, Reason::channel_axis_moved},
    {"F77dMatMul",
     "g (float[2,3] x) => (float[2,5] y) <float[3,5] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = MatMul (n, W) }",
     1},
    {"F77dMatMulWithAdd",
     "g (float[2,3] x) => (float[2,5] y) <float[3,5] W, float[5] B, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  p = MatMul (n, W)  y = Add (p, B) }",
     1},
    {"F77eMatMulOverAnotherAxis",
     "g (float[2,3,3] x) => (float[2,3,5] y) <float[3,5] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = MatMul (n, W) }",
     0, Reason::channel_axis_moved},
    {"F77eMatMulOnTheLeft",
     "g (float[2,3,4] x) => (float[2,5,4] y) <float[5,3] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  y = MatMul (W, n) }",
     1},
    {"F78aPad", downstream_of_bn("float[4,3,3,3] W, int64[8] p = {0,0,1,1,0,0,1,1}", "q = Pad (n, p)  y = Conv (q, W)", "float[2,4,5,6] y"),
     0, Reason::pads_with_shift},
    {"F78bPadReflect",
     downstream_of_bn("float[4,3,3,3] W, int64[8] p = {0,0,1,1,0,0,1,1}", "q = Pad <mode = \"reflect\"> (n, p)  y = Conv (q, W)",
                      "float[2,4,5,6] y"),
     1},
    {"F78bPadEdge",
     downstream_of_bn("float[4,3,3,3] W, int64[8] p = {0,0,1,1,0,0,1,1}", "q = Pad <mode = \"edge\"> (n, p)  y = Conv (q, W)",
                      "float[2,4,5,6] y"),
     1},
    {"F78bPadEdgeOfSomeAxes",
     downstream_of_bn("float[4,3,3,3] W, int64[4] p = {1,1,1,1}, int64[2] a = {2,-1}",
                      "q = Pad <mode = \"edge\"> (n, p, , a)  y = Conv (q, W)", "float[2,4,5,6] y"),
     1,
     {},
     18},
    {"F79OneBranchOfConcat",
     "g (float[2,3,5,6] x, float[2,2,5,6] z) => (float[2,4,3,4] y) <float[4,5,3,3] W, " + parameters(3) +
         "> { n = BatchNormalization (x, s, b, m, var)  q = Concat <axis = 1> (n, z)  y = Conv (q, W) }",
     0, Reason::concat_branch},
    {"F80Identity", downstream_of_bn("float[4,3,3,3] W", "i = Identity (n)  y = Conv (i, W)"), 1},
    {"F80Dropout", downstream_of_bn("float[4,3,3,3] W", "i = Dropout (n)  y = Conv (i, W)"), 1},
    {"F80TransposePair",
     downstream_of_bn("float[4,3,3,3] W", "i = Transpose <perm = [0,2,3,1]> (n)  j = Transpose <perm = [0,3,1,2]> (i)  y = Conv (j, W)"),
     1},
    {"F80GlobalAverage",
     downstream_of_bn("float[3,5] W, float[5] B", "q = GlobalAveragePool (n)  f = Flatten (q)  y = Gemm (f, W, B)", "float[2,5] y"), 1},
    {"F80ThroughAGemmOfKnownSize",
     "g (float[2,4] x) => (float[2,6] y, float[2,3] c) <float[4,3] V, float[3] k, float[3,6] W, float[6] B> { c = Gemm (x, V)  n = Mul (k, "
     "c) "
     " y = Gemm (n, W, B) }",
     1},
    {"F80ThroughAPadOfKnownSize",
     "g (float[2,3,5,6] x) => (float[2,4,7,8] y, float[2,3,7,8] q) <float[3,1,1] k, float[4,3,1,1] W, int64[8] p = {0,0,1,1,0,0,1,1}> { q "
     "= Pad "
     "(x, p)  n = Add (q, k)  y = Conv (n, W) }",
     1},
    {"F81NothingLinear", downstream_of_bn("float[1] w", "y = Relu (n)", "float[2,3,5,6] y"), 0, Reason::no_linear_neighbour},
    {"F81DownstreamOfMaxPool",
     "g (float[2,3,5,6] x) => (float[2,3,4,5] y) <" + parameters(3) +
         "> { q = MaxPool <kernel_shape = [2,2]> (x)  y = BatchNormalization (q, s, b, m, var) }",
     0, Reason::no_linear_neighbour},
};

std::string name_of_case(const ::testing::TestParamInfo<FoldCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Cases, FoldUpstream, ::testing::ValuesIn(kCases), name_of_case);

}  // namespace
}  // namespace relayout::test
