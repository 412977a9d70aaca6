// Tests folds through other operators.

#include "relayout/findings.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"

namespace relayout::test {
namespace {

class FoldThrough : public ::testing::TestWithParam<FoldCase> {};

TEST_P(FoldThrough, Case) {
  expect_case(GetParam());
}

/// x [2,3,5,6] → Conv to c [2,4,3,4] → body; BatchNormalization's parameters of 4 channels.
std::string conv(const std::string& body, const std::string& result = "float[2,4,3,4] y", const std::string& listed = "") {
  return "g (float[2,3,5,6] x) => (" + result + ") <float[4,3,3,3] W, float[4] B, " + parameters(4) + (listed.empty() ? "" : ", ") +
         listed + "> { c = Conv (x, W, B)  " + body + " }";
}

const std::string kBn = "BatchNormalization (d, s, b, m, var)";

const std::vector<FoldCase> kCases = {
    {"F17ShapeReadsIt", conv("y = BatchNormalization (c, s, b, m, var)  z = Shape (c)", "float[2,4,3,4] y, int64[4] z"), 1, {}},
    {"F48aQuantizedBetween",
     conv("q = QuantizeLinear (c, r, o)  d = DequantizeLinear (q, r, o)  y = " + kBn, "float[2,4,3,4] y",
          "float r = {0.25}, uint8 o = {128}"),
     0, Reason::quantized},
    {"F48bConvInteger",
     "g (uint8[2,3,5,6] x) => (float[2,4,3,4] y) <int8[4,3,3,3] W, " + parameters(4) +
         "> { c = ConvInteger (x, W)  d = Cast <to = 1> (c)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::quantized},
    {"F48cDynamicallyQuantized",
     "g (float[2,3,5,6] x) => (float[2,4,3,4] y) <int8[4,3,3,3] W, float w = {0.01}, " + parameters(4) +
         "> { q, r, o = DynamicQuantizeLinear (x)  c = ConvInteger (q, W, o)  f = Cast <to = 1> (c)  k = Mul (r, w)  d = Mul (f, k)  "
         "y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::quantized},
    {"F48dQuantizedUpstreamAndAReluDownstream",
     "g (uint8[2,3,5,6] x) => (float[2,4,3,4] y) <int8[4,3,3,3] W, float[4,4,1,1] V, float r = {0.25}, uint8 o = {128}, int8 p = {0}, " +
         parameters(4) +
         "> { c = QLinearConv (x, r, o, W, r, p, r, o)  d = DequantizeLinear (c, r, o)  e = BatchNormalization (d, s, b, m, var)  "
         "f = Relu (e)  y = Conv (f, V) }",
     0, Reason::quantized},
    {"F48eScalesAreNoAffines",
     "g (float[2,3,5,6] x, float[4,3,3,3] v) => (float[2,4,3,4] z, float k) <float w = {0.01}> { "
     "c = Conv (x, v)  q, r, o = DynamicQuantizeLinear (c)  k = Mul (r, w)  z = DequantizeLinear (q, k, o) }",
     0,
     {},
     17,
     true},
    {"F52bTwoEqual",
     conv("y = BatchNormalization (c, s, b, m, var)  z = BatchNormalization (c, s, b, m, var)", "float[2,4,3,4] y, float[2,4,3,4] z"), 0,
     Reason::operator_output_shared},
    {"F82Identities", conv("d = Identity (c)  e = " + kBn + "  y = Identity (e)"), 1},
    {"F83aDropout7", conv("d = Dropout (c)  y = " + kBn), 1, {}, 8},
    {"F83aDropout10", conv("d = Dropout (c)  y = " + kBn), 1, {}, 11},
    {"F83aDropout12", conv("d = Dropout (c)  y = " + kBn), 1, {}, 13},
    {"F83aDropout12NotTraining", conv("d = Dropout (c, r, t)  y = " + kBn, "float[2,4,3,4] y", "float r = {0.5}, bool t = {0}"), 1, {}, 13},
    {"F83bDropout10WithRatio", conv("d = Dropout <ratio = 0.5> (c)  y = " + kBn), 1, {}, 10},
    {"F84aTrainingDropout", conv("d = Dropout (c, r, t)  y = " + kBn, "float[2,4,3,4] y", "float r = {0.5}, bool t = {1}"), 0,
     Reason::training_mode, 13},
    {"F84bDropout6", conv("d = Dropout (c)  y = BatchNormalization <is_test = 1> (d, s, b, m, var)"), 0, Reason::training_mode, 6},
    {"F85MaskIsRead", conv("d, k = Dropout (c)  y = " + kBn + "  z = Not (k)", "float[2,4,3,4] y, bool[2,4,3,4] z"), 0,
     Reason::operator_output_shared, 13},
    {"F86aTransposeThatKeepsTheChannel", conv("d = Transpose <perm = [0,1,3,2]> (c)  y = " + kBn, "float[2,4,4,3] y"), 1},
    {"F86bTransposePair", conv("t = Transpose <perm = [0,2,3,1]> (c)  d = Transpose <perm = [0,3,1,2]> (t)  y = " + kBn), 1},
    {"F86cNhwcMulAdd", conv("t = Transpose <perm = [0,2,3,1]> (c)  u = Mul (t, s)  y = Add (u, b)", "float[2,3,4,4] y"), 2},
    {"F87aAnotherAxis",
     "g (float[2,3,5,6] x) => (float[2,3,4,4] y) <float[4,3,3,3] W, " + parameters(3) +
         "> { c = Conv (x, W)  d = Transpose <perm = [0,2,1,3]> (c)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::channel_axis_moved},
    {"F87bAnotherAxisOfTheSameSize",
     "g (float[2,3,6,6] x) => (float[2,4,4,4] y) <float[4,3,3,3] W, " + parameters(4) +
         "> { c = Conv (x, W)  d = Transpose <perm = [0,2,1,3]> (c)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::channel_axis_moved},
    {"F88aReshapeMergesSpace", conv("d = Reshape (c, n)  y = " + kBn, "float[2,4,12] y", "int64[3] n = {2,4,-1}"), 1},
    {"F88aReshapeKeepsByZeros", conv("d = Reshape (c, n)  y = " + kBn, "float[2,4,12] y", "int64[3] n = {0,0,-1}"), 1},
    {"F88aReshapeOfAFreeBatch",
     "g (float[N,3,5,6] x) => (float[N,4,12] y) <float[4,3,3,3] W, int64[3] n = {-1,4,12}, " + parameters(4) +
         "> { c = Conv (x, W)  d = Reshape (c, n)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F88bUnsqueeze",
     "g (float[2,3,7] x) => (float[2,4,1,5] y) <float[4,3,3] W, int64[1] a = {2}, " + parameters(4) +
         "> { c = Conv (x, W)  d = Unsqueeze (c, a)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F88bSqueeze",
     "g (float[2,3,7] x) => (float[2,4] y) <float[4,3,7] W, int64[1] a = {-1}, " + parameters(4) +
         "> { c = Conv (x, W)  d = Squeeze (c, a)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F88bSqueezeWithoutAxes",
     "g (float[2,3,7,1] x) => (float[2,4,5] y) <float[4,3,3,1] W, " + parameters(4) +
         "> { c = Conv (x, W)  d = Squeeze (c)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F88aReshapeThatLeavesTheBatchOpen",
     "g (float[N,3,5,6] x) => (float[N,4,12] y) <float[4,3,3,3] W, int64[3] n = {-1,4,12}, " + parameters(4) +
         "> { c = Conv (x, W)  d = Reshape (c, n)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F88bSqueezeOfAFreeBatch",
     "g (float[N,3,7] x) => (float[N,4] y) <float[4,3,7] W, int64[1] a = {2}, " + parameters(4) +
         "> { c = Conv (x, W)  d = Squeeze (c, a)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F89aGlobalAverageFlatten", conv("g = GlobalAveragePool (c)  d = Flatten (g)  y = " + kBn, "float[2,4] y"), 1},
    {"F89bFlattenOfSpace",
     "g (float[2,3,5,6] x) => (float[2,48] y) <float[4,3,3,3] W, " + parameters(48) +
         "> { c = Conv (x, W)  d = Flatten (c)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::channel_axis_moved},
    {"F89cMergesBatchAndChannels",
     "g (float[2,3,5,6] x) => (float[1,8,3,4] y) <float[4,3,3,3] W, int64[4] n = {1,8,3,4}, " + parameters(8) +
         "> { c = Conv (x, W)  d = Reshape (c, n)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::channel_axis_moved},
    {"F89cSplitsChannels",
     "g (float[2,3,5,6] x) => (float[2,2,2,3,4] y) <float[4,3,3,3] W, int64[5] n = {2,2,2,3,4}, " + parameters(2) +
         "> { c = Conv (x, W)  d = Reshape (c, n)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::channel_axis_moved},
    {"F90aConcat",
     "g (float[2,3,5,6] x) => (float[2,6,3,4] y) <float[4,3,3,3] W, float[2,3,3,3] V, float[2] B, " + parameters(6) +
         "> { c = Conv (x, W)  e = Conv (x, V, B)  d = Concat <axis = 1> (c, e)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F90bConcatFromTheBack",
     "g (float[2,4,5,6] x) => (float[2,10,5,6] y) <float[4,4,1,1] W, float[4,3,1,1] V, " + parameters(10) +
         "> { c = Conv (x, W)  e = ConvTranspose <group = 2> (x, V)  d = Concat <axis = -3> (c, e)  y = BatchNormalization (d, s, b, m, "
         "var) }",
     1},
    {"F90aConcatOfFolded",
     "g (float[2,3,5,6] x) => (float[2,6,3,4] y) <float[4,3,3,3] W, float[2,3,3,3] V, float[4,1,1] k, " + parameters(6) + ", " +
         parameters(2, "2") +
         "> { c = Conv (x, W)  f = Mul (c, k)  e = Conv (x, V)  h = BatchNormalization (e, s2, b2, m2, var2)  d = Concat <axis = 1> (f, h) "
         " "
         "y = BatchNormalization (d, s, b, m, var) }",
     3},
    {"F90cConcatWithTheInput",
     "g (float[2,3,5,6] x) => (float[2,7,5,6] y) <float[4,3,1,1] W, " + parameters(7) +
         "> { c = Conv (x, W)  d = Concat <axis = 1> (c, x)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::concat_branch},
    {"F90dConcatOfAShared",
     "g (float[2,3,5,6] x) => (float[2,6,3,4] y, float[2,2,3,4] z) <float[4,3,3,3] W, float[2,3,3,3] V, " + parameters(6) +
         "> { c = Conv (x, W)  e = Conv (x, V)  z = Relu (e)  d = Concat <axis = 1> (c, e)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::concat_branch},
    {"F90eConcatWithItself",
     conv("d = Concat <axis = 1> (c, c)  y = BatchNormalization (d, s8, b8, m8, var8)", "float[2,8,3,4] y", parameters(8, "8")), 0,
     Reason::concat_branch},
    {"F91ConcatAlongTheBatch",
     "g (float[2,3,5,6] x) => (float[4,4,3,4] y) <float[4,3,3,3] W, float[4,3,3,3] V, " + parameters(4) +
         "> { c = Conv (x, W)  e = Conv (x, V)  d = Concat <axis = 0> (c, e)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F91ConcatAlongHeight",
     "g (float[2,3,5,6] x) => (float[2,4,6,4] y) <float[4,3,3,3] W, float[4,3,3,3] V, " + parameters(4) +
         "> { c = Conv (x, W)  e = Conv (x, V)  d = Concat <axis = 2> (c, e)  y = BatchNormalization (d, s, b, m, var) }",
     1},
    {"F92aRelu", conv("d = Relu (c)  y = " + kBn), 0, Reason::nonlinear_between},
    {"F92bReluAndPositiveScale",
     "g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[4] s = {1,2,3,4}, float[4] z = {0,0,0,0}, float[4] var> { c = "
     "Conv "
     "(x, W)  d = Relu (c)  y = BatchNormalization (d, s, z, z, var) }",
     0, Reason::nonlinear_between},
    {"F93bMaxPoolAndPositiveScale",
     "g (float[2,3,5,6] x) => (float[2,4,2,3] y) <float[4,3,3,3] W, float[4] s = {1,2,3,4}, float[4] b, float[4] m, float[4] var> { c = "
     "Conv "
     "(x, W)  d = MaxPool <kernel_shape = [2,2]> (c)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::nonlinear_between},
    {"F97Resize", conv("d = Resize (c, , k)  y = " + kBn, "float[2,4,6,8] y", "float[4] k = {1,1,2,2}"), 0, Reason::nonlinear_between},
    {"F97DepthToSpace",
     "g (float[2,3,5,6] x) => (float[2,1,6,8] y) <float[4,3,3,3] W, " + parameters(1) +
         "> { c = Conv (x, W)  d = DepthToSpace <blocksize = 2> (c)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::channel_axis_moved},
    {"F97Slice", conv("d = Slice (c, i, j)  y = " + kBn, "float[2,4,3,4] y", "int64[1] i = {0}, int64[1] j = {2}"), 0,
     Reason::nonlinear_between},
    {"F92aSigmoid", conv("d = Sigmoid (c)  y = " + kBn), 0, Reason::nonlinear_between},
    {"F92aClip", conv("d = Clip (c)  y = " + kBn), 0, Reason::nonlinear_between},
    {"F93aMaxPool", conv("d = MaxPool <kernel_shape = [2,2]> (c)  y = " + kBn, "float[2,4,2,3] y"), 0, Reason::nonlinear_between},
    {"F94aAveragePool", conv("d = AveragePool <kernel_shape = [2,2]> (c)  y = " + kBn, "float[2,4,2,3] y"), 1},
    {"F94aAveragePoolThatLeavesOutPads",
     conv("d = AveragePool <kernel_shape = [2,2], pads = [1,1,0,0]> (c)  y = " + kBn, "float[2,4,3,4] y"), 1},
    {"F94bAveragePoolOverPads",
     conv("d = AveragePool <kernel_shape = [2,2], pads = [1,1,0,0], count_include_pad = 1> (c)  y = " + kBn, "float[2,4,3,4] y"), 0,
     Reason::pads_with_shift},
    {"F95aPad", conv("d = Pad (c, p)  y = " + kBn, "float[2,4,5,6] y", "int64[8] p = {0,0,1,1,0,0,1,1}"), 0, Reason::pads_with_shift},
    {"F95bPadWithoutShift",
     "g (float[2,3,5,6] x) => (float[2,4,5,6] y) <float[4,3,3,3] W, float[4,1,1] k, int64[8] p = {0,0,1,1,0,0,1,1}> { c = Conv (x, W)  d = "
     "Pad (c, p)  y = Mul (d, k) }",
     1},
    {"F95bPadReflect", conv("d = Pad <mode = \"reflect\"> (c, p)  y = " + kBn, "float[2,4,5,6] y", "int64[8] p = {0,0,1,1,0,0,1,1}"), 1},
    {"F95bPadReflectOfAxesIn32Bits",
     conv("d = Pad <mode = \"reflect\"> (c, p, , a)  y = " + kBn, "float[2,4,5,6] y", "int64[4] p = {1,1,1,1}, int32[2] a = {-2,3}"),
     1,
     {},
     18},
    {"F95cPadOfChannels",
     "g (float[2,3,5,6] x) => (float[2,6,3,4] y) <float[4,3,3,3] W, int64[8] p = {0,1,0,0,0,1,0,0}, " + parameters(6) +
         "> { c = Conv (x, W)  d = Pad (c, p)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::channel_axis_moved},
    {"F96aResidual",
     "g (float[2,3,5,6] x, float[2,4,3,4] r) => (float[2,4,3,4] y) <float[4,3,3,3] W, " + parameters(4) +
         "> { c = Conv (x, W)  d = Add (c, r)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::residual},
    {"F96bSumOfTwo",
     "g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[4,3,3,3] V, " + parameters(4) +
         "> { c = Conv (x, W)  e = Conv (x, V)  d = Add (c, e)  y = BatchNormalization (d, s, b, m, var) }",
     0, Reason::residual},
    {"F99InstanceNormalization", conv("y = InstanceNormalization (c, s, b)"), 0, Reason::not_affine},
    {"F99LayerNormalization", conv("y = LayerNormalization (c, s, b)"), 0, Reason::not_affine},
};

std::string name_of_case(const ::testing::TestParamInfo<FoldCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Cases, FoldThrough, ::testing::ValuesIn(kCases), name_of_case);

TEST(FoldThrough, F98CustomDomain) {
  const PassResult result = expect_skip(
      kFoldBatchNorm, TextModel(conv("d = other.Thing (c)  y = " + kBn), R"(<ir_version: 8, opset_import: ["" : 17, "other" : 1]>)"),
      Reason::unknown_op_between);
  EXPECT_EQ(result.count("BatchNormalization"), 1);
}

}  // namespace
}  // namespace relayout::test
