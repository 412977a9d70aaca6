// Tests --precision: the values that change their type, those that do not, and that types meet in one Cast.
#include <gmock/gmock.h>
#include <onnx/checker.h>

#include <array>
#include <limits>

#include "base/half.h"
#include "passes/pass.h"
#include "passes/precision/magnitudes.h"
#include "relayout/datum.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/compute.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kPrecision = "precision";

PassOptions to(DataType type, bool io = false) {
  PassOptions options;
  options.precision = type;
  options.io_precision = io;
  return options;
}

TEST(Precision, NumbersFromHereOnRoundToInfinity) {
  EXPECT_EQ(passes::overflow_of(DataType::float16), 65520);  // halfway between the largest number, 65504, and 2^16
  EXPECT_EQ(passes::overflow_of(DataType::bfloat16), 0x1.FFp127);
  EXPECT_EQ(passes::overflow_of(DataType::float32), 0x1.FFFFFFp127);
}

/// ONNX's shape and type inference accepts the model.
void expect_checked(const PassResult& result) {
  onnx::ModelProto message;
  ASSERT_TRUE(message.ParseFromString(result.bytes));
  EXPECT_NO_THROW(onnx::checker::check_model(message, /*full_check=*/true)) << to_text(*result.model);
}

/// The result is valid, and a second run changes nothing.
PassResult expect_precision(const TextModel& before, const PassOptions& options) {
  PassResult result = run({kPrecision}, before, options);
  EXPECT_TRUE(run({kPrecision}, TextModel::of(result.bytes), options).bytes == result.bytes) << "twice is not once:\n"
                                                                                             << to_text(*result.model);
  expect_checked(result);
  return result;
}

/// Element type of a value of the main graph, as its producer gives it; of initializers and declared values.
DataType type_of(const PassResult& result, const std::string& name) {
  const Value* const value = result.model->graph().find(name);
  if (value == nullptr) return DataType::undefined;
  if (value->initializer() != nullptr) return value->initializer()->data->type();
  const auto declared = value->declared();
  return declared ? declared->type : DataType::undefined;
}

std::string targets(const PassResult& result) {
  std::string out;
  for (const Node& node : result.model->graph().nodes()) {
    if (!node.is("Cast")) continue;
    out += (out.empty() ? "" : " ") + node.input(0)->name() + ">" + node.output(0)->name();
  }
  return out;
}

const std::string kNet = "<float[4,3,3,3] W, float[4] B> { c = Conv (x, W, B)  y = Relu (c) }";
const std::string kHead = "g (float[1,3,8,8] x) => (float[1,4,6,6] y) ";

TEST(Precision, WeightsAndActivationsWithCastsAtTheBorders) {
  const PassResult result = expect_precision(kHead + kNet, to(DataType::float16));
  EXPECT_EQ(type_of(result, "W"), DataType::float16);
  EXPECT_EQ(type_of(result, "B"), DataType::float16);
  EXPECT_EQ(type_of(result, "x"), DataType::float32);
  EXPECT_EQ(type_of(result, "y"), DataType::float32);
  EXPECT_EQ(targets(result), "x>x.f16 y.f16>y");
}

TEST(Precision, EachWeightIsRoundedOnceToNearestEven) {
  TextModel before("g (float[1,1,1,1] x) => (float[1,6,1,1] y) <float[6,1,1,1] W> { y = Conv (x, W) }");
  const std::vector<double> values{1.0 + 0x1p-11, 1.0 + 0x3p-11, -65504, 1.0 / 3, 0x1p-24, 1 + 0x1.001p-11};
  before.set("W", values);
  const PassResult result = expect_precision(before, to(DataType::float16));
  std::vector<double> expected;  // IEEE 754: to nearest, ties to even
  for (const double value : values) {
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    const double step = std::ldexp(1.0, std::max(exponent - 11, -24));
    expected.push_back(std::nearbyint(value / step) * step);
  }
  EXPECT_EQ(result.initializer("W"), expected);
}

