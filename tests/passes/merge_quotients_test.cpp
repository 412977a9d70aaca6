// Tests products with reciprocals of roots, which become quotients.

#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const char* const kPass = "merge-quotients";

void expect_unchanged(const TextModel& model) {
  EXPECT_TRUE(run({kPass}, model).bytes == model.bytes());
}

TEST(MergeQuotients, ReciprocalsOfRoots) {
  const TextModel quotient("g (float[2,3] x, float[2,1] v) => (float[2,3] y) { w = Abs (v)  s = Sqrt (w)  y = Div (x, s) }");
  expect_rewrite(kPass,
                 "g (float[2,3] x, float[2,1] v) => (float[2,3] y) { w = Abs (v)  s = Sqrt (w)  r = Reciprocal (s)  y = Mul (x, r) }",
                 quotient);
  expect_rewrite(
      kPass,
      "g (float[2,3] x, float[2,1] v) => (float[2,3] y) <float one = {1}> { w = Abs (v)  s = Sqrt (w)  r = Div (one, s)  y = Mul (r, x) }",
      quotient);
}

/// Without the root, 1 / v may be infinite where x / v is not.
TEST(MergeQuotients, OthersStay) {
  expect_unchanged("g (float[2,3] x, float[2,1] v) => (float[2,3] y) { r = Reciprocal (v)  y = Mul (x, r) }");
  expect_unchanged("g (float[2,3] x, float[2,1] v) => (float[2,3] y) <float two = {2}> { s = Sqrt (v)  r = Div (two, s)  y = Mul (x, r) }");
  expect_unchanged("g (float[2,3] x, float[2,1] v) => (float[2,3] y, r) { s = Sqrt (v)  r = Reciprocal (s)  y = Mul (x, r) }");
  expect_unchanged("g (float[2,1] v) => (float[2,1] y) { s = Sqrt (v)  r = Reciprocal (s)  y = Mul (r, r) }");
}

}  // namespace
}  // namespace relayout::test
