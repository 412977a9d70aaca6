// Tests which nodes stay in 32 bits for what they feed, and that usual networks keep none for it.
#include <gmock/gmock.h>

#include <ostream>

#include "passes/precision/precision_plan.h"
#include "relayout/findings.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

struct Deciding {
  const char* name;
  std::string body;
  std::string kept;  ///< results of the nodes that stay for what they feed, in order of names
};
void PrintTo(const Deciding& row, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << row.name;
}

TextModel deciding(const std::string& body) {
  return "g (float[2,8,16] x, int64[2,4] i) => (float[K,L,M] y) <float[16,16] W, float[16,16] V, float[8,8,3] K, float[8,8,3] J, "
         "float[14,5] bank, float[1,1,16] window, float one = {1.0}, float half = {0.5}, float two = {2.0}, float less = {-2.0}, "
         "float root = {-0.5}, float tiny = {0.000000000001}, float usual = {0.00001}, float large = {0.001}, float alpha = {0.98}, "
         "float inverse = {-0.6}, float[1,8,1] alphas = {0.98, 0.9, 0.8, 0.7, 0.98, 0.9, 0.8, 0.7}, float[16,16] M> { " +
         body + " }";
}

/// Names of results of nodes that stay with a reason of this kind.
std::string kept_in(const PassResult& result) {
  std::vector<std::string> names;
  for (const Finding& finding : result.findings) {
    const bool is_meant =
        std::ranges::any_of(std::vector<std::string>{"the logarithm downstream", "a difference of close", "the ratio to a power",
                                                     "the division downstream", "squares that are", "what keeps it off 0"},
                            [&](const std::string& words) { return finding.detail.starts_with(words); });
    if (is_meant) names.push_back(finding.node);
  }
  std::ranges::sort(names);
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " ") + name;
  return out;
}

class DecidingBitsTest : public testing::TestWithParam<Deciding> {};

TEST_P(DecidingBitsTest, StayWhereTheyDecide) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    PassOptions options;
    options.precision = type;
    TextModel model = deciding(GetParam().body);
    model.edit([](onnx::ModelProto& message) { message.mutable_opset_import(0)->set_version(22); });
    const bool is_of_range = type == DataType::bfloat16 && GetParam().kept.starts_with('!');
    const std::string expected = GetParam().kept.starts_with('!') ? GetParam().kept.substr(1) : GetParam().kept;
    const PassResult result = run({"precision"}, model, options);
    EXPECT_EQ(kept_in(result), is_of_range ? "" : expected) << name_of(type) << '\n' << result.details();
  }
}