TEST(Precision, GatheredRowsFollowTheProductsThatReadThem) {
  const PassResult result = expect_precision(
      "g (int64[2,4] ids) => (float[2,4,8] y) <float[32,8] E, float[8,8] W, float[8] B> { e = Gather (E, ids)  a = Add (e, B)  m = MatMul "
      "(a, W)  y = Relu (m) }",
      to(DataType::float16));
  EXPECT_EQ(type_of(result, "E"), DataType::float16);
  EXPECT_EQ(type_of(result, "W"), DataType::float16);
  EXPECT_EQ(targets(result), "y.f16>y");
}

TEST(Precision, StatesOfDimsThatComeInFollowTheRecurrentOperator) {
  const PassResult result = expect_precision(
      "g (int64[5,2] ids, int64[3] dims) => (float[5,1,2,6] y) <float[32,8] E, float[1,24,8] W, float[1,24,6] R, float zero = {0}> { x = "
      "Gather (E, ids)  h = Expand (zero, dims)  y, last, cell = LSTM <hidden_size = 6> (x, W, R, , , h, h) }",
      to(DataType::float16));
  EXPECT_EQ(type_of(result, "W"), DataType::float16);
  EXPECT_EQ(targets(result), "y.f16>y");
}

TEST(Precision, EveryNodeThatStaysHasAReason) {
  const PassResult result =
      run({kPrecision}, "g (float[2,8] x) => (float[2,8] y) { e = Exp (x)  r = Relu (e)  y = Neg (r) }", to(DataType::float16));
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::fragile, Reason::no_gain, Reason::no_gain));
  const PassResult picked =
      run({kPrecision}, "g (int64[2] ids) => (float[2,8] y) <float[4,8] E> { y = Gather (E, ids) }", to(DataType::float16));
  EXPECT_THAT(picked.reasons(), ElementsAre(Reason::no_gain));
  const PassResult nested = run({kPrecision},
                                "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop (n, c, x) <body = b (int64 i, bool k, "
                                "float[2] s) => (bool l, float[2] t) { l = Identity (k)  t = Identity (s) }> }",
                                to(DataType::float16));
  EXPECT_THAT(nested.reasons(), Contains(Reason::shared_types));
}

TEST(Precision, ModelsInOtherTypesAreReported) {
  const std::string half = "g (float16[2,8] x) => (float16[2,8] y) { y = Relu (x) }";
  const auto detail = [](const PassResult& result) { return result.findings.size() == 1 ? result.findings[0].detail : "?"; };
  EXPECT_EQ(detail(run({kPrecision}, half, to(DataType::float16))), "nothing is in f32; the model is in f16 already");
  EXPECT_EQ(detail(run({kPrecision}, half, to(DataType::bfloat16))),
            "nothing is in f32; tensors in f16 keep their type (--precision fp32 first)");
  EXPECT_EQ(detail(run({kPrecision}, "g (float[2,8] x) => (float[2,8] y) { y = Relu (x) }", to(DataType::float32))),
            "nothing is in f16 or bf16");
}

TEST(Precision, InterfaceFollowsOnRequest) {
  const PassResult result = expect_precision(kHead + kNet, to(DataType::float16, true));
  EXPECT_EQ(type_of(result, "x"), DataType::float16);
  EXPECT_EQ(type_of(result, "y"), DataType::float16);
  EXPECT_EQ(targets(result), "");
}

TEST(Precision, BackIsTheOriginalExceptForRounding) {
  const TextModel before(kHead + kNet);
  for (const bool io : {false, true}) {
    const PassResult there = run({kPrecision}, before, to(DataType::float16, io));
    const PassResult back = expect_precision(TextModel::of(there.bytes), to(DataType::float32, io));
    EXPECT_EQ(structure_of(*back.model), structure_of(*before.load())) << io;
    EXPECT_EQ(back.initializer("W"), there.initializer("W"));
    EXPECT_EQ(type_of(back, "W"), DataType::float32);
    EXPECT_EQ(type_of(back, "x"), DataType::float32);
  }
}

