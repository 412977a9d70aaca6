// Tests limits written with different operators: proved where they let the same numbers through.

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

Example limited(const std::string& nodes) {
  return Example(
      "g (float[3,4] x, float[4] z) => (y) {"
      " zero = Constant<value = float {0}>() one = Constant<value = float {1}>() six = Constant<value = float {6}>()"
      " row = Constant<value = float[1] {6}>() " +
      nodes + " }");
}

bool are_proved(const std::string& a, const std::string& b) {
  return prove(limited(a), limited(b)).proved && prove(limited(b), limited(a)).proved;
}

TEST(ProofOfLimits, InOtherOperators) {
  EXPECT_TRUE(are_proved("m = Max (x, zero) y = Min (m, six)", "m = Min (x, six) y = Max (m, zero)"));
  EXPECT_TRUE(are_proved("y = Clip (x, zero, six)", "m = Max (zero, x) y = Min (six, m)"));
  EXPECT_TRUE(are_proved("y = Relu (x)", "y = Max (x, zero)"));
  EXPECT_TRUE(are_proved("y = Relu (x)", "y = Clip (x, zero)"));
  EXPECT_TRUE(are_proved("r = Relu (x) y = Min (r, six)", "y = Clip (x, zero, six)"));
  EXPECT_TRUE(are_proved("r = Relu (x) y = Max (r, one)", "y = Max (x, one)"));
  EXPECT_TRUE(are_proved("r = Relu (x) y = Clip (r, zero, six)", "y = Clip (x, zero, six)"));
  // The ends downstream limit those upstream.
  EXPECT_TRUE(are_proved("c = Clip (x, zero, six) y = Min (c, one)", "y = Clip (x, zero, one)"));
}

TEST(ProofOfLimits, OfOtherNumbers) {
  EXPECT_FALSE(are_proved("y = Clip (x, zero, six)", "y = Clip (x, one, six)"));
  EXPECT_FALSE(are_proved("y = Relu (x)", "y = Clip (x, zero, six)"));
  EXPECT_FALSE(are_proved("m = Max (x, six) y = Max (m, one)", "y = Max (x, one)"));
  EXPECT_FALSE(are_proved("r = Relu (x) y = Min (r, six)", "y = Min (x, six)"));
  EXPECT_FALSE(are_proved("y = Max (x, zero)", "y = Min (x, zero)"));
  // min (max (x, 6), 1) is 1, max (min (x, 1), 6) is 6.
  EXPECT_FALSE(are_proved("m = Max (x, six) y = Min (m, one)", "m = Min (x, one) y = Max (m, six)"));
  EXPECT_FALSE(are_proved("y = Relu (x)", "n = Neg (x) y = Max (n, zero)")) << "of another value";
  EXPECT_FALSE(are_proved("y = Max (x, zero)", "y = Max (x, z)")) << "a limit that varies";
  EXPECT_FALSE(are_proved("y = Min (x, six)", "y = Min (x, row, one)"));
}

TEST(ProofOfLimits, OfAnotherTypeAreOthers) {
  const Example single("g (float[4] x) => (float[4] y) <float c = {0}> { y = Min (x, c) }");
  const Example half("g (float16[4] x) => (float16[4] y) <float16 c = {0}> { y = Min (x, c) }");
  EXPECT_FALSE(prove(single, half).proved);
}

}  // namespace
}  // namespace relayout::test
