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

/// A node between x and the result; `lists` are initializers.
TextModel between(const std::string& x, const std::string& node, const std::string& lists) {
  return "g (" + x + ") => (y) <" + lists + "> { a = " + node + "  y = Neg (a) }";
}

void expect_gone(const std::string& x, const std::string& node, const std::string& lists) {
  SCOPED_TRACE(node + " " + lists);
  expect_rewrite(kPass, between(x, node, lists), "g (" + x + ") => (y) { y = Neg (x) }");
}

void expect_kept(const std::string& x, const std::string& node, const std::string& lists) {
  SCOPED_TRACE(node + " " + lists);
  expect_unchanged(between(x, node, lists));
}

TEST(RemoveIdentity, SlicesOfEverything) {
  const std::string slice = "Slice (x, b, e, k, s)", end = "1125899906842624";
  const auto lists = [](const std::string& b, const std::string& e, const std::string& k, const std::string& s) {
    return "int64[1] b = {" + b + "}, int64[1] e = {" + e + "}, int64[1] k = {" + k + "}, int64[1] s = {" + s + "}";
  };
  expect_gone("float[N,3] x", slice, lists("0", end, "0", "1"));
  expect_gone("float[N,3] x", slice, lists("0", "3", "1", "1"));
  expect_gone("float[N,3] x", slice, lists("-3", "7", "-1", "1"));
  expect_kept("float[N,3] x", slice, lists("1", end, "0", "1"));
  expect_kept("float[N,3] x", slice, lists("0", "2", "1", "1"));
  expect_kept("float[N,3] x", slice, lists("0", "3", "0", "1"));
  expect_kept("float[N,3] x", slice, lists("0", end, "0", "2"));
  expect_kept("float[N,3] x", slice, lists("-2", end, "1", "1"));
  expect_kept("float[1,3] x", slice, lists("-1", "-1125899906842624", "1", "-1"));
}

/// Of IEEE 754: x · 1, x / 1, x − 0 and x + (−0) are x, but −0 + 0 is 0.
TEST(RemoveIdentity, NeutralNumbers) {
  const std::string x = "float[N,3] x";
  for (const char* const node : {"Mul (x, c)", "Mul (c, x)", "Div (x, c)"}) expect_gone(x, node, "float c = {1}");
  expect_gone(x, "Mul (x, c)", "float[3] c = {1, 1, 1}");
  expect_gone(x, "Sub (x, c)", "float[1,1] c = {0}");
  expect_gone(x, "Add (c, x)", "float c = {-0.0}");
  expect_gone("int64[N] x", "Add (x, c)", "int64 c = {0}");
  expect_gone("int64[N] x", "Div (x, c)", "int64 c = {1}");
  for (const char* const node : {"Div (c, x)", "Add (x, c)"}) expect_kept(x, node, "float c = {1}");
  for (const char* const node : {"Add (x, c)", "Sub (c, x)", "Mul (x, c)"}) expect_kept(x, node, "float c = {0}");
  expect_kept(x, "Sub (x, c)", "float c = {-0.0}");
  expect_kept(x, "Mul (x, c)", "float[3] c = {1, 1, 2}");
  // The result has other dims than x.
  expect_kept(x, "Mul (x, c)", "float[1,1,1] c = {1}");
  expect_kept("float[N,1] x", "Mul (x, c)", "float[3] c = {1, 1, 1}");
  expect_kept(x, "Sub (x, c)", "float[2,3] c = {0, 0, 0, 0, 0, 0}");
  expect_kept("x", "Sub (x, c)", "float[1] c = {0}");
}

/// −0 + 0 is 0, which these readers do not tell from −0: max (0, x), and what adds a shift to it.
TEST(RemoveIdentity, ZerosWhereTheirSignIsLost) {
  const auto model = [](const std::string& reader, bool is_left_out, const std::string& shift = "0, 0, 0") {
    return TextModel("g (float[2,3] x) => (float[2,3] y) <float[3] c = {0, 0, 0}, float[3] s = {1, 2, 3}, float[3] b = {" + shift +
                     "}> { " + (is_left_out ? "" : "a = Add (c, x)  ") + "y = " + reader + " (" + (is_left_out ? "x" : "a") +
                     (reader == "LayerNormalization" ? ", s, b)" : ")") + " }");
  };
  for (const char* const reader : {"Relu", "Sigmoid", "Softmax", "LayerNormalization"}) {
    SCOPED_TRACE(reader);
    EXPECT_EQ(run({kPass}, model(reader, false)).count("Add"), 0);
  }
  expect_rewrite(kPass, "g (float[2] x) => (float[2] y) <float c = {0}> { a = Add (c, x)  y = Relu (a) }",
                 "g (float[2] x) => (float[2] y) { y = Relu (x) }");
  for (const char* const reader : {"Reciprocal", "Neg", "Tanh"}) EXPECT_EQ(run({kPass}, model(reader, false)).count("Add"), 1) << reader;
  EXPECT_EQ(run({kPass}, model("LayerNormalization", false, "0, -0.0, 0")).count("Add"), 1);
}

TEST(RemoveIdentity, PadsByNothing) {
  expect_gone("float[N,3] x", "Pad (x, p)", "int64[4] p = {0, 0, 0, 0}");
  expect_gone("float[N,3] x", "Pad <mode = \"reflect\"> (x, p)", "int64[4] p = {0, 0, 0, 0}");
  expect_kept("float[N,3] x", "Pad (x, p)", "int64[4] p = {0, 0, 0, 1}");
  expect_kept("float[N,3] x", "Pad (x, p)", "int64[4] p = {0, 1, 0, -1}");
}

TEST(RemoveIdentity, ReshapesToTheSameDims) {
  expect_gone("float[2,3] x", "Reshape (x, r)", "int64[2] r = {2, -1}");
  expect_gone("float[N,3,M] x", "Reshape (x, r)", "int64[3] r = {0, 3, -1}");
  expect_gone("float[N,M] x", "Flatten (x)", "");
  expect_gone("float[2,3] x", "Expand (x, r)", "int64[2] r = {1, 3}");
  expect_kept("float[N,3,M] x", "Reshape (x, r)", "int64[3] r = {-1, 3, 4}");
  expect_kept("float[N,3,M] x", "Reshape (x, r)", "int64[2] r = {0, -1}");
  expect_kept("float[N,3,M] x", "Reshape <allowzero = 1> (x, r)", "int64[3] r = {0, 3, 5}");
  expect_kept("float[2,3] x", "Reshape (x, r)", "int64[2] r = {3, 2}");
  expect_kept("float[N,M] x", "Flatten <axis = 0> (x)", "");
  expect_kept("float[N,3] x", "Expand (x, r)", "int64[2] r = {2, 3}");
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

/// The first dim of a part is certain where another axis is shortened.
TEST(RemoveIdentity, ExpandToADimOfAPart) {
  const auto model = [](const std::string& axis, const std::string& y) {
    return "g (float[N,5] x, float[1,64] w, float[7,1] z) => (y, e) <int64[1] o = {0}, int64[1] a = {" + axis +
           "}> { s = Shape <start = 0, end = 1> (x) p = Slice (w, o, s, a) e = Exp (p) " + y + " }";
  };
  expect_rewrite(kPass, model("1", "q = Shape <start = 0, end = 1> (p) v = Expand (z, q) y = Neg (v)"), model("1", "y = Neg (z)"));
  expect_unchanged(model("0", "q = Shape <start = 0, end = 1> (p) v = Expand (z, q) y = Neg (v)"));
}

}  // namespace
}  // namespace relayout::test
