#include <gmock/gmock.h>

#include "model/tensor_data.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/tensor.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::Each;
using testing::ElementsAre;

const std::string kPass = "fold-constants";

void expect_unchanged(const TextModel& model) {
  const auto result = run({kPass}, model);
  EXPECT_TRUE(result.bytes == model.bytes()) << to_text(*result.model);
  EXPECT_TRUE(result.findings.empty()) << result.details();
}

std::vector<int64_t> integers(const PassResult& result, const std::string& name) {
  const Tensor tensor = result.model->graph().find(name)->initializer()->data->load();
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.element_count()};
}

TEST(FoldConstants, ChainsAreFoldedAsAWhole) {
  const auto result = expect_rewrite(kPass,
                                     "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 4, 9}> { k = Constant <value = float {2}> () "
                                     " a = Sqrt (w)  b = Mul (a, k)  y = Add (x, b) }",
                                     "g (float[2,3] x) => (float[2,3] y) <float[3] b> { y = Add (x, b) }");
  EXPECT_THAT(result.initializer("b"), ElementsAre(2, 4, 6));
  EXPECT_EQ(result.findings.size(), 1U) << result.details();
  EXPECT_EQ(result.findings.front().node, "b");
}

TEST(FoldConstants, SharedConstantsAreStoredOnce) {
  const auto result = expect_rewrite(kPass,
                                     "g (float[3] x) => (float[3] y, float[3] z) <float[3] w = {1, 4, 9}> { a = Sqrt (w)  b = Neg (a) "
                                     " y = Add (x, b)  t = Mul (x, a)  z = Mul (t, b) }",
                                     "g (float[3] x) => (float[3] y, float[3] z) <float[3] a, float[3] b> { y = Add (x, b)  t = Mul (x, a) "
                                     " z = Mul (t, b) }");
  EXPECT_THAT(result.initializer("b"), ElementsAre(-1, -2, -3));
}

TEST(FoldConstants, TypeOfAnActivationIsEnough) {
  const auto result =
      expect_rewrite(kPass,
                     "g (float[3] x) => (float[3] y) { k = Constant <value = double {6}> ()  r = Relu (x)  c = CastLike (k, r) "
                     " y = Min (r, c) }",
                     "g (float[3] x) => (float[3] y) <float c> { r = Relu (x)  y = Min (r, c) }");
  EXPECT_THAT(result.initializer("c"), ElementsAre(6));
}

TEST(FoldConstants, ChainsOverShapesOfFixedDims) {
  // A shuffle of channels as exported: the dims of its Reshapes are computed from those of the shuffled value.
  const auto result = expect_rewrite(
      kPass,
      "g (float[1,4,5,6] x, float[1,4,5,6] z) => (float[1,8,5,6] y) <int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64 i3 = {3}, "
      "int64 two = {2}, float half = {0.5}, int64[1] a = {0}> { c = Concat <axis = 1> (x, z)  s = Shape (c)  n = Gather (s, i0)  t = Shape "
      "(c)  k = Gather (t, "
      "i1)"
      "  h = Gather (s, i2)  l = Gather (s, i3)  kf = Cast <to = 1> (k)  gf = Mul (kf, half)  g = Cast <to = 7> (gf)  u0 = Unsqueeze (n, "
      "a)  u1 = Unsqueeze (two, a)  u2 = Unsqueeze (g, a)"
      "  u3 = Unsqueeze (h, a)  u4 = Unsqueeze (l, a)  p = Concat <axis = 0> (u0, u1, u2, u3, u4)  r = Reshape (c, p)"
      "  w = Transpose <perm = [0, 2, 1, 3, 4]> (r)  u5 = Unsqueeze (k, a)  q = Concat <axis = 0> (u0, u5, u3, u4)  y = Reshape (w, q) }",
      "g (float[1,4,5,6] x, float[1,4,5,6] z) => (float[1,8,5,6] y) <int64[5] p, int64[4] q> { c = Concat <axis = 1> (x, z)"
      "  r = Reshape (c, p)  w = Transpose <perm = [0, 2, 1, 3, 4]> (r)  y = Reshape (w, q) }");
  EXPECT_THAT(integers(result, "p"), ElementsAre(1, 2, 4, 5, 6));
  EXPECT_THAT(integers(result, "q"), ElementsAre(1, 8, 5, 6));
}

