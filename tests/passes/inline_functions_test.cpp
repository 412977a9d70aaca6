#include <gmock/gmock.h>

#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/proof.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::vector<std::string> kPasses = {"inline-functions", "fold-batch-norm"};

/// x [2,3,5,6] → y [2,4,3,4], followed by the functions of domain "local", all of this opset.
TextModel calling(const std::string& body, const std::string& functions, const std::string& listed = "", int opset = 17) {
  const std::string head = "<ir_version: 9, opset_import: [\"\" : 17, \"local\" : 1]>";
  std::string all = functions;
  const std::string imports = "<opset_import: [\"\" : " + std::to_string(opset) + ", \"local\" : 1], domain: \"local\">";
  for (std::size_t at = all.find('%'); at != std::string::npos; at = all.find('%')) all.replace(at, 1, imports);
  const std::string more = listed.empty() ? "" : ", " + listed;
  return {"g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[4] B, " + parameters(4) + more + "> {" + body + "} " + all,
          head};
}

/// Expects that `norms` BatchNormalizations fold and that no call of a function is left. Attribute references are not computed here, only
/// proved.
PassResult expect_inlined(const TextModel& model, int norms, bool computes = true) {
  PassResult result = run(kPasses, model);
  EXPECT_EQ(result.count("BatchNormalization"), 0) << result.details() << to_text(*result.model);
  EXPECT_TRUE(result.model->functions().empty());
  int64_t folded = 0;
  for (const Finding& finding : result.findings)
    folded += finding.op_type == "BatchNormalization" && finding.verdict == Verdict::done ? 1 : 0;
  EXPECT_EQ(folded, norms);
  if (computes) expect_same(model, result, kPasses, {});
  for (const Unexplained& entry : prove(*model.load(), *result.model, {.digests = false}).unexplained) ADD_FAILURE() << entry.text;
  return result;
}

/// Expects that every call stays.
PassResult expect_left_alone(const TextModel& model) {
  PassResult result = run({"inline-functions"}, model);
  EXPECT_TRUE(result.bytes == model.bytes()) << to_text(*result.model);
  EXPECT_TRUE(result.findings.empty()) << result.details();
  return result;
}

TEST(InlineFunctions, F59aParametersAreInputs) {
  expect_inlined(calling("y = local.block (x, W, s, b, m, var)",
                         "% block (p, w, g, h, i, j) => (q) { c = Conv (p, w)  q = BatchNormalization (c, g, h, i, j) }"),
                 1);
}

TEST(InlineFunctions, F59bEachCallHasItsOwnResult) {
  const auto result =
      expect_inlined(calling("a = local.block (x, W, s, b, m, var)  d = local.block (x, V, s2, b2, m2, var2)  y = Add (a, d)",
                             "% block (p, w, g, h, i, j) => (q) { c = Conv (p, w)  q = BatchNormalization (c, g, h, i, j) }",
                             "float[4,3,3,3] V, " + parameters(4, "2")),
                     2);
  EXPECT_EQ(result.count("Conv"), 2);
}

TEST(InlineFunctions, F60aNormWithEpsilonOfTheCaller) {
  const TextModel model = calling("c = Conv (x, W, B)  y = local.norm <e = 0.25> (c, s, b, m, var)",
                                  "% norm <e> (p, g, h, i, j) => (q) { q = BatchNormalization <epsilon: float = @e> (p, g, h, i, j) }");
  const auto result = expect_inlined(model, 1, false);
  const auto weight = result.initializer("W");
  EXPECT_FLOAT_EQ(static_cast<float>(weight.front()), static_cast<float>(old_values(model, "W").front() * factor_of(model, 0, 0.25)));
}

TEST(InlineFunctions, F60aEpsilonByDefaultOrAbsent) {
  const TextModel model =
      calling("c = Conv (x, W, B)  y = local.norm (c, s, b, m, var)",
              "% norm <e: float = 0.5> (p, g, h, i, j) => (q) { q = BatchNormalization <epsilon: float = @e> (p, g, h, i, j) }");
  EXPECT_FLOAT_EQ(static_cast<float>(expect_inlined(model, 1, false).initializer("W").front()),
                  static_cast<float>(old_values(model, "W").front() * factor_of(model, 0, 0.5)));
  expect_inlined(calling("c = Conv (x, W, B)  y = local.norm (c, s, b, m, var)",
                         "% norm <e> (p, g, h, i, j) => (q) { q = BatchNormalization <epsilon: float = @e> (p, g, h, i, j) }"),
                 1, false);
}

TEST(InlineFunctions, F60bConvolutionInside) {
  expect_inlined(calling("c = local.conv (x, W)  y = BatchNormalization (c, s, b, m, var)", "% conv (p, w) => (q) { q = Conv (p, w) }"), 1);
}

