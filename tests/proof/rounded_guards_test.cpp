// Tests that a fold which rounds a guard away proves nothing, and that folds of other constants stay proved.
#include <gmock/gmock.h>

#include <ostream>

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

/// Bodies of two graphs that read x and make y.
struct Bodies {
  const char* name;
  std::string a, b;
};
void PrintTo(const Bodies& row, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << row.name;
}

Example graph(const std::string& body) {
  return Example(
      "g (float[1,2,2,2] x) => (float[M,N,O,P] y) <float[2,2,1,1] w = {1, 0, 0, 1}, float[2,2,1,1] w2 = {2, 0, 0, 2}, float[2,2] m = {1, "
      "0, 0, "
      "1}, float[2] b = {0.5, 0.5}, float[2] b1 = {1, 1}, float[2] none = {0.000000001, 0.000000001}, float e = {0.000000001}, "
      "float less = {-0.000000001}, float[1,2,1,1] some = {0.000000001, 0}, float h = {0.5}, float two = {2}, float half = {0.5}, "
      "float[2] sum = {0.75, 0.75}, float quarter = {0.25}, int64[1] ax = {3}> { " +
      body + " }");
}

class LosesAGuard : public testing::TestWithParam<Bodies> {};
TEST_P(LosesAGuard, InEitherDirection) {
  for (const bool is_forward : {true, false}) {
    const Bodies& row = GetParam();
    const ProofResult result = is_forward ? prove(graph(row.a), graph(row.b)) : prove(graph(row.b), graph(row.a));
    EXPECT_FALSE(result.proved);
    ASSERT_FALSE(result.unexplained.empty());
    EXPECT_THAT(result.unexplained[0].text, testing::HasSubstr("away, which keeps the operand of"));
  }
}
const std::vector<Bodies> kLost = {
    {"Log", "t = Conv (x, w, b) u = Add (t, e) y = Log (u)", "u = Conv (x, w, b) y = Log (u)"},
    {"Transposed", "t = ConvTranspose (x, w, b) u = Add (e, t) y = Sqrt (u)", "u = ConvTranspose (x, w, b) y = Sqrt (u)"},
    {"Sub", "t = Conv (x, w, b) u = Sub (t, less) y = Reciprocal (u)", "u = Conv (x, w, b) y = Reciprocal (u)"},
    {"Divisor", "t = Conv (x, w, b) u = Add (t, e) y = Div (x, u)", "u = Conv (x, w, b) y = Div (x, u)"},
    {"Root", "t = Conv (x, w, b) u = Add (t, e) y = Pow (u, h)", "u = Conv (x, w, b) y = Pow (u, h)"},
    {"AfterASum", "t = Conv (x, w, b) u = Add (t, e) s = ReduceSum (u, ax) y = Log (s)",
     "u = Conv (x, w, b) s = ReduceSum (u, ax) y = Log (s)"},
    {"OneChannel", "t = Conv (x, w, b) u = Add (t, some) y = Log (u)", "u = Conv (x, w, b) y = Log (u)"},
    {"WithAFactor", "t = Conv (x, w, b) f = Mul (t, two) u = Add (f, e) y = Log (u)", "u = Conv (x, w2, b1) y = Log (u)"},
    {"BeforeAFactor", "t = Conv (x, w, b) u = Add (t, e) f = Mul (u, two) y = Log (f)", "u = Conv (x, w2, b1) y = Log (u)"},
    {"MatMul", "t = MatMul (x, m) c = Add (t, b) u = Add (c, e) y = Log (u)", "t = MatMul (x, m) u = Add (t, b) y = Log (u)"},
    {"IntoTheBiasOfAnotherShift", "t = Conv (x, w, b) u = Add (t, e) y = Log (u)", "t = Conv (x, w, none) u = Add (t, half) y = Log (u)"},
};
INSTANTIATE_TEST_SUITE_P(Guards, LosesAGuard, testing::ValuesIn(kLost), [](const auto& row) { return std::string(row.param.name); });

class LosesNoGuard : public testing::TestWithParam<Bodies> {};
TEST_P(LosesNoGuard, IsProved) {
  EXPECT_TRUE(is_proved(prove(graph(GetParam().a), graph(GetParam().b))));
}
const std::vector<Bodies> kHeld = {
    {"NoEdge", "t = Conv (x, w, b) u = Add (t, e) y = Relu (u)", "u = Conv (x, w, b) y = Relu (u)"},
    {"WholePower", "t = Conv (x, w, b) u = Add (t, e) y = Pow (u, two)", "u = Conv (x, w, b) y = Pow (u, two)"},
    {"NoBias", "t = Conv (x, w) u = Add (t, e) y = Log (u)", "u = Conv (x, w, none) y = Log (u)"},
    {"UsualAddend", "t = Conv (x, w, b) u = Add (t, quarter) y = Log (u)", "u = Conv (x, w, sum) y = Log (u)"},
    {"KeptBesideAFactor", "t = Conv (x, w, b) f = Mul (t, two) u = Add (f, e) y = Log (u)",
     "t = Conv (x, w2, b1) u = Add (t, e) y = Log (u)"},
    {"NeededByNothing", "t = Conv (x, w, b) u = Add (t, e) d = Log (u) dead = Neg (d) y = Relu (u)", "u = Conv (x, w, b) y = Relu (u)"},
    {"LostInBoth", "t = Conv (x, w) u = Add (t, e) v = Add (u, half) y = Log (v)", "v = Conv (x, w, b) y = Log (v)"},
};
INSTANTIATE_TEST_SUITE_P(Folds, LosesNoGuard, testing::ValuesIn(kHeld), [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace relayout::test