TEST(Precision, BackRestoresTheBytesIfNothingWasRounded) {
  TextModel before(kHead + kNet);
  std::vector<double> values;
  for (int i = 0; i < 108; ++i) values.push_back((i % 17 - 8) / 16.0);
  before.set("W", values).set("B", {1, -2, 0.5, 0});
  const PassResult there = run({kPrecision}, before, to(DataType::float16));
  EXPECT_TRUE(run({kPrecision}, TextModel::of(there.bytes), to(DataType::float32)).bytes == before.bytes());
}

TEST(Precision, FragileOperatorsKeepTheirTypeWithAReason) {
  const TextModel before(
      "g (float[2,8] x) => (float[2,5] y) <float[8,5] W, float[5,5] V> { a = MatMul (x, W)  s = Softmax (a)  b = MatMul (s, V)  e = Exp "
      "(b)  "
      "y = MatMul (e, V) }");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::fragile, Reason::fragile));
  EXPECT_THAT(result.details(), HasSubstr("exponentials"));
  EXPECT_EQ(result.count("Cast"), 6) << targets(result);
}

TEST(Precision, NodesBetweenNodesThatStayStayToo) {
  const TextModel before(
      "g (float[2,8] x) => (float[2,5] y) <float[8,5] W, float[5] k> { n = Neg (x)  a = MatMul (n, W)  s = Softmax (a)  m = Mul (s, k)  y "
      "= "
      "Log (m) }");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(targets(result), "n>n.f16 a>a.f32");
  EXPECT_EQ(type_of(result, "k"), DataType::float32);
}

TEST(Precision, OneCastForAllReadersAndNoneTwice) {
  const TextModel before(
      "g (float[2,8] x) => (float[2,5] y, float[2,5] z) <float[8,5] W, float[8,5] V> { y = MatMul (x, W)  a = MatMul (x, V)  b = Exp (a)  "
      "c = Log (a)  z = Add (b, c) }");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(targets(result), "x>x.f16 y.f16>y a>a.f32");
}

TEST(Precision, AnOutputThatIsReadInsideIsCastOnce) {
  const TextModel before(
      "g (float[2,8] x) => (float[2,8] y, float[2,8] z, float[2,8] e) <float[8,8] W> { y = MatMul (x, W)  z = MatMul (y, W)  e = Exp (y) "
      "}");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(targets(result), "x>x.f16 y.f16>y z.f16>z");
}

TEST(Precision, AWeightOfBothKindsOfReadersStays) {
  const TextModel before("g (float[2,8] x) => (float[2,8] y, float[8,8] z) <float[8,8] W> { y = MatMul (x, W)  z = Exp (W) }");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(type_of(result, "W"), DataType::float32);
  EXPECT_EQ(targets(result), "W>W.f16 x>x.f16 y.f16>y");
}

TEST(Precision, SizesScalesAndRegionsStay) {
  const TextModel before(
      "g (float[1,3,8,8] x) => (float[1,4,12,12] y) <float[4,3,3,3] W, float[8] roi = {0,0,0,0,1,1,1,1}, float[4] scales = {1,1,2,2}> { c "
      "= "
      "Conv (x, W)  y = Resize <mode = \"linear\"> (c, roi, scales) }");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(type_of(result, "roi"), DataType::float32);
  EXPECT_EQ(type_of(result, "scales"), DataType::float32);
  EXPECT_EQ(targets(result), "x>x.f16 y.f16>y");
}