// With '!': bf16 holds the number.
const std::vector<Deciding> kRows = {
    // Logarithms.
    {"PowerSpectrum",
     "re = Conv (x, K)  im = Conv (x, J)  a = Mul (re, re)  b = Mul (im, im)  p = Add (a, b)  u = Add (p, tiny)  y = Log (u)",
     "a b im p re u"},
    {"MagnitudesThroughAFilterBank",
     "w = Mul (x, window)  re = Conv (w, K)  im = Conv (w, J)  a = Pow (re, two)  b = Pow (im, two)  p = Add (a, b)  s = Sqrt (p)  f = "
     "MatMul (s, "
     "bank)  u = Max (f, tiny)  y = Log (u)",
     "f im p re s u w"},
    {"BandPower", "c = Conv (x, K)  q = Mul (c, c)  p = AveragePool <kernel_shape = [3]> (q)  u = Clip (p, tiny)  y = Log (u)", "c p q u"},
    {"OneMinusAProbability", "c = MatMul (x, W)  s = Sigmoid (c)  u = Sub (one, s)  y = Log (u)", "s u"},
    {"ProductsInFrontOfALogarithm", "c = MatMul (x, W)  d = MatMul (c, V)  y = Log (d)", ""},
    {"LogSoftmax", "c = MatMul (x, W)  y = LogSoftmax (c)", ""},
    {"SquaresWithoutALogarithm", "c = Conv (x, K)  q = Mul (c, c)  y = Conv (q, K)", ""},
    // Ratios.
    {"GainControl",
     "re = Conv (x, K)  im = Conv (x, J)  a = Mul (re, re)  b = Mul (im, im)  p = Add (a, b)  f = MatMul (p, bank)  m = AveragePool "
     "<kernel_shape = [3], pads = [1, 1]> (f)  u = Add (m, usual)  s = Pow (u, alphas)  y = Div (f, s)",
     "a b f im m p re u y"},
    {"GainControlByAProduct",
     "c = Conv (x, K)  q = Mul (c, c)  m = MatMul (q, M)  u = Add (m, large)  s = Pow (u, inverse)  y = Mul (q, s)", "c m q u y"},
    {"GainControlOfAnInput", "a = Abs (x)  m = MatMul (a, M)  u = Add (m, large)  s = Pow (u, alpha)  o = Div (a, s)  y = MatMul (o, W)",
     "a m o u"},
    {"NormalizationByNeighbours",
     "n = Sub (K, one)  c = Conv (x, n)  r = Relu (c)  q = Mul (r, r)  m = AveragePool <kernel_shape = [3], pads = [1, 1]> (q)  u = Add "
     "(m, one)  s = Pow "
     "(u, alpha)  o = Div (r, s)  y = MatMul (o, W)",
     ""},
    {"NormalizationByARoot",
     "c = MatMul (x, W)  q = Mul (c, c)  v = ReduceMean (q)  u = Add (v, usual)  s = Pow (u, root)  o = Mul (c, s)  y = MatMul (o, V)",
     "q"},
    // Differences.
    {"Variance", "c = MatMul (x, W)  q = Mul (c, c)  a = ReduceMean (q)  m = ReduceMean (c)  b = Mul (m, m)  y = Sub (a, b)", "b q y"},
    {"VarianceByPow", "c = MatMul (x, W)  q = Pow (c, two)  a = ReduceMean (q)  m = ReduceMean (c)  b = Pow (m, two)  y = Sub (a, b)", "y"},
    {"VarianceAsASumOfNegatives",
     "c = MatMul (x, W)  q = Mul (c, c)  a = ReduceMean (q)  m = ReduceMean (c)  b = Mul (m, m)  n = Neg (b)  y = Add (a, n)", "b n q y"},
    {"VarianceOfWindows",
     "c = MatMul (x, W)  q = Mul (c, c)  a = AveragePool <kernel_shape = [3]> (q)  m = AveragePool <kernel_shape = [3]> (c)  b = Mul (m, "
     "m)  y = "
     "Sub (a, b)",
     "a b m q y"},
    {"Covariance",
     "c = MatMul (x, W)  d = MatMul (x, V)  q = Mul (c, d)  a = ReduceMean (q)  m = ReduceMean (c)  o = ReduceMean (d)  b = Mul (m, o)  y "
     "= Sub (a, "
     "b)",
     "b q y"},
    {"SquaredDistances",
     "c = MatMul (x, W)  d = MatMul (x, V)  cc = Mul (c, c)  dd = Mul (d, d)  a = ReduceSum (cc)  b = ReduceSum (dd)  t = Transpose <perm "
     "= [0, 2, "
     "1]> (d)  p = MatMul (c, t)  q = Mul (p, less)  s = Add (a, b)  y = Add (s, q)",
     "cc dd p q s y"},
    {"SineOfACosine", "c = MatMul (x, W)  q = Mul (c, c)  d = Sub (one, q)  y = Sqrt (d)", "d q"},
    {"RotatedPairs", "c = MatMul (x, W)  d = MatMul (x, V)  a = Mul (c, d)  b = Mul (c, x)  y = Sub (a, b)", ""},
    {"DeviationsFromAMean", "c = MatMul (x, W)  s = Sigmoid (c)  q = Mul (c, s)  m = ReduceMean (q)  y = Sub (q, m)", ""},
    {"AResidual", "c = MatMul (x, W)  d = MatMul (c, V)  y = Sub (c, d)", ""},
    // Squares and guards.
    {"SummedSquares",
     "c = MatMul (x, W)  q = Mul (c, c)  v = ReduceMean (q)  u = Add (v, usual)  s = Sqrt (u)  o = Div (c, s)  y = MatMul (o, V)", "q"},
    // Powers of complex numbers.
    {"Magnitude", "re = Conv (x, K)  im = Conv (x, J)  a = Mul (re, re)  b = Pow (im, two)  p = Add (a, b)  s = Sqrt (p)  y = Conv (s, K)",
     "!a p s"},
    {"PowerOfThree",
     "re = Conv (x, K)  im = Conv (x, J)  a = Mul (re, re)  b = Mul (im, im)  p = Add (a, b)  h = Mul (x, x)  q = Sum (p, h)  y = "
     "MatMul (q, W)",
     "!a b h p q"},
    {"SquareAndAnother", "c = Conv (x, K)  a = Mul (c, c)  p = Add (a, c)  s = Sqrt (p)  y = Conv (s, K)", ""},
    {"ReciprocalOfAPower",
     "re = Conv (x, K)  im = Conv (x, J)  a = Mul (re, re)  b = Mul (im, im)  p = Add (a, b)  u = Add (p, large)  r = Reciprocal (u)  y = "
     "Conv (r, K)",
     "a b im p re u"},
    {"UnitVectors",
     "re = Conv (x, K)  im = Conv (x, J)  a = Mul (re, re)  b = Mul (im, im)  p = Add (a, b)  s = Sqrt (p)  u = Max (s, large)  o = Div "
     "(re, u)  y = Conv (o, K)",
     "a b im o p re s u"},
    {"DivisionByAScaledPower",
     "re = Conv (x, K)  im = Conv (x, J)  a = Mul (re, re)  b = Mul (im, im)  p = Add (a, b)  h = Mul (p, half)  u = Add (h, large)  o = "
     "Div (one, u)  y = Conv (o, K)",
     "a b h im o p re u"},
    {"DivisionByASumOfOthers", "c = Conv (x, K)  d = Conv (x, J)  p = Add (c, d)  u = Add (p, large)  o = Div (c, u)  y = Conv (o, K)", ""},
    {"CubesOfGelu", "c = MatMul (x, W)  q = Mul (c, c)  r = Mul (q, c)  y = MatMul (r, V)", ""},
    {"LengthsNotBelow", "c = MatMul (x, W)  v = ReduceL2 (c)  u = Max (v, tiny)  o = Div (c, u)  y = MatMul (o, V)", "!o u"},
    {"LengthsNotBelowByClip",
     "c = MatMul (x, W)  v = ReduceL2 (c)  u = Clip (v, tiny)  t = Identity (u)  o = Div (c, t)  y = MatMul (o, V)", "!o t u"},
    {"LengthsNotBelowALargerNumber", "c = MatMul (x, W)  v = ReduceL2 (c)  u = Max (v, large)  o = Div (c, u)  y = MatMul (o, V)", ""},
    {"ReciprocalOfASmallRoot",
     "c = MatMul (x, W)  v = ReduceSumSquare (c)  u = Add (v, tiny)  s = Sqrt (u)  r = Reciprocal (s)  o = Mul (c, r)  y = MatMul (o, V)",
     "!o s u"},
    {"RootAsAPower", "c = MatMul (x, W)  v = ReduceSumSquare (c)  u = Add (v, tiny)  r = Pow (u, root)  o = Mul (c, r)  y = MatMul (o, V)",
     "!o u"},
    {"AWrittenOutLayerNormalization",
     "c = MatMul (x, W)  m = ReduceMean (c)  d = Sub (c, m)  q = Pow (d, two)  v = ReduceMean (q)  u = Add (v, usual)  s = Sqrt (u)  o = "
     "Div (d, "
     "s)  y = MatMul (o, V)",
     ""},
};
INSTANTIATE_TEST_SUITE_P(Rows, DecidingBitsTest, testing::ValuesIn(kRows), [](const auto& row) { return std::string(row.param.name); });