TEST(FoldConstants, WithAFreeBatchOnlyTheCertainDimsAreStored) {
  expect_rewrite(
      kPass,
      "g (float[N,4,5,6] x) => (float[N,4,5,6] y) <int64 i0 = {0}, int64 i1 = {1}, float half = {0.5}, int64[1] a = {0}, "
      "int64[1] rest = {-1}> { r = Relu (x)  s = Shape (r)  n = Gather (s, i0)  k = Gather (s, i1)  kf = Cast <to = 1> (k)  hf = Mul (kf, "
      "half)  h = Cast <to = 7> (hf)"
      "  u0 = Unsqueeze (n, a)  u1 = Unsqueeze (h, a)  q = Concat <axis = 0> (u0, u1, rest)  t = Reshape (r, q)  y = Reshape (t, s) }",
      "g (float[N,4,5,6] x) => (float[N,4,5,6] y) <int64 i0 = {0}, int64[1] a = {0}, int64[1] rest = {-1}, int64[1] u1 = {2}> {"
      "  r = Relu (x)  s = Shape (r)  n = Gather (s, i0)  u0 = Unsqueeze (n, a)  q = Concat <axis = 0> (u0, u1, rest)"
      "  t = Reshape (r, q)  y = Reshape (t, s) }");
}

TEST(FoldConstants, SeveralOutputs) {
  const auto result = expect_rewrite(
      kPass, "g (float[2] x) => (float[2] y) <float[4] w = {1, 2, 3, 4}> { a, b = Split <axis = 0> (w)  s = Mul (x, a)  y = Add (s, b) }",
      "g (float[2] x) => (float[2] y) <float[2] a, float[2] b> { s = Mul (x, a)  y = Add (s, b) }");
  EXPECT_THAT(result.initializer("a"), ElementsAre(1, 2));
  EXPECT_THAT(result.initializer("b"), ElementsAre(3, 4));
}

TEST(FoldConstants, UnusedOutputIsNotStored) {
  const auto result = run({kPass}, "g (float[2] x) => (float[2] y) <float[4] w> { a, b = Split <axis = 0> (w)  y = Mul (x, a) }");
  EXPECT_EQ(result.model->graph().initializers().size(), 1U);
  EXPECT_EQ(result.count("Split"), 0);
}

TEST(FoldConstants, GraphOutputsKeepTheirProducers) {
  expect_unchanged("g (float[2] x) => (float[2] y, float[2] a) <float[2] w> { a = Neg (w)  y = Mul (x, a) }");
  // A value that only the output's producer reads is stored all the same.
  const auto result =
      expect_rewrite(kPass, "g (float[2] x) => (float[2] y, float[2] b) <float[2] w> { a = Neg (w)  b = Abs (a)  y = Relu (x) }",
                     "g (float[2] x) => (float[2] y, float[2] b) <float[2] a> { b = Abs (a)  y = Relu (x) }");
  EXPECT_EQ(result.findings.size(), 1U);
}

TEST(FoldConstants, NestedGraphsAndCaptures) {
  const auto result = expect_rewrite(
      kPass,
      "g (bool k, float[2] x) => (float[2] y) <float[2] w> { a = Neg (w)  y = If (k) <then_branch = t () => (float[2] p) { b = Abs (a) "
      " p = Mul (x, b) }, else_branch = e () => (float[2] q) { q = Add (x, a) }> }",
      "g (bool k, float[2] x) => (float[2] y) <float[2] a> { y = If (k) <then_branch = t () => (float[2] p) <float[2] b> { p = Mul (x, b) "
      "}, "
      "else_branch = e () => (float[2] q) { q = Add (x, a) }> }");
  EXPECT_EQ(result.findings.size(), 2U) << result.details();
}

TEST(FoldConstants, NestedGraphBeforeIr4) {
  const auto result =
      run({kPass}, with_initializers_as_inputs(
                       TextModel("g (bool k, float[2] x) => (float[2] y) <float[2] w> { y = If (k) <then_branch = t () => (float[2] p) "
                                 "{ b = Abs (w)  p = Mul (x, b) }, else_branch = e () => (float[2] q) { q = Add (x, w) }> }",
                                 head(13, 3))));
  EXPECT_EQ(result.count("Abs"), 0);
  EXPECT_EQ(result.count("Constant"), 1);
}