TEST(Precision, StatisticsOfANormalizationKeepTheirType) {
  const TextModel before(
      "g (float[1,3,8,8] x) => (float[1,4,6,6] y) <float[4,3,3,3] W, float[4] s, float[4] b, float[4] m, float[4] var> { c = Conv (x, W)  "
      "r = "
      "Relu (c)  y = BatchNormalization (r, s, b, m, var) }");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(type_of(result, "var"), DataType::float32);
  EXPECT_EQ(targets(result), "x>x.f16 y.f16>y");
  const PassResult old = expect_precision(
      TextModel("g (float[1,3,8,8] x) => (float[1,4,6,6] y) <float[4,3,3,3] W, float[4] s, float[4] b, float[4] m, float[4] "
                "var> { c = Conv (x, W)  r = Relu (c)  y = BatchNormalization (r, s, b, m, var) }",
                R"(<ir_version: 7, opset_import: ["" : 13]>)"),
      to(DataType::float16));
  EXPECT_THAT(old.reasons(), ElementsAre(Reason::fragile)) << "one type for all operands before opset 15";
}

TEST(Precision, TypesThatAnOperatorDoesNotTakeAtThisOpset) {
  const PassResult result = run({kPrecision}, kHead + kNet, to(DataType::bfloat16));
  EXPECT_TRUE(result.bytes == TextModel(kHead + kNet).bytes());
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::type_not_allowed, Reason::no_gain));
  EXPECT_THAT(result.details(), HasSubstr("Conv takes bf16 from opset 22 on"));
  const TextModel newer(kHead + kNet, R"(<ir_version: 10, opset_import: ["" : 22]>)");
  EXPECT_EQ(type_of(expect_precision(newer, to(DataType::bfloat16)), "W"), DataType::bfloat16);
}

TEST(Precision, ConstantsThatWouldOverflowOrVanishStayAndAreNamed) {
  TextModel large("g (float[2,8] x) => (float[2,8] y) <float[8,8] W, float[8] k> { a = MatMul (x, W)  y = Add (a, k) }");
  large.set("k", {1, 2, 3, 4, 5, 6, 7, -3.4e38});
  const PassResult mask = expect_precision(large, to(DataType::float16));
  EXPECT_THAT(mask.reasons(), ElementsAre(Reason::overflow));
  EXPECT_THAT(mask.details(), HasSubstr("'k': 1 of 8"));
  EXPECT_EQ(type_of(mask, "k"), DataType::float32);
  large.set("k", {1e-8, 0, 0, 0, -1e-9, 0, 0, 0});
  EXPECT_THAT(expect_precision(large, to(DataType::float16)).reasons(), ElementsAre(Reason::underflow));
  const PassResult partly = expect_precision(large.set("k", {1, 1e-8, 1e-6, 4, 5, 6, 7, 8}), to(DataType::float16));
  EXPECT_THAT(partly.reasons(), IsEmpty());
  EXPECT_THAT(partly.details(), HasSubstr("of 8 values 1 become 0, 1 are subnormal in f16"));
}

constexpr std::array kScores{-20.0, 3.0, -19.0, 17.0};  ///< float16 rounds −20 − 65504 to −∞

/// kScores for 4 keys, with `mask` (1: visible) applied in one of the ways in which exporters write it, then a Softmax.
TextModel masked(const std::string& inits, const std::string& nodes) {
  TextModel out(
      "g (float[2,2] x, int64[2,4] mask) => (float[2,4] y) <float[2,4] W, float one = {1}, float zero = {0}, int64[2] dims = {2, 4}" +
          inits + "> { s = MatMul (x, W)  f = Cast <to = 1> (mask)  b = Cast <to = 9> (mask)  o = Sub (one, f) " + nodes +
          " y = Softmax (m) }",
      R"(<ir_version: 10, opset_import: ["" : 22]>)");
  out.set("W", {kScores[0], kScores[1], kScores[2], kScores[3], 0, 0, 0, 0});
  return out;
}

