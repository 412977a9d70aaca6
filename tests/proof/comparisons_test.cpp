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

TEST(ProofOfComparisons, WrittenAsADifferenceThatIsCast) {
  const std::string unequal = "d = Sub (x, c5) y = Cast <to = 9> (d)", equal = "d = Sub (x, c5) b = Cast <to = 9> (d) y = Not (b)";
  const auto are_alike = [](const std::string& type, const std::string& a, const std::string& b, const std::string& five = "5") {
    const std::string head = "g (" + type + "[3,4] x) => (y) <" + type + " c5 = {" + five + "}, " + type + " c6 = {6}> { ";
    const Example of_a(head + a + " }"), of_b(head + b + " }");
    return prove(of_a, of_b).proved && prove(of_b, of_a).proved;
  };
  for (const std::string type : {"float", "double", "int64", "int32"}) {
    EXPECT_TRUE(are_alike(type, "y = Equal (x, c5)", equal)) << type;
    EXPECT_TRUE(are_alike(type, "y = Equal (c5, x)", equal)) << type;
    EXPECT_TRUE(are_alike(type, "e = Equal (x, c5) y = Not (e)", unequal)) << type;
    EXPECT_FALSE(are_alike(type, "y = Equal (x, c5)", unequal)) << type;
    EXPECT_FALSE(are_alike(type, "y = Equal (x, c6)", equal)) << type;
    EXPECT_FALSE(are_alike(type, "y = Greater (x, c5)", unequal)) << type;
    EXPECT_FALSE(are_alike(type, "y = Equal (x, c5)", "d = Add (x, c5) b = Cast <to = 9> (d) y = Not (b)")) << type;
  }
  // Two infinities are equal, and their difference is NaN.
  EXPECT_FALSE(are_proved("y = Equal (x, z)", "d = Sub (x, z) b = Cast <to = 9> (d) y = Not (b)"));
  EXPECT_TRUE(are_proved_for("int64", "y = Equal (x, z)", "d = Sub (x, z) b = Cast <to = 9> (d) y = Not (b)"));
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

/// Nodes of a model that compare integers x with constants.
bool are_proved_with_constants(const std::string& type, const std::string& a, const std::string& b) {
  const auto model = [&](const std::string& nodes) {
    std::string constants;
    for (const int number : {3, 4, 5, 9, 10}) {
      const std::string text = std::to_string(number);
      constants += (constants.empty() ? "" : ", ") + type + " c" + text + " = {" + text + "}";
    }
    constants += ", int64 l4 = {4}, int64 l5 = {5}, int32 i5 = {5}, int8 s5 = {5}";
    return Example("g (" + type + "[3,4] x) => (y) <" + constants + "> { " + nodes + " }");
  };
  return prove(model(a), model(b)).proved && prove(model(b), model(a)).proved;
}

TEST(ProofOfComparisons, ThatHoldForTheSameIntegers) {
  for (const std::string type : {"int64", "int32", "int8"}) {
    EXPECT_TRUE(are_proved_with_constants(type, "y = Less (x, c5)", "y = LessOrEqual (x, c4)")) << type;
    EXPECT_TRUE(are_proved_with_constants(type, "y = Greater (c5, x)", "g = Greater (x, c4) y = Not (g)")) << type;
    EXPECT_TRUE(are_proved_with_constants(type, "y = Equal (x, c5)", "m = Min (x, c9) y = Equal (m, c5)")) << type;
    EXPECT_TRUE(are_proved_with_constants(type, "y = Less (x, c5)", "m = Clip (x, c3, c9) y = Less (m, c5)")) << type;
    EXPECT_TRUE(are_proved_with_constants(type, "y = Equal (x, c4)", "g = Greater (x, c3) l = Less (x, c5) y = And (g, l)")) << type;
    EXPECT_TRUE(are_proved_with_constants(type, "y = Less (x, c5)", "l = Less (x, c4) e = Equal (c4, x) y = Xor (l, e)")) << type;
    EXPECT_TRUE(are_proved_with_constants(type, "y = Equal (x, c5)", "y = Equal (c5, x)")) << type;
    EXPECT_TRUE(are_proved_with_constants(type, "y = Less (x, c5)", "w = Cast <to = 7> (x) y = LessOrEqual (w, l4)")) << type;
    EXPECT_FALSE(are_proved_with_constants(type, "y = Less (x, c5)", "y = LessOrEqual (x, c5)")) << type;
    EXPECT_FALSE(are_proved_with_constants(type, "y = Less (x, c5)", "y = LessOrEqual (c4, x)")) << type;
    EXPECT_FALSE(are_proved_with_constants(type, "y = Equal (x, c5)", "m = Min (x, c5) y = Equal (m, c5)")) << type;
    EXPECT_FALSE(are_proved_with_constants(type, "y = Equal (x, c10)", "m = Min (x, c9) y = Equal (m, c10)")) << type;
    EXPECT_FALSE(are_proved_with_constants(type, "y = Equal (x, c3)", "m = Max (x, c4) y = Equal (m, c4)")) << type;
    EXPECT_FALSE(are_proved_with_constants(type, "y = Less (x, c5)", "n = Neg (x) y = LessOrEqual (n, c4)")) << type;
  }
  EXPECT_FALSE(are_proved_with_constants("int64", "y = Equal (x, l5)", "q = Cast <to = 6> (x) y = Equal (q, i5)")) << "beyond int32";
  EXPECT_FALSE(are_proved_with_constants("float", "y = Less (x, c5)", "y = LessOrEqual (x, c4)")) << "between 4 and 5";
  EXPECT_FALSE(are_proved_with_constants("float", "y = Less (x, c5)", "g = GreaterOrEqual (x, c5) y = Not (g)")) << "NaN";
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