TEST(FoldConstants, FunctionsGetConstants) {
  const std::string functions = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)";
  const auto result =
      run({kPass}, TextModel("g (float[2] x) => (float[2] y) { y = local.f (x) } <opset_import: [\"\" : 17], domain: \"local\"> "
                             "f (p) => (q) { k = Constant <value = float[2] {1, 4}> ()  r = Sqrt (k)  q = Mul (p, r) }",
                             functions));
  const Graph& function = *result.model->functions().front();
  ASSERT_EQ(function.nodes().size(), 2U) << to_text(*result.model);
  EXPECT_EQ(function.nodes().front().op_type(), "Constant");
  EXPECT_EQ(function.nodes().front().output(0)->name(), "r");
}

TEST(FoldConstants, Ir3InputsFollow) {
  const auto result =
      run({kPass},
          with_initializers_as_inputs(TextModel("g (float[2] x) => (float[2] y) <float[2] w> { a = Neg (w)  y = Mul (x, a) }", head(8))));
  EXPECT_EQ(result.model->graph().inputs().size(), 2U);
  EXPECT_EQ(result.model->graph().inputs().back()->name(), "a");
  EXPECT_EQ(result.model->graph().initializers().size(), 1U);
}

TEST(FoldConstants, ChangeableValuesAreNotConstant) {
  expect_unchanged("g (float[2] x, float[2] w) => (float[2] y) <float[2] w> { a = Neg (w)  y = Mul (x, a) }");
  expect_unchanged("g (float[2] x) => (float[2] y) { a = RandomNormal <shape = [2], seed = 1.0> ()  y = Mul (x, a) }");
  expect_unchanged("g (float[2] x) => (float[2] y) <float[2] w> { a = RandomNormalLike (w)  y = Mul (x, a) }");
  expect_unchanged(TextModel("g (float[2] x) => (float[2] y) <float[2] w> { a = other.Neg (w)  y = Mul (x, a) }",
                             R"(<ir_version: 8, opset_import: ["" : 17, "other" : 1]>)"));
}

TEST(FoldConstants, QuantizedWeightsStayQuantized) {
  expect_unchanged("g (float[1,2] x) => (float[1,2] y) <int8[2,2] w, float s = {0.5}> { a = DequantizeLinear (w, s)  y = MatMul (x, a) }");
}

TEST(FoldConstants, OrderOfStoredWeightsIsMeant) {
  expect_unchanged(
      "g (float[1,2,5,5] x) => (float[1,4,3,3] y) <float[4,3,3,2] w> { t = Transpose <perm = [0, 3, 1, 2]> (w)  y = Conv (x, t) }");
}

TEST(FoldConstants, LargeResultsOfSmallOperandsStay) {
  const TextModel grows(
      "g (float[300,300] x) => (float[300,300] y) <float[300] w, int64[2] s = {300, 300}> { a = Expand (w, s)  y = Mul (x, a) }");
  const auto result = run({kPass}, grows);
  EXPECT_EQ(result.count("Expand"), 1);
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::too_large));
  EXPECT_TRUE(run({kPass}, grows).bytes == grows.bytes());
}

/// A model may grow by no more than other nodes and constants have made it smaller.
TEST(FoldConstants, LargeResultsTakeWhatOthersLeave) {
  const auto model = [](int idle) {
    std::string nodes = "a = Range (zero, end, one)  c = Cast <to = 1> (a)  v0 = Mul (x, c)  ";
    for (int i = 0; i < idle; ++i) nodes += "v" + std::to_string(i + 1) + " = Identity (v" + std::to_string(i) + ")  ";
    return TextModel("g (float[2,200] x) => (float[2,200] y) <int64 zero = {0}, int64 end = {200}, int64 one = {1}> { " + nodes +
                     "y = Neg (v" + std::to_string(idle) + ") }");
  };
  const std::vector<std::string> passes{"remove-identity", kPass};
  const auto few = run(passes, model(3)), many = run(passes, model(80));
  EXPECT_EQ(few.count("Range"), 1);
  EXPECT_THAT(few.reasons(), Each(Reason::too_large));
  EXPECT_EQ(many.count("Range") + many.count("Cast"), 0);
  EXPECT_THAT(many.reasons(), testing::IsEmpty()) << many.details();
  EXPECT_LE(many.bytes.size(), model(80).bytes().size());
  EXPECT_TRUE(run(passes, TextModel::of(many.bytes)).bytes == many.bytes);
  EXPECT_TRUE(run(passes, TextModel::of(few.bytes)).bytes == few.bytes);
}

