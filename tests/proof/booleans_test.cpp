// Tests boolean expressions written with different operators: equal truth tables are proved, near misses are not.

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

Example expression(const std::string& nodes) {
  return Example("g (bool[4] p, bool[3,4] q, bool[1] r, float[4] x) => (y) { " + nodes + " }");
}

bool are_proved(const std::string& a, const std::string& b) {
  return prove(expression(a), expression(b)).proved && prove(expression(b), expression(a)).proved;
}

TEST(ProofOfBooleans, ExpressionsWithTheSameTruthTable) {
  EXPECT_TRUE(is_proved(prove(expression("y = Xor (p, q)"), expression("e = Equal (p, q) y = Not (e)"))));
  EXPECT_TRUE(are_proved("y = Equal (p, q)", "e = Xor (p, q) y = Not (e)"));
  EXPECT_TRUE(are_proved("a = And (p, q) y = Not (a)", "m = Not (p) n = Not (q) y = Or (m, n)"));
  EXPECT_TRUE(are_proved("a = Or (p, q) y = Not (a)", "m = Not (p) n = Not (q) y = And (m, n)"));
  EXPECT_TRUE(are_proved("m = Not (p) n = Not (m) y = And (n, q)", "y = And (q, p)"));
  EXPECT_TRUE(are_proved("y = Where (p, q, r)", "a = And (p, q) n = Not (p) b = And (n, r) y = Or (b, a)"));
  EXPECT_TRUE(are_proved("y = Xor (p, q)", "o = Or (p, q) a = And (p, q) n = Not (a) y = And (o, n)"));
}

TEST(ProofOfBooleans, DifferentExpressions) {
  EXPECT_FALSE(are_proved("y = Xor (p, q)", "y = Equal (p, q)"));
  EXPECT_FALSE(are_proved("a = And (p, q) y = Not (a)", "m = Not (p) n = Not (q) y = And (m, n)"));
  EXPECT_FALSE(are_proved("y = Where (p, q, r)", "y = Where (p, r, q)"));
  EXPECT_FALSE(are_proved("y = Xor (p, q)", "e = Equal (p, r) y = Not (e)")) << "another operand";
  // An operand without effect on the truth value gives the result its dims.
  EXPECT_FALSE(are_proved("y = Not (p)", "n = Not (q) o = Or (q, n) a = And (p, o) y = Not (a)"));
  // On numbers, a comparison is no such expression: NaN is neither less nor at least.
  EXPECT_FALSE(are_proved("l = Less (x, x) y = Not (l)", "y = GreaterOrEqual (x, x)"));
}

TEST(ProofOfBooleans, OperandsThatAreComputed) {
  const std::string same = "s = Less (x, x) ";
  EXPECT_TRUE(are_proved(same + "y = Xor (s, q)", same + "e = Equal (q, s) y = Not (e)"));
  EXPECT_FALSE(are_proved(same + "y = Xor (s, q)", "s = GreaterOrEqual (x, x) e = Equal (q, s) y = Not (e)"));
  // Under other names.
  EXPECT_TRUE(are_proved("s = IsNaN (x) y = Xor (s, q)", "t = IsNaN (x) e = Equal (t, q) y = Not (e)"));
}

TEST(ProofOfBooleans, LongChainsAreReadOnce) {
  std::string nodes = "c0 = Xor (p, q) ";
  for (int i = 1; i < 50; ++i) {
    const std::string last = "c" + std::to_string(i - 1);
    nodes += "c" + std::to_string(i) + " = Xor (" + last + ", " + last + ") ";
  }
  EXPECT_FALSE(prove(expression(nodes + "y = Not (c49)"), expression("y = Xor (p, q)")).proved);
}

}  // namespace
}  // namespace relayout::test