/// A row that sees keys 0 and 2, and one that sees none, whose result is `none`.
void expect_masked_rows(const TextModel& before, DataType type, const std::vector<double>& none) {
  const PassResult result = expect_precision(before, to(type));
  EXPECT_EQ(type_of(result, "W"), type) << "the product itself is made in 16 bits";
  Tensor x(DataType::float32, {2, 2}), mask(DataType::int64, {2, 4});
  std::ranges::fill(std::span(x.data<float>(), 4), 1.0F);
  std::ranges::fill(std::span(mask.data<int64_t>(), 8), 0);
  mask.data<int64_t>()[0] = mask.data<int64_t>()[2] = 1;
  const double first = 1 / (1 + std::exp(kScores[2] - kScores[0]));
  const Tensor y = contiguous(compute(*result.model, {{"x", Datum(x)}, {"mask", Datum(mask)}}).back().tensor);
  const std::span values(y.data<float>(), 8);
  EXPECT_THAT(values.first(4), testing::Pointwise(testing::FloatNear(1e-6F), std::vector<double>{first, 0, 1 - first, 0}));
  EXPECT_THAT(values.last(4), testing::Pointwise(testing::FloatNear(1e-6F), none));
}

TEST(Precision, MasksStayFiniteUpstreamOfASoftmax) {
  const std::vector<std::pair<std::string, std::string>> ways{
      {", float c = {-3.4e38}", "w = Mul (o, c)  m = Add (s, w)"},
      {", float c = {-1e9}", "w = Mul (c, o)  m = Add (w, s)"},
      {", float c = {3.4e38}", "w = Mul (o, c)  n = Neg (w)  m = Add (s, n)"},
      {", float c = {3.4e38}", "w = Mul (o, c)  m = Sub (s, w)"},
      {", float c = {-3.4e38}", "m = Where (b, s, c)"},
      {", float c = {-3.4e38}", "w = Where (b, zero, c)  m = Add (s, w)"},
      {", float c = {-3.4e38}", "e = Expand (c, dims)  w = Where (b, zero, e)  t = Identity (w)  m = Add (s, t)"},
      {", float c = {-3.4e38}", "w = Mul (o, c)  a = Add (s, w)  m = Max (a, c)"},
      {"", "e = ConstantOfShape <value = float[1] {-3.4e38}> (dims)  w = Mul (e, o)  m = Add (s, w)"},
      {"", "d = Constant <value = double[1] {-3.4e38}> ()  e = Cast <to = 1> (d)  w = Mul (o, e)  m = Add (s, w)"},
  };
  for (const auto& [inits, nodes] : ways) {
    SCOPED_TRACE(inits + nodes);
    // The mask dwarfs the scores, in float32 too: all keys weigh the same.
    expect_masked_rows(masked(inits, nodes), DataType::float16, {0.25, 0.25, 0.25, 0.25});
    expect_masked_rows(masked(inits, nodes), DataType::bfloat16, {0.25, 0.25, 0.25, 0.25});
  }
  // Within the range, but not with a score of −20: the mask changes all scores alike.
  const double sum = std::exp(kScores[0]) + std::exp(kScores[1]) + std::exp(kScores[2]) + std::exp(kScores[3]);
  std::vector<double> weights;
  for (const double score : kScores) weights.push_back(std::exp(score) / sum);
  expect_masked_rows(masked(", float c = {-65504}", "w = Mul (o, c)  m = Add (s, w)"), DataType::float16, weights);
}

TEST(Precision, ALargeConstantThatOnlyBoundsDoesNotReachReaders) {
  const PassResult result = expect_precision(
      "g (float[2,4] x) => (float[2,4] y) <float[4,4] W, float[4,4] V, float c = {-3.4e38}> { a = MatMul (x, W)  m = Max (a, c)  y = "
      "MatMul (m, "
      "V) }",
      to(DataType::float16));
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::overflow));
  EXPECT_EQ(type_of(result, "V"), DataType::float16);
}

TEST(Precision, QuantizedNetworksStay) {
  const TextModel before(
      "g (float[1,3,8,8] x) => (float[1,4,6,6] y) <int8[4,3,3,3] W, float s = {0.5}, int8 z = {0}> { q = QuantizeLinear (x, s, z)  d = "
      "DequantizeLinear (q, s, z)  w = DequantizeLinear (W, s, z)  y = Conv (d, w) }");
  EXPECT_TRUE(run({kPrecision}, before, to(DataType::float16)).bytes == before.bytes());
}