TEST(FoldConstants, LargeResultsOfEquallyLargeOperandsAreStored) {
  const auto result =
      expect_rewrite(kPass, "g (float[200,200] x) => (float[200,200] y) <float[200,200] w> { a = Neg (w)  b = Abs (a)  y = Mul (x, b) }",
                     "g (float[200,200] x) => (float[200,200] y) <float[200,200] b> { y = Mul (x, b) }");
  // If the operand stays for a second reader, the model would grow.
  const auto shared =
      run({kPass}, "g (float[200,200] x) => (float[200,200] y) <float[200,200] w> { a = Neg (w)  t = Mul (x, a)  y = Mul (t, w) }");
  EXPECT_EQ(shared.count("Neg"), 1);
  EXPECT_THAT(shared.reasons(), Each(Reason::too_large));
}

/// Each reader of a shared weight would store its own copy.
TEST(FoldConstants, SmallOperandsThatSeveralReadAreNotMultiplied) {
  const TextModel shared(
      "g (float[16,16] x) => (float[16,16] y, float[16,16] z) <float[16,16] w> { a = Transpose (w)  y = MatMul (x, a) "
      " b = Transpose (w)  z = MatMul (y, b) }");
  const auto result = run({kPass}, shared);
  EXPECT_EQ(result.count("Transpose"), 2);
  EXPECT_THAT(result.reasons(), Each(Reason::too_large));
  EXPECT_TRUE(result.bytes == shared.bytes());
  const TextModel grows(
      "g (float[50,50] x) => (float[50,50] y) <float[50] w, int64[2] s = {50, 50}> { a = Expand (w, s)  y = Mul (x, a) }");
  EXPECT_TRUE(run({kPass}, grows).bytes == grows.bytes());
}

/// PyTorch writes the weights of an LSTM in another order of its gates.
TEST(FoldConstants, LargePartsPutTogetherInAnotherOrder) {
  const std::string parts =
      "<float[200,200] w, int64[1] o = {0}, int64[1] h = {100}, int64[1] e = {200}> { a = Slice (w, o, h, o)  b = Slice (w, h, e, o) "
      " c = Concat <axis = 0> (b, a)  y = MatMul (x, c) ";
  expect_rewrite(kPass, "g (float[200,200] x) => (float[200,200] y) " + parts + "}",
                 "g (float[200,200] x) => (float[200,200] y) <float[200,200] c> { y = MatMul (x, c) }");
  for (const char* const reader : {"z = Neg (a)", "z = MatMul (x, w)"}) {
    SCOPED_TRACE(reader);
    const auto shared = run({kPass}, "g (float[200,200] x) => (float[200,200] y, z) " + parts + reader + " }");
    EXPECT_EQ(shared.count("Concat"), 1);
    EXPECT_EQ(shared.count("Slice"), 2);
  }
}

TEST(FoldConstants, ExcludedNodesStay) {
  PassOptions options;
  options.exclude = {"a*"};
  const auto result = run({kPass}, "g (float[2] x) => (float[2] y) <float[2] w> { abs = Abs (w)  y = Mul (x, abs) }", options);
  EXPECT_EQ(result.count("Abs"), 1);
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::excluded));
}

TEST(FoldConstants, ConstantsBecomeInitializers) {
  const TextModel model("g (float[2] x) => (float[2] y) { k = Constant <value_floats = [1.0, 2.0]> ()  y = Mul (x, k) }");
  const auto result = expect_rewrite(kPass, model, "g (float[2] x) => (float[2] y) <float[2] k> { y = Mul (x, k) }");
  EXPECT_THAT(result.initializer("k"), ElementsAre(1, 2));
  // In IR 3 an initializer is a graph input.
  expect_unchanged(TextModel("g (float[2] x) => (float[2] y) { k = Constant <value = float[2] {1, 2}> ()  y = Mul (x, k) }", head(8, 3)));
}

TEST(FoldConstants, NothingToDo) {
  expect_unchanged("g (float[2] x) => (float[2] y) <float[2] w> { a = Mul (x, w)  y = Add (a, w) }");
}

}  // namespace
}  // namespace relayout::test
