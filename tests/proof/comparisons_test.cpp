// Tests comparisons with exchanged operands: proved where they are equivalent.

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

bool are_proved_for(const std::string& type, const std::string& a, const std::string& b) {
  const std::string head = "g (" + type + "[3,4] x, " + type + "[4] z) => (y) { ";
  const Example of_a(head + a + " }"), of_b(head + b + " }");
  return prove(of_a, of_b).proved && prove(of_b, of_a).proved;
}

TEST(ProofOfComparisons, OfIntegersMayBeNegated) {
  for (const std::string type : {"int64", "int32", "uint8"}) {
    EXPECT_TRUE(are_proved_for(type, "l = Less (x, z) y = Not (l)", "y = GreaterOrEqual (x, z)")) << type;
    EXPECT_TRUE(are_proved_for(type, "l = Greater (x, z) y = Not (l)", "y = GreaterOrEqual (z, x)")) << type;
    EXPECT_TRUE(are_proved_for(type, "l = Less (x, z) g = Greater (x, z) o = Or (l, g) y = Not (o)", "y = Equal (x, z)")) << type;
    EXPECT_TRUE(are_proved_for(type, "l = Less (x, z) g = Less (z, x) y = Or (l, g)", "e = Equal (x, z) y = Not (e)")) << type;
    EXPECT_FALSE(are_proved_for(type, "l = Less (x, z) y = Not (l)", "y = Greater (x, z)")) << type;
    EXPECT_FALSE(are_proved_for(type, "l = Less (x, z) y = Not (l)", "y = GreaterOrEqual (z, x)")) << type;
    EXPECT_FALSE(are_proved_for(type, "l = Less (x, z) y = Not (l)", "y = Equal (x, z)")) << type;
  }
}

TEST(ProofOfComparisons, AndConditionsOfThem) {
  EXPECT_TRUE(are_proved("g = Greater (x, z) e = Equal (x, z) y = Or (g, e)", "y = GreaterOrEqual (x, z)"));
  EXPECT_TRUE(are_proved("g = Greater (x, z) e = Equal (z, x) y = Or (g, e)", "y = LessOrEqual (z, x)"));
  EXPECT_TRUE(are_proved("g = GreaterOrEqual (x, z) e = LessOrEqual (x, z) y = And (g, e)", "y = Equal (x, z)"));
  EXPECT_FALSE(are_proved("g = Greater (x, z) e = Less (x, z) y = Or (g, e)", "e = Equal (x, z) y = Not (e)")) << "NaN";
  EXPECT_FALSE(are_proved("g = Greater (x, z) e = Equal (x, x) y = Or (g, e)", "y = GreaterOrEqual (x, z)"));
  EXPECT_FALSE(are_proved("y = Equal (x, z)", "w = Neg (z) y = Equal (x, w)"));
}

}  // namespace
}  // namespace relayout::test
