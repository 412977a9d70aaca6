// Tests folds of affines per channel.

#include <gmock/gmock.h>

#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FoldAffine : public ::testing::TestWithParam<FoldCase> {};

TEST_P(FoldAffine, Case) {
  expect_case(GetParam());
}

/// x [2,3,5,6] → Conv to c [2,4,3,4] → body.
std::string conv(const std::string& body, const std::string& listed, const std::string& result = "float[2,4,3,4] y") {
  return "g (float[2,3,5,6] x) => (" + result + ") <float[4,3,3,3] W, float[4] B" + (listed.empty() ? "" : ", ") + listed +
         "> { c = Conv (x, W, B)  " + body + " }";
}
std::string upstream_of_conv(const std::string& body, const std::string& listed, const std::string& result = "float[2,4,3,4] y") {
  return "g (float[2,3,5,6] x) => (" + result + ") <float[4,3,3,3] W, " + listed + "> { " + body + " }";
}

const std::string kC = "float[4,1,1] k";

const std::vector<FoldCase> kCases = {
    {"F100aMulAdd", conv("d = Mul (c, k)  y = Add (d, t)", "float[1,4,1,1] k, float[1,4,1,1] t"), 2},
    {"F100aMulAddWithoutBias",
     "g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[1,4,1,1] k, float[1,4,1,1] t> { c = Conv (x, W)  d = Mul (c, k)  "
     "y = Add (d, t) }",
     2},
    {"F100bOfRankThree", conv("d = Mul (c, k)  y = Add (d, t)", "float[4,1,1] k, float[4,1,1] t"), 2},
    {"F100cScalars", conv("d = Mul (c, k)  e = Add (d, t)  y = Mul (e, u)", "float k, float[1] t, float[1,1,1,1] u"), 3},
    {"F101aAlongWidth", conv("y = Mul (c, k)", "float[4] k"), 0, Reason::not_per_channel},
    {"F101bGrowsInWidth", "g (float[2,3,5,3] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[4] k> { c = Conv (x, W)  y = Mul (c, k) }",
     0, Reason::broadcast_grows},
    {"F101bMayGrowInWidth", "g (float[2,3,5,M] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[4] k> { c = Conv (x, W)  y = Mul (c, k) }",
     0, Reason::broadcast_grows},
    {"F101cAlongHeight",
     "g (float[2,3,6,6] x) => (float[2,4,4,4] y) <float[4,3,3,3] W, float[1,1,4,1] k> { c = Conv (x, W)  y = Add (c, k) }", 0,
     Reason::not_per_channel},
    {"F102aRankFive", conv("y = Mul (c, k)", "float[1,1,4,1,1] k", "float[1,2,4,3,4] y"), 0, Reason::broadcast_grows},
    {"F102aRankFiveScalar", conv("y = Mul (c, k)", "float[1,1,1,1,1] k", "float[1,2,4,3,4] y"), 0, Reason::broadcast_grows},
    {"F102bOneChannelGrows",
     "g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[1,3,3,3] W, float[1,4,1,1] k> { c = Conv (x, W)  y = Mul (c, k) }", 0,
     Reason::broadcast_grows},
    {"F103aPerSample", conv("y = Mul (c, k)", "float[2,4,1,1] k"), 0, Reason::not_per_channel},
    {"F103bBatchGrows",
     "g (float[1,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[2,4,1,1] k> { c = Conv (x, W)  y = Mul (c, k) }", 0,
     Reason::broadcast_grows},
    {"F104aPerPosition", conv("y = Mul (c, k)", "float[1,4,3,4] k"), 0, Reason::not_per_channel},
    {"F104bEqualWithinAChannel",
     "g (float[1,3,4,4] x) => (float[1,2,2,2] y) <float[2,3,3,3] W, float[1,2,2,2] k = {3,3,3,3,5,5,5,5}> { c = Conv (x, W)  y = Mul (c, "
     "k) }",
     0, Reason::not_per_channel},
    {"F105aMulFromTheLeft", conv("y = Mul (k, c)", kC), 1},
    {"F105aAddFromTheLeft", conv("y = Add (k, c)", kC), 1},
    {"F105bSub", conv("y = Sub (c, k)", kC), 1},
    {"F105cSubFrom", conv("y = Sub (k, c)", kC), 1},
    {"F105dDiv", conv("y = Div (c, k)", "float[4,1,1] k = {3.0,0.7,-1.5,11.0}"), 1},
    {"F106aDividesAConstant", conv("y = Div (k, c)", kC), 0, Reason::not_affine},
    {"F106bDivByZero", conv("y = Div (c, k)", "float[4,1,1] k = {3.0,0.0,-1.5,11.0}"), 0, Reason::non_finite},
    {"F107Neg", conv("y = Neg (c)", ""), 1},
    {"F108aSquare", conv("y = Mul (c, c)", ""), 0, {}, 17, true},
    {"F108aPow", conv("y = Pow (c, k)", "float k = {2.0}"), 0, Reason::not_affine},
    {"F108aSqrt", conv("y = Sqrt (c)", ""), 0, Reason::not_affine},
    {"F108bTwice", conv("y = Add (c, c)", ""), 0, Reason::operator_output_shared},
    {"F109Gate",
     "g (float[2,3,5,6] x, float[2,4,1,1] g) => (float[2,4,3,4] y) <float[4,3,3,3] W> { c = Conv (x, W)  y = Mul (c, g) }",
     0,
     {},
     17,
     true},
    {"F109SqueezeAndExcitation", conv("p = GlobalAveragePool (c)  q = Sigmoid (p)  y = Mul (c, q)", ""), 0, {}, 17, true},
    {"F109HardSwish", conv("h = HardSigmoid (c)  y = Mul (c, h)", ""), 0, {}, 17, true},
    {"F110Chain",
     conv("d = Add (c, k)  e = BatchNormalization (d, s, b, m, var)  f = Mul (e, l)  h = Sub (f, n)  i = Div (h, o)  y = Add (i, p)",
          kC + ", " + parameters(4) + ", float[1,4,1,1] l, float n, float[4,1,1] o = {3.0,0.7,-1.5,11.0}, float[1,4,1,1] p"),
     6},
    {"F111aTransposedGroups",
     "g (float[2,6,3,3] x) => (float[2,10,5,5] y) <float[6,5,3,3] W, float[10,1,1] k, float[1,10,1,1] t> { c = ConvTranspose <group = 2> "
     "(x, W)  d = Mul (c, k)  y = Add (d, t) }",
     2},
    {"F111bOneDim", "g (float[2,3,9] x) => (float[2,4,7] y) <float[4,3,3] W, float[4,1] k> { c = Conv (x, W)  y = Mul (c, k) }", 1},
    {"F111bThreeDims",
     "g (float[2,3,4,5,6] x) => (float[2,4,3,4,5] y) <float[4,3,2,2,2] W, float[1,4,1,1,1] k> { c = Conv (x, W)  y = Add (c, k) }", 1},
    {"F111cAlongLength", "g (float[2,3,6] x) => (float[2,4,4] y) <float[4,3,3] W, float[4] k> { c = Conv (x, W)  y = Add (c, k) }", 0,
     Reason::not_per_channel},
    {"F112aOpset6",
     conv("d = Mul <broadcast = 1, axis = 1> (c, k)  y = Add <broadcast = 1, axis = 1> (d, t)", "float[4] k, float[4] t"),
     2,
     {},
     6},
    {"F112bOpset6Suffix", conv("y = Add <broadcast = 1> (c, k)", "float[4] k"), 0, Reason::not_per_channel, 6},
    {"F113Sum", conv("y = Sum (c, k)", kC), 1},
    {"F114InputIsGraphOutput", conv("y = Mul (c, k)", kC, "float[2,4,3,4] y, float[2,4,3,4] c"), 0, Reason::operator_output_visible},
    {"F115aMulUpstreamOfPadded",
     upstream_of_conv("n = Mul (x, k)  y = Conv <pads = [1,1,1,1]> (n, W)", "float[3,1,1] k", "float[2,4,5,6] y"), 1},
    {"F115bDivByScalar", upstream_of_conv("n = Div (x, k)  y = Conv <pads = [1,1,1,1]> (n, W)", "float k = {255.0}", "float[2,4,5,6] y"),
     1},
    {"F115bOfUnknownBatchAndSpace",
     "g (float[N,3,H,L] x) => (float[N,4,H,L] y) <float[4,3,3,3] W, float[1,3,1,1] k = {0.5,2.0,3.0}> { n = Div (x, k)  y = Conv <pads = "
     "[1,1,1,1]> (n, W) }",
     1},
    {"F116aSubDivUnpadded",
     upstream_of_conv("n = Sub (x, k)  d = Div (n, l)  y = Conv (d, W)", "float[1,3,1,1] k, float[1,3,1,1] l = {0.5,2.0,3.0}"), 2},
    {"F116cDivSubPadded",
     upstream_of_conv("d = Div (x, k)  n = Sub (d, l)  y = Conv <pads = [1,1,1,1]> (n, W)",
                      "float[1,3,1,1] k = {0.5,2.0,3.0}, float[1,3,1,1] l", "float[2,4,5,6] y"),
     0, Reason::pads_with_shift},
    {"F116cMulReluPadded",
     upstream_of_conv("d = Mul (x, k)  n = Relu (d)  y = Conv <pads = [1,1,1,1]> (n, W)", "float[1,3,1,1] k", "float[2,4,5,6] y"), 0,
     Reason::nonlinear_between},
    {"F115aFactorsOfOne",
     upstream_of_conv("n = Mul (x, k)  y = Conv <pads = [1,1,1,1]> (n, W)", "float[3,1,1] k = {1.0,1.0,1.0}", "float[2,4,5,6] y"), 1},
    {"F115aFactorsOfZero", upstream_of_conv("n = Neg (x)  d = Mul (n, k)  y = Conv (d, W)", "float[3,1,1] k = {0.0,0.0,0.0}"), 2},
    {"F117ChannelGrowsUpstream",
     "g (float[2,1,5,6] x) => (float[2,6,3,4] y) <float[6,4,3,3] W, float[1,4,1,1] k> { n = Mul (x, k)  y = Conv (n, W) }", 0,
     Reason::broadcast_grows},
    {"F117ChannelMayGrowUpstream",
     "g (float[2,C,5,6] x) => (float[2,6,3,4] y) <float[6,4,3,3] W, float[1,4,1,1] k> { n = Mul (x, k)  y = Conv (n, W) }", 0,
     Reason::broadcast_grows},
    {"F117RankGrowsUpstream",
     "g (float[4,5,6] x) => (float[1,6,3,4] y) <float[6,4,3,3] W, float[1,1,1,1] k> { n = Mul (x, k)  y = Conv (n, W) }", 0,
     Reason::broadcast_grows},
    {"F136RankFollowsFromTheWeight",
     "g (float[8] x, int64[r] n) => (float[2,4,2] y) <float[4,2,1] W, " + parameters(4) +
         ", float[4,1] k> { d = Reshape (x, n)  c = Conv (d, W)  e = BatchNormalization (c, s, b, m, var)  y = Mul (e, k) }",
     2},
    {"F118aDecomposed",
     conv("w = Add (var, e)  u = Sqrt (w)  d = Sub (c, m)  f = Div (d, u)  h = Mul (f, s)  y = Add (h, b)",
          "float[4,1,1] var, float e = {0.001}, float[4,1,1] m, float[4,1,1] s, float[4,1,1] b"),
     4},
    {"F118bTensorFlow",
     conv("w = Add (var, e)  u = Sqrt (w)  r = Reciprocal (u)  a = Mul (r, s)  l = Mul (m, a)  t = Sub (b, l)  d = Mul (c, a)  y = Add (d, "
          "t)",
          "float[4,1,1] var, float e = {0.001}, float[4,1,1] m, float[4,1,1] s, float[4,1,1] b"),
     2},
    {"F118cPow",
     conv("w = Add (var, e)  u = Pow (w, q)  d = Sub (c, m)  f = Mul (d, u)  h = Mul (f, s)  y = Add (h, b)",
          "float[4,1,1] var, float e = {0.001}, float q = {-0.5}, float[4,1,1] m, float[4,1,1] s, float[4,1,1] b"),
     4},
    {"F119InstanceNormalizationInDisguise", conv("v = ReduceMean <axes = [2,3]> (c)  d = Sub (c, v)  y = Mul (d, s)", "float[4,1,1] s"), 0,
     Reason::operator_output_shared},
};

