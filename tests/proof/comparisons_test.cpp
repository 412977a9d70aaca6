// Tests comparisons with exchanged operands: proved where they are equivalent.

#include <gtest/gtest.h>

#include <string>

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

bool are_proved(const std::string& a, const std::string& b) {
  const std::string head = "g (float[3,4] x, float[4] z) => (y) { ";
  const Example of_a(head + a + " }"), of_b(head + b + " }");
  return prove(of_a, of_b).proved && prove(of_b, of_a).proved;
}

TEST(ProofOfComparisons, WithExchangedOperands) {
  EXPECT_TRUE(are_proved("y = Less (x, z)", "y = Greater (z, x)"));
  EXPECT_TRUE(are_proved("y = GreaterOrEqual (x, z)", "y = LessOrEqual (z, x)"));
  EXPECT_FALSE(are_proved("y = Less (x, z)", "y = Greater (x, z)"));
  EXPECT_FALSE(are_proved("y = Less (x, z)", "y = GreaterOrEqual (z, x)"));
  // The results differ if one operand is NaN.
  EXPECT_FALSE(are_proved("y = Less (x, z)", "g = GreaterOrEqual (x, z) y = Not (g)"));
}

}  // namespace
}  // namespace relayout::test