TEST(Precision, SumsOfTheSameSquareEnd) {
  std::string body = "c = MatMul (x, W)  s0 = Mul (c, c)  ";
  constexpr int kDoublings = 60;
  for (int i = 0; i < kDoublings; ++i)
    body += "s" + std::to_string(i + 1) + " = Add (s" + std::to_string(i) + ", s" + std::to_string(i) + ")  ";
  PassOptions options;
  options.precision = DataType::float16;
  const PassResult result = run({"precision"}, deciding(body + "y = Reciprocal (s" + std::to_string(kDoublings) + ")"), options);
  EXPECT_THAT(kept_in(result), HasSubstr("s0 s1 ")) << result.details();
}

TEST(Precision, AReductionByPositionsStays) {
  PassOptions options;
  options.precision = DataType::float16;
  for (const std::string op : {"ScatterElements <axis = 1, reduction = \"add\"> (c, i, c)", "ScatterND <reduction = \"max\"> (c, i, c)"}) {
    const PassResult result =
        run({"precision"},
            TextModel(
                "g (float[4,4] x, int64[4,4] i) => (float[M,N] y) <float[4,4] W> { c = MatMul (x, W)  s = " + op + "  y = MatMul (s, W) }",
                R"(<ir_version: 8, opset_import: ["" : 18]>)"),
            options);
    EXPECT_THAT(result.details(), HasSubstr("no-kernel"));
  }
  const PassResult result =
      run({"precision"},
          TextModel("g (float[4,4] x, int64[4,4] i) => (float[4,4] y) <float[4,4] W> { c = MatMul (x, W)  s = ScatterElements "
                    "<axis = 1> (c, i, c)  y = MatMul (s, W) }"),
          options);
  EXPECT_TRUE(result.reasons().empty()) << result.details();
}

}  // namespace
}  // namespace relayout::test