std::string name_of_case(const ::testing::TestParamInfo<FoldCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Cases, FoldAffine, ::testing::ValuesIn(kCases), name_of_case);

TEST(FoldAffine, F116bScaleIsFoldedShiftStays) {
  const TextModel before(upstream_of_conv("n = Sub (x, k)  d = Div (n, l)  y = Conv <pads = [1,1,1,1]> (d, W)",
                                          "float[1,3,1,1] k, float[1,3,1,1] l = {0.5,2.0,3.0}", "float[2,4,5,6] y"));
  const PassResult result = run(kFolds, before);
  EXPECT_EQ(result.count("Div"), 0);
  EXPECT_EQ(result.count("Sub"), 1);
  ASSERT_EQ(result.reasons().size(), 1U) << result.details();
  EXPECT_EQ(result.reasons()[0], Reason::pads_with_shift);
  expect_same(before, result, kFolds, {});
}

TEST(FoldAffine, F110LongChains) {
  constexpr int kLength = 40;
  for (const bool is_downstream : {true, false}) {
    std::string body, listed;
    for (int i = 0; i < kLength; ++i) {
      const std::string at = std::to_string(i);
      body += "v" + std::to_string(i + 1) + " = " + (i % 2 == 0 ? "Mul" : "Add") + " (v" + at + ", k" + at + ")  ";
      listed += std::string(", float[3,1,1] k") + at + (i % 2 == 0 ? " = {1.1,0.9,-1.0}" : "");
    }
    const std::string last = std::to_string(kLength);
    const std::string graph =
        is_downstream
            ? "g (float[2,3,5,6] x) => (float[2,3,5,6] v" + last + ") <float[3,3,1,1] W" + listed + "> { v0 = Conv (x, W)  " + body + "}"
            : "g (float[2,3,5,6] v0) => (float[2,3,5,6] y) <float[3,3,1,1] W" + listed + "> { " + body + "y = Conv (v" + last + ", W) }";
    const PassResult result = run(kFolds, graph);
    EXPECT_EQ(result.model->graph().nodes().size(), 1U) << result.details();
    expect_same(graph, result, kFolds, {});
  }
}