TEST(Precision, GraphsInsideNodesChangeWithinTheirBorders) {
  const TextModel before(
      "g (bool k, float[1,3,8,8] x) => (float[1,4,6,6] y) <float[4,3,3,3] W> { y = If (k) <then_branch = t () => (float[1,4,6,6] p) { p = "
      "Conv "
      "(x, W) }, else_branch = e () => (float[1,4,6,6] q) { r = Neg (x)  q = Conv (r, W) }> }");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(type_of(result, "W"), DataType::float16);
  EXPECT_EQ(result.count("Cast"), 4);
  const PassResult back = run({kPrecision}, TextModel::of(result.bytes), to(DataType::float32));
  EXPECT_EQ(structure_of(*back.model), structure_of(*before.load()));
}

TEST(Precision, LoopStatesKeepTheirTypes) {
  const TextModel before(
      "g (int64 n, float[2,4] x) => (float[2,4] y) <float[4,4] W> { k = Constant <value = bool {1}> ()  y = Loop (n, k, x) <body = b "
      "(int64 i, "
      "bool c, float[2,4] s) => (bool d, float[2,4] t) { d = Identity (c)  t = MatMul (s, W) }> }");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(type_of(result, "W"), DataType::float16);
  EXPECT_EQ(result.count("Cast"), 2);
}

TEST(Precision, SequencesAndUnknownOperatorsStay) {
  const TextModel before(
      R"(<ir_version: 8, opset_import: ["" : 17, "other" : 1]> g (float[2,4] x) => (float[2,4] y) { a = other.Thing (x)  y = Relu (a) })",
      "");
  EXPECT_TRUE(run({kPrecision}, before, to(DataType::float16)).bytes == before.bytes());
  const TextModel sequence(
      "g (float[2,4] x) => (float[2,4] y) <float[4,4] W, int64 i = {0}> { a = MatMul (x, W)  s = SequenceConstruct (a, a)  b = SequenceAt "
      "(s, "
      "i)  y = MatMul (b, W) }");
  const PassResult result = expect_precision(sequence, to(DataType::float16));
  EXPECT_THAT(result.reasons(), Contains(Reason::type_unknown));
}

TEST(Precision, ACastThatIsThereIsNotDoubled) {
  const TextModel mixed(
      "g (float[2,4] x) => (float[2,4] y) <float16[4,4] W, float[4,4] V> { h = Cast <to = 10> (x)  a = MatMul (h, W)  b = Cast <to = 1> "
      "(a)  y = "
      "MatMul (b, V) }");
  const PassResult result = expect_precision(mixed, to(DataType::float16));
  EXPECT_EQ(type_of(result, "V"), DataType::float16);
  EXPECT_EQ(targets(result), "x>h y.f16>y") << "b is read in front of its Cast, which is not needed any more";
  const PassResult all = expect_precision(mixed, to(DataType::float32));
  EXPECT_EQ(targets(all), "");
  EXPECT_EQ(type_of(all, "W"), DataType::float32);
}

TEST(Precision, IntegersAreCastToTheRequestedType) {
  const PassResult result = expect_precision(
      "g (int16[2,4] x) => (float[2,4] y) <float[4,4] W> { f = Cast <to = 1> (x)  y = MatMul (f, W) }", to(DataType::float16));
  EXPECT_EQ(targets(result), "x>f y.f16>y");
}

TEST(Precision, DeclaredInnerTypesFollow) {
  TextModel before(kHead + kNet);
  before.edit([](onnx::ModelProto& message) {
    auto& info = *message.mutable_graph()->add_value_info();
    info.set_name("c");
    info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  });
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(type_of(result, "c"), DataType::float16);
  const PassResult back = run({kPrecision}, TextModel::of(result.bytes), to(DataType::float32));
  EXPECT_EQ(type_of(back, "c"), DataType::float32);
}