TEST(InlineFunctions, F60ConvolutionAndNormInTwoFunctions) {
  expect_inlined(
      calling("c = local.conv (x, W)  y = local.norm (c, s, b, m, var)",
              "% conv (p, w) => (q) { q = Conv (p, w) } % norm (p, g, h, i, j) => (q) { q = BatchNormalization (p, g, h, i, j) }"),
      1);
}

TEST(InlineFunctions, FunctionsThatCallFunctions) {
  expect_inlined(calling("y = local.outer (x, W, s, b, m, var)",
                         "% norm (p, g, h, i, j) => (q) { q = BatchNormalization (p, g, h, i, j) } "
                         "% outer (p, w, g, h, i, j) => (q) { c = Conv (p, w)  q = local.norm (c, g, h, i, j) }"),
                 1);
}

TEST(InlineFunctions, NamesThatClash) {
  // The function uses the caller's names for different values.
  expect_inlined(
      calling("c = local.block (x, W, s, b, m, var)  y = Relu (c)",
              "% block (W, x, b, s, var, m) => (c) { y = Conv (W, x)  B = Identity (y)  c = BatchNormalization (B, b, s, var, m) }"),
      1);
}

TEST(InlineFunctions, ConstantsInsideComeAlong) {
  const auto result = expect_inlined(
      calling(
          "c = Conv (x, W)  y = local.norm (c)",
          "% norm (p) => (q) { g = Constant <value = float[4] {1, 2, 3, 4}> ()  h = Constant <value_floats = [0.5, 0.25, 0.125, 0.75]> () "
          " q = BatchNormalization (p, g, h, h, g) }"),
      1);
  EXPECT_EQ(result.count("Constant"), 0);
}

TEST(InlineFunctions, OutputsThatTheCallDoesNotUse) {
  const auto result =
      expect_inlined(calling("y, unused = local.block (x, W, s, b, m, var)",
                             "% block (p, w, g, h, i, j) => (q, r) { c = Conv (p, w)  q = BatchNormalization (c, g, h, i, j) "
                             " r = Sigmoid (q) }"),
                     1);
  EXPECT_EQ(result.count("Sigmoid"), 0);
}

TEST(InlineFunctions, InputPassedThroughAndOutputReturnedTwice) {
  expect_inlined(
      calling("a, d, k = local.block (x, W, s, b, m, var)  e = Add (a, d)  n = Conv (k, W)  y = Add (e, n)",
              "% block (p, w, g, h, i, j) => (q, q2, p) { c = Conv (p, w)  q = BatchNormalization (c, g, h, i, j)  q2 = Identity (q) }"),
      1);
}

TEST(InlineFunctions, F60FunctionsWithNestedGraphs) {
  const std::string function =
      "% block (p, w, g, h, i, j, k) => (q) { c = Conv (p, w)  n = BatchNormalization (c, g, h, i, j)  q = If (k) <then_branch = t () => "
      "(float[2,4,3,4] u) { "
      "u = Neg (n) }, else_branch = e () => (float[2,4,3,4] u2) { z = Abs (n)  u2 = Add (z, n) }> }";
  const auto result = expect_inlined(calling("y = local.block (x, W, s, b, m, var, k)", function, "bool k = {1}"), 1);
  EXPECT_EQ(result.count("If"), 1);
}

TEST(InlineFunctions, F60NormInABranchWithinAFunction) {
  expect_inlined(
      calling("y = local.block (x, W, s, b, m, var, k)",
              "% block (p, w, g, h, i, j, k) => (q) { q = If (k) <then_branch = t () => (float[2,4,3,4] u) { c = Conv (p, w) "
              " d = Sigmoid (c)  u = BatchNormalization (c, g, h, i, j) }, else_branch = e () => (float[2,4,3,4] u2) <float[4] v> "
              "{ c2 = Conv (p, w)  u2 = BatchNormalization (c2, g, v, i, j) }> }",
              "bool k = {1}"),
      2);
}

TEST(InlineFunctions, F60ThroughOtherAffines) {
  // The Mul is folded first; the BatchNormalization downstream must not be left to a second run.
  expect_inlined(
      calling("c = local.conv (x, W)  d = Mul (c, f)  y = local.norm (d, s, b, m, var)",
              "% conv (p, w) => (q) { q = Conv (p, w) } % norm (p, g, h, i, j) => (q) { q = BatchNormalization (p, g, h, i, j) }",
              "float[4,1,1] f"),
      1);
  expect_inlined(
      TextModel("g (float[2,4,5,6] x) => (float[2,4,3,4] y) <float[4,4,3,3] W, float[1,4,1,1] f, " + parameters(4) +
                    "> { n = local.norm (x, s, b, m, var)  d = Div (n, f)  y = Conv (d, W) } <opset_import: [\"\" : 17], domain: "
                    "\"local\"> norm (p, g, h, i, j) => (q) { q = BatchNormalization (p, g, h, i, j) }",
                "<ir_version: 9, opset_import: [\"\" : 17, \"local\" : 1]>"),
      1);
}

