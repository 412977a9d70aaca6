// Tests which constants that keep operands off the ends of domains stay, and which fold as ever.
#include <gmock/gmock.h>

#include <ostream>

#include "passes/folds/affine.h"
#include "relayout/findings.h"
#include "relayout/types.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::Contains;
using testing::Not;

struct Guarded {
  const char* name;
  std::string body;
  int64_t kept = 1;  ///< of Add and Sub, after the folds
  const char* linear = "c = Conv (x, W, b)";
};
void PrintTo(const Guarded& row, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << row.name;
}

/// x → linear → body; every channel of the weight is 1 in one place, every bias 0.5.
TextModel guarded(const Guarded& row) {
  return "g (float[1,2,2,2] x) => (float[M,N,O,P] y) <float[2,2,1,1] W, float[2] b = {0.5, 0.5}, float[2,2] M1, float[2] none = {0.0, "
         "0.5}, "
         "float e = {0.000000001}, float less = {-0.000000001}, float[1,2,1,1] each = {0.000000001, 0.00000001}, "
         "float[1,2,1,1] some = {0.000000001, 0.0}, float[1,2,1,1] mixed = {0.000000001, 0.3}, float h = {0.5}, float two = {2.0}, "
         "float one = {1.0}, float large = {0.01}, float[2] v = {1.0, 1.0}, float[2] z = {0.0, 0.0}> { " +
         std::string(row.linear) + " " + row.body + " }";
}

class Guards : public testing::TestWithParam<Guarded> {};

TEST_P(Guards, StayWhereTheBiasWouldRoundThemAway) {
  const PassResult result = run(kFolds, guarded(GetParam()));
  EXPECT_EQ(result.count("Add") + result.count("Sub"), GetParam().kept) << result.details();
}

const std::vector<Guarded> kKept = {
    {"Log", "u = Add (c, e)  y = Log (u)"},
    {"FromTheLeftBeforeSqrt", "u = Add (e, c)  y = Sqrt (u)"},
    {"SubBeforeReciprocal", "u = Sub (c, less)  y = Reciprocal (u)"},
    {"Divisor", "u = Add (c, e)  y = Div (x, u)"},
    {"Root", "u = Add (c, e)  y = Pow (u, h)"},
    {"LengthOfAVector", "u = Add (c, e)  y = LpNormalization <axis = 1> (u)"},
    {"DivisorAfterASum", "u = Add (c, e)  s = ReduceSum <keepdims = 1> (u)  y = Div (x, s)"},
    {"ThroughLimitsAndMoves", "u = Add (c, e)  r = Relu (u)  t = Transpose (r)  y = Log (t)"},
    {"OneForEachChannel", "u = Add (c, each)  y = Log (u)"},
    {"OneChannelOnly", "u = Add (c, some)  y = Log (u)"},
    {"OneChannelAmongBiases", "u = Add (c, mixed)  y = Log (u)"},
    {"AfterABatchNormalization", "n = BatchNormalization (c, v, b, z, v)  u = Add (n, e)  y = Log (u)"},
    {"AfterAFactor", "m = Mul (c, two)  u = Add (m, e)  y = Log (u)"},
    {"BeforeAFactor", "u = Add (c, e)  m = Mul (u, two)  y = Log (m)"},
    {"AfterAShift", "a = Add (c, h)  u = Add (a, e)  y = Log (u)", 1, "c = Conv (x, W)"},
    {"OfOneMinusX", "a = Sub (one, c)  u = Add (a, e)  y = Log (u)", 1, "c = Conv (x, W)"},
    {"ConvTranspose", "u = Add (c, e)  y = Log (u)", 1, "c = ConvTranspose (x, W, b)"},
    {"MatMul", "u = Add (c, e)  y = Log (u)", 2, "m = MatMul (x, M1)  c = Add (m, b)"},
    {"Gemm", "u = Add (c, e)  y = Log (u)", 1, "f = Flatten <axis = 3> (x)  c = Gemm (f, M1, b)"},
};
INSTANTIATE_TEST_SUITE_P(Kept, Guards, testing::ValuesIn(kKept), [](const auto& row) { return std::string(row.param.name); });

const std::vector<Guarded> kFolded = {
    {"WithoutABias", "u = Add (c, e)  y = Log (u)", 0, "c = Conv (x, W)"},
    {"ABiasOfZeroWhereItCounts", "u = Add (c, some)  y = Log (u)", 0, "c = Conv (x, W, none)"},
    {"AnAddendThatSurvives", "u = Add (c, large)  y = Log (u)", 0},
    {"BeforeRelu", "u = Add (c, e)  y = Relu (u)", 0},
    {"BeforeASquare", "u = Add (c, e)  y = Pow (u, two)", 0},
    {"Dividend", "u = Add (c, e)  y = Div (u, x)", 0},
    {"BeforeSoftmax", "u = Add (c, e)  y = Softmax (u)", 0},
    {"ALaterShiftRoundsItAnyway", "u = Add (c, e)  a = Add (u, h)  y = Log (a)", 0},
    {"AUsualBiasFarFromALog", "u = Add (c, mixed)  d = Conv (u, W)  y = Log (d)", 0},
    {"NothingAfterIt", "y = Add (c, e)", 0},
};
INSTANTIATE_TEST_SUITE_P(Folded, Guards, testing::ValuesIn(kFolded), [](const auto& row) { return std::string(row.param.name); });

TEST(GuardsOfTypes, AHalfHoldsFewerOfThem) {
  const std::string body = "u = Add (c, large)  y = Log (u)";
  EXPECT_THAT(run(kFolds, guarded({"", body})).reasons(), Not(Contains(Reason::guard_lost)));
  const PassResult half = run(kFolds, guarded({"", body}).cast(DataType::float16));
  EXPECT_THAT(half.reasons(), Contains(Reason::guard_lost)) << half.details();
  const PassResult brain = run(kFolds, guarded({"", body}).cast(DataType::bfloat16));
  EXPECT_THAT(brain.reasons(), Contains(Reason::guard_lost)) << brain.details();
}

}  // namespace
}  // namespace relayout::test