TEST(FoldAffine, F120OverflowOfFloat16) {
  TextModel before(conv("y = Mul (c, k)", "float[4,1,1] k = {60000.0,1.0,1.0,1.0}"));
  before.cast(DataType::float16).set("W", std::vector<double>(108, 4.0));
  const PassResult result = run(kFolds, before);
  ASSERT_EQ(result.reasons().size(), 1U) << result.details();
  EXPECT_EQ(result.reasons()[0], Reason::overflow);
}

/// (x + 1.5·2²³) − 1.5·2²³ rounds a float32 to whole numbers, which real arithmetic would not.
TEST(FoldAffine, AConstantThatRoundsItsOperandIsMeant) {
  for (const std::string chain : {"d = Add (c, k)  y = Sub (d, k)", "b = Mul (c, m)  d = Add (b, k)  e = Sub (d, k)  y = Div (e, m)"}) {
    const PassResult result = run(kFolds, conv(chain, "float k = {12582912.0}, float m = {16.0}"));
    EXPECT_EQ(result.count("Add") + result.count("Sub"), 2) << result.details();
    EXPECT_THAT(result.details(), HasSubstr("rounds its operand"));
  }
  TextModel half(conv("d = Add (c, k)  y = Sub (d, k)", "float k = {1536.0}"));
  half.cast(DataType::float16);
  EXPECT_EQ(run(kFolds, half).count("Sub"), 1);
  // A mean of images in bytes does not round.
  EXPECT_EQ(run(kFolds, conv("y = Sub (c, k)", "float k = {123.68}")).count("Sub"), 0);
}

TEST(FoldAffine, F110IntermediateOverflowIsHarmless) {
  TextModel before(conv("d = Mul (c, k)  y = Mul (d, l)", "float[4,1,1] k = {60000.0,1.0,1.0,1.0}, float l = {0.00006}"));
  before.cast(DataType::float16).set("W", std::vector<double>(108, 4.0));
  EXPECT_EQ(run(kFolds, before).count("Mul"), 0);
}

TEST(FoldAffineSelection, NonCandidatesAreNotReportedAsExcluded) {
  // A residual sum, the product of a gate, and an affine.
  const TextModel before =
      TextModel(conv("r = Conv (x, V)  d = Add (c, r)  e = Sigmoid (d)  f = Mul (d, e)  h = Conv (f, U)  y = Mul (h, k)",
                     "float[4,3,3,3] V, float[4,4,1,1] U, float[4,1,1] k"))
          .name_nodes();
  PassOptions options;
  options.only = {"none"};
  const PassResult result = run({"fold-affine"}, before, options);
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::excluded)) << result.details();
  EXPECT_THAT(result.details(), HasSubstr("Mul_6: skipped excluded"));
}

}  // namespace
}  // namespace relayout::test