TEST(InlineFunctions, OpsetsInWhichTheOperatorsAreTheSame) {
  const std::string function = "% block (p, w, g, h, i, j) => (q) { c = Conv (p, w)  q = BatchNormalization (c, g, h, i, j) }";
  expect_inlined(calling("y = local.block (x, W, s, b, m, var)", function, "", 16), 1);
  // BatchNormalization changed with opset 14.
  expect_left_alone(calling("y = local.block (x, W, s, b, m, var)", function, "", 13));
}

TEST(InlineFunctions, CallsWhereNothingFoldsAcross) {
  // The BatchNormalization folds within the function.
  expect_left_alone(
      calling("y = local.block (x)",
              "% block (p) => (q) { k = Constant <value_ints = [4, 3, 3, 3]> ()  w = ConstantOfShape <value = float[1] {0.5}> (k) "
              " g = Constant <value = float[4] {1, 2, 3, 4}> ()  c = Conv (p, w)  q = BatchNormalization (c, g, g, g, g) }"));
  // No BatchNormalization; one whose parameters are not constant; one in training.
  expect_left_alone(calling("c = Conv (x, W)  y = local.act (c)", "% act (p) => (q) { q = Relu (p) }"));
  expect_left_alone(
      calling("k = ReduceMean <axes = [0, 2, 3], keepdims = 0> (x)  t = Concat <axis = 0> (k, one)  c = Conv (x, W) "
              " y = local.norm (c, t, b, m, var)",
              "% norm (p, g, h, i, j) => (q) { q = BatchNormalization (p, g, h, i, j) }", "float[1] one"));
  expect_left_alone(calling("c = Conv (x, W)  y = local.norm (c, s, b, m, var)",
                            "% norm (p, g, h, i, j) => (q) { q, k, l = BatchNormalization <training_mode = 1> (p, g, h, i, j) }"));
}

TEST(InlineFunctions, OnlyTheCallsThatNeedIt) {
  const TextModel model =
      calling("c = Conv (x, W)  n = local.norm (c, s, b, m, var)  r = Relu (n)  a = local.norm (r, s, b, m, var)  y = Relu (a)",
              "% norm (p, g, h, i, j) => (q) { q = BatchNormalization (p, g, h, i, j) }");
  const auto result = run(kPasses, model);
  EXPECT_EQ(result.count("norm"), 1) << to_text(*result.model);
  EXPECT_EQ(result.model->functions().size(), 1U);
  expect_same(model, result, kPasses, {});
}

TEST(InlineFunctions, ExcludedCallsStay) {
  PassOptions options;
  options.exclude = {"y"};
  const TextModel model = calling("y = local.block (x, W, s, b, m, var)",
                                  "% block (p, w, g, h, i, j) => (q) { c = Conv (p, w)  q = BatchNormalization (c, g, h, i, j) }");
  EXPECT_EQ(run(kPasses, model, options).count("block"), 1);
}

TEST(InlineFunctions, ImportsOfTheFunctionBecomeTheModels) {
  TextModel model("g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, " + parameters(4) +
                      "> { y = local.block (x, W, s, b, m, var) } <opset_import: [\"\" : 17, \"other\" : 3], domain: \"local\"> "
                      "block (p, w, g, h, i, j) => (q) { c = Conv (p, w)  n = BatchNormalization (c, g, h, i, j)  q = other.Thing (n) }",
                  "<ir_version: 9, opset_import: [\"\" : 17, \"local\" : 1]>");
  const auto result = run(kPasses, model);
  EXPECT_EQ(result.count("BatchNormalization"), 0);
  EXPECT_EQ(result.model->opset("other"), 3);
}

TEST(InlineFunctions, FunctionsThatMultiplyWithoutEndAreLeft) {
  // Each calls the next one twice: 2⁴⁰ nodes.
  std::string functions = "% f0 (p, g) => (q) { q = BatchNormalization (p, g, g, g, g) } ";
  for (int i = 1; i <= 40; ++i) {
    const std::string inner = "local.f" + std::to_string(i - 1);
    functions += "% f" + std::to_string(i) + " (p, g) => (q) { a = " + inner + " (p, g)  q = " + inner + " (a, g) } ";
  }
  expect_left_alone(calling("c = Conv (x, W)  y = local.f40 (c, s)", functions));
}

}  // namespace
}  // namespace relayout::test
