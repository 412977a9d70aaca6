// Tests that nodes which compute the same are computed once, and that a product and its bias become one node.

#include "relayout/findings.h"
#include "relayout/pass_options.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kMerge = "merge-equal", kBias = "product-bias";

/// The pass changes nothing.
void expect_nothing(const std::string& pass, const TextModel& model) {
  EXPECT_TRUE(run({pass}, model).bytes == model.bytes());
}

TEST(MergeEqual, NodesWithEqualOperands) {
  expect_rewrite(kMerge,
                 "g (float[2,3] x) => (float[2,3] y) <int64[1] k = {0}, int64[1] l = {0}> { a = Unsqueeze (x, k)  b = Unsqueeze (x, l) "
                 " c = Relu (a)  d = Relu (b)  m = Mul (c, d)  y = Squeeze (m, k) }",
                 "g (float[2,3] x) => (float[2,3] y) <int64[1] k = {0}> { a = Unsqueeze (x, k)  c = Relu (a)  m = Mul (c, c) "
                 " y = Squeeze (m, k) }");
}

/// A node that was alone in reading its operand has an equal one once that operand has.
TEST(MergeEqual, ChainsOneAfterTheOther) {
  expect_rewrite(kMerge,
                 "g (float[2,3] x, float[2,3] s) => (float[2,3] y) { a = Relu (x)  b = Neg (a)  c = Sub (b, s)  d = Relu (x)  e = Neg (d) "
                 " f = Sub (e, s)  y = Mul (c, f) }",
                 "g (float[2,3] x, float[2,3] s) => (float[2,3] y) { a = Relu (x)  b = Neg (a)  c = Sub (b, s)  y = Mul (c, c) }");
}

TEST(MergeEqual, OthersStay) {
  expect_nothing(kMerge, "g (float[2,3] x) => (float[2,3] y) { a = Elu <alpha = 0.5> (x)  b = Elu <alpha = 0.25> (x)  y = Mul (a, b) }");
  expect_nothing(kMerge, "g (float[2,3] x) => (float[2,3] y) { a = RandomNormalLike (x)  b = RandomNormalLike (x)  y = Mul (a, b) }");
  expect_nothing(kMerge, "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { y = Relu (x)  z = Relu (x) }");
  expect_nothing(kMerge,
                 "g (float[2,3] x) => (float[1,2,3] y) <int64[1] k = {0}, int64[1] l = {1}> { a = Unsqueeze (x, k)  b = Unsqueeze (x, l) "
                 " y = Add (a, b) }");
}

TEST(MergeEqual, ReadersInsideNodesFollow) {
  expect_rewrite(kMerge,
                 "g (float[2] x, bool c) => (float[2] y) { a = Relu (x)  b = Relu (x)  s = Neg (a)  y = If (c) <then_branch = t () => "
                 "(float[2] u) { u = Add (b, s) }, else_branch = e () => (float[2] v) { v = Neg (s) }> }",
                 "g (float[2] x, bool c) => (float[2] y) { a = Relu (x)  s = Neg (a)  y = If (c) <then_branch = t () => "
                 "(float[2] u) { u = Add (a, s) }, else_branch = e () => (float[2] v) { v = Neg (s) }> }");
}

TEST(ProductBias, MatrixAndRow) {
  expect_rewrite(kBias, "g (float[2,3] x) => (float[2,4] y) <float[3,4] W, float[4] b> { p = MatMul (x, W)  y = Add (b, p) }",
                 "g (float[2,3] x) => (float[2,4] y) <float[3,4] W, float[4] b> { y = Gemm (x, W, b) }");
}

TEST(ProductBias, OthersStay) {
  const auto stays = [](const std::string& body) { expect_nothing(kBias, "g " + body); };
  stays("(float[5,2,3] x) => (float[5,2,4] y) <float[3,4] W, float[4] b> { p = MatMul (x, W)  y = Add (p, b) }");
  stays("(float[2,3] x, float[4] b) => (float[2,4] y) <float[3,4] W> { p = MatMul (x, W)  y = Add (p, b) }");
  stays("(float[2,3] x) => (float[2,4] y, float[2,4] p) <float[3,4] W, float[4] b> { p = MatMul (x, W)  y = Add (p, b) }");
  stays("(float[2,3] x) => (float[5,2,4] y) <float[3,4] W, float[5,1,4] b> { p = MatMul (x, W)  y = Add (p, b) }");
  stays("(float[1,3] x) => (float[2,4] y) <float[3,4] W, float[2,4] b> { p = MatMul (x, W)  y = Add (p, b) }");
}

}  // namespace
}  // namespace relayout::test