TEST(Precision, OverridableInitializersKeepTheirType) {
  TextModel before(kHead + kNet);
  before.edit([](onnx::ModelProto& message) {
    auto& input = *message.mutable_graph()->add_input();
    input.set_name("W");
    input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : {4, 3, 3, 3}) input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
  });
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_EQ(type_of(result, "W"), DataType::float32);
  EXPECT_THAT(targets(result), HasSubstr("W>W.f16"));
}

TEST(Precision, ModelsBeforeOpset6Stay) {
  const TextModel before("g (float[1,3,8,8] x, float[4,3,3,3] W) => (float[1,4,6,6] y) { y = Conv (x, W) }",
                         R"(<ir_version: 3, opset_import: ["" : 5]>)");
  const PassResult result = expect_precision(before, to(DataType::float16));
  EXPECT_TRUE(result.bytes == before.bytes());
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::type_not_allowed));
  EXPECT_THAT(result.details(), HasSubstr("opset 6"));
}

TEST(Precision, ConstantsAndNodesThatMoveThemFollowTheirReaders) {
  const PassResult result = expect_precision(
      "g (float[2,4] x) => (float[2,4] y) <float[4,4] W, float[4] k> { t = Transpose <perm = [1,0]> (W)  a = MatMul (x, t)  c = Constant "
      "<value = "
      "float[4] {1, 2, 3, 4}> ()  d = Add (c, k)  y = Mul (a, d) }",
      to(DataType::float16));
  EXPECT_EQ(type_of(result, "W"), DataType::float16);
  EXPECT_EQ(type_of(result, "k"), DataType::float16);
  EXPECT_EQ(targets(result), "x>x.f16 y.f16>y");
}

TEST(Precision, ExcludedNodesStay) {
  PassOptions options = to(DataType::float16);
  options.exclude = {"second"};
  TextModel before("g (float[2,8] x) => (float[2,8] y) <float[8,8] W, float[8,8] V> { a = MatMul (x, W)  y = MatMul (a, V) }");
  before.edit([](onnx::ModelProto& message) { message.mutable_graph()->mutable_node(1)->set_name("second"); });
  const PassResult result = expect_precision(before, options);
  EXPECT_EQ(type_of(result, "V"), DataType::float32);
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::excluded));
}

/// Expects values of the last output in 16 bits near those in 32.
void expect_near(const TextModel& before, const PassResult& result, const Dims& dims, double tolerance) {
  Tensor x(DataType::float32, dims);
  for (int64_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
  const Tensor a = contiguous(compute(*before.load(), {{"x", Datum(x)}}).back().tensor);
  const Tensor b = contiguous(compute(*result.model, {{"x", Datum(x)}}).back().tensor);
  ASSERT_EQ(b.type(), DataType::float32);
  double largest = 0, error = 0;
  for (int64_t i = 0; i < a.element_count(); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(a.data<float>()[i])));
    error = std::max(error, std::fabs(static_cast<double>(a.data<float>()[i]) - static_cast<double>(b.data<float>()[i])));
  }
  EXPECT_LT(error, tolerance * largest);
  EXPECT_GT(error, 0) << "nothing was rounded";
}

TEST(Precision, ValuesAreThoseOfTheModelInSixteenBits) {
  const TextModel before(
      "g (float[1,3,8,8] x) => (float[1,5] y) <float[4,3,3,3] W, float[4] B, float[4,5] V> { c = Conv (x, W, B)  r = Relu (c)  p = "
      "GlobalAveragePool (r)  f = Flatten (p)  m = MatMul (f, V)  y = Softmax (m) }",
      R"(<ir_version: 10, opset_import: ["" : 22]>)");
  expect_near(before, expect_precision(before, to(DataType::float16)), {1, 3, 8, 8}, 0.02);
  expect_near(before, expect_precision(before, to(DataType::bfloat16)), {1, 3, 8, 8}, 0.16);
}

}  // namespace
}  // namespace relayout::test
