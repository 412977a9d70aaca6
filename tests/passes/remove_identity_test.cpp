#include <gmock/gmock.h>

#include "relayout/model.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kPass = "remove-identity";

void expect_unchanged(const TextModel& model) {
  const auto result = run({kPass}, model);
  EXPECT_TRUE(result.bytes == model.bytes()) << to_text(*result.model);
  EXPECT_TRUE(result.findings.empty()) << result.details();
}

TEST(RemoveIdentity, ReadersReadTheOperand) {
  const auto result = expect_rewrite(
      kPass, "g (float[2] x) => (float[2] y, float[2] z) { a = Identity (x)  b = Identity (a)  y = Neg (b)  z = Add (a, b) }",
      "g (float[2] x) => (float[2] y, float[2] z) { y = Neg (x)  z = Add (x, x) }");
  EXPECT_EQ(result.findings.size(), 2U);
}

TEST(RemoveIdentity, ProducerTakesTheNameOfAGraphOutput) {
  expect_rewrite(kPass, "g (float[2] x) => (float[2] y, float[2] z) { a = Neg (x)  y = Identity (a)  z = Abs (a) }",
                 "g (float[2] x) => (float[2] y, float[2] z) { y = Neg (x)  z = Abs (y) }");
}

TEST(RemoveIdentity, NamesOfTheirOwnStay) {
  expect_unchanged("g (float[2] x) => (float[2] y) { y = Identity (x) }");
  expect_unchanged("g (float[2] x) => (float[2] y, float[2] z) <float[2] w> { y = Identity (w)  z = Mul (x, w) }");
  expect_unchanged("g (float[2] x) => (float[2] y, float[2] z) { y = Neg (x)  z = Identity (y) }");
}

TEST(RemoveIdentity, TwoOutputsOfOneValue) {
  expect_rewrite(kPass, "g (float[2] x) => (float[2] y, float[2] z) { a = Neg (x)  y = Identity (a)  z = Identity (a) }",
                 "g (float[2] x) => (float[2] y, float[2] z) { y = Neg (x)  z = Identity (y) }");
}

TEST(RemoveIdentity, DropoutThatDropsNothing) {
  expect_rewrite(kPass, "g (float[2] x) => (float[2] y) <float r = {0.5}> { a = Dropout (x, r)  y = Neg (a) }",
                 "g (float[2] x) => (float[2] y) { y = Neg (x) }");
  expect_unchanged("g (float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> { a = Dropout (x, r, t)  y = Neg (a) }");
  expect_unchanged("g (float[2] x) => (float[2] y, bool[2] m) { a, m = Dropout (x)  y = Neg (a) }");
}

TEST(RemoveIdentity, CastOfAnRmsNormalizationWhoseScaleHasAnotherType) {
  // The result has the type of the scale, not that of the data.
  const std::string opset23 = R"(<ir_version: 11, opset_import: ["" : 23]>)";
  expect_unchanged(
      TextModel("g (float16[2,3] x, float[3] s) => (float16[2,3] y) { h = Neg (x)  n = RMSNormalization (h, s)  "
                "c = Cast <to = 10> (n)  y = Abs (c) }",
                opset23));
}

TEST(RemoveIdentity, OperatorsWithoutEffect) {
  const std::string after = "g (float[2,3] x) => (float[2,3] y) { y = Neg (x) }";
  for (const char* const node : {"Transpose <perm = [0, 1]> (x)", "Concat <axis = 1> (x)", "Sum (x)", "Max (x)", "Min (x)", "Mean (x)",
                                 "Cast <to = 1> (x)", "CastLike (x, x)"}) {
    SCOPED_TRACE(node);
    expect_rewrite(kPass, "g (float[2,3] x) => (float[2,3] y) { a = " + std::string(node) + "  y = Neg (a) }", after);
  }
}

TEST(RemoveIdentity, OperatorsWithEffect) {
  for (const char* const node :
       {"Transpose <perm = [1, 0]> (x)", "Transpose (x)", "Concat <axis = 1> (x, x)", "Cast <to = 11> (x)", "Sum (x, x)"}) {
    SCOPED_TRACE(node);
    expect_unchanged("g (float[3,3] x) => (y) { a = " + std::string(node) + "  y = Neg (a) }");
  }
}

TEST(RemoveIdentity, CapturedValues) {
  expect_rewrite(kPass,
                 "g (bool k, float[2] x) => (float[2] y) { n = Neg (x)  a = Identity (n)  y = If (k) <then_branch = t () => (float[2] p) { "
                 "p = Abs (a) }, else_branch = e () => (float[2] q) { b = Identity (a)  q = Mul (b, n) }> }",
                 "g (bool k, float[2] x) => (float[2] y) { n = Neg (x)  y = If (k) <then_branch = t () => (float[2] p) { p = Abs (n) }, "
                 "else_branch = e () => (float[2] q) { q = Mul (n, n) }> }");
}

TEST(RemoveIdentity, NestedOutputsAreProducedInTheirGraph) {
  expect_unchanged(
      "g (bool k, float[2] x) => (float[2] y) { y = If (k) <then_branch = t () => (float[2] p) { p = Identity (x) }, else_branch = e () "
      "=> (float[2] q) { q = Neg (x) }> }");
}

TEST(RemoveIdentity, ConvolutionAndNormalizationMeet) {
  // The nodes removed between them are no obstacle, already in the first run.
  const auto result =
      run({kPass, "fold-batch-norm"}, conv_bn("c = Conv (x, W, B)  d = Cast <to = 1> (c)  y = BatchNormalization (d, s, b, m, var)"));
  EXPECT_EQ(result.count("BatchNormalization"), 0);
  EXPECT_EQ(result.count("Cast"), 0);
}

}  // namespace
}  // namespace relayout::test
