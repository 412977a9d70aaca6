#include "verify/inputs/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "ops/bounds.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/verify.h"
#include "tensors.h"
#include "verify/inputs/roles.h"
#include "verify/run/distance.h"

namespace relayout {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using testing::integers_of;
using ::testing::Le;
using testing::values_of;

std::unique_ptr<Model> parse(const std::string& graph) {
  return Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph);
}

/// The inputs of all samples.
std::vector<Inputs> all_inputs(const Model& model, const VerifyOptions& options = {}, int attempt = 0) {
  const InputMaker maker(model.graph(), options);
  std::vector<Inputs> out;
  const int samples = maker.is_always_the_same() ? 1 : options.samples > 0 ? options.samples : 4;  // the default
  for (int sample = 0; sample < samples; ++sample) {
    out.push_back(maker.make(maker.dims().assign({sample, samples, attempt}), sample));
  }
  return out;
}

Tensor input(const Model& model, const std::string& name, int sample) {
  return all_inputs(model)[static_cast<std::size_t>(sample)].at(name).tensor;
}

TEST(Inputs, NumbersAreScaledIntoARange) {
  const auto model = parse("g (float[2,3,16,16] x) => (float[?,?,?,?] y) { y = Relu (x) }");
  for (const Bounds range : {Bounds{-3, 4}, Bounds{0, 2}, Bounds{-5, -1}}) {
    for (int sample = 0; sample < 4; ++sample) {
      const InputMaker free(model->graph(), {}), held(model->graph(), {}, nullptr, {false, {{"x", range}}});
      const auto made = [&](const InputMaker& maker) {
        return values_of(maker.make(maker.dims().assign({0, 1, 0}), sample).at("x").tensor);
      };
      const auto before = made(free), after = made(held);
      EXPECT_THAT(after, Each(AllOf(Ge(range.lowest), Le(range.highest))));
      const auto [least, most] = std::ranges::minmax(before);
      // Values within the range stay; the rest keeps its order and its shape.
      if (least >= range.lowest && most <= range.highest) {
        EXPECT_EQ(after, before);
      }
      EXPECT_EQ(std::ranges::max_element(after) - after.begin(), std::ranges::max_element(before) - before.begin());
      if (range.lowest < 0 && range.highest > 0 && before[1] != 0) {
        EXPECT_NEAR(static_cast<double>(after[0] / before[0]), static_cast<double>(after[1] / before[1]), 1e-5);
      }
    }
  }
}

std::string refusal(const Model& model, const VerifyOptions& options = {}) {
  try {
    (void)all_inputs(model, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return std::string(error.what()) + " | " + error.hint();
  }
  return "accepted";
}

double fraction(const std::vector<double>& values, bool (*holds)(double)) {
  return static_cast<double>(std::ranges::count_if(values, holds)) / static_cast<double>(values.size());
}

std::string convolution(const std::string& shape) {
  std::string zeros = "0";
  for (int i = 1; i < 4 * 3 * 9; ++i) zeros += ", 0";
  return "g (float[" + shape + "] x) => (float[?, ?, ?, ?] y) <float[4, 3, 3, 3] w = {" + zeros +
         "}> { y = Conv<pads = [1, 1, 1, 1]>(x, w) }";
}

TEST(Inputs, V34V35ImagesReachFarAndBelowZero) {
  const auto model = parse(convolution("N, 3, 16, 16"));
  const auto plain = values_of(input(*model, "x", 0));
  EXPECT_NEAR(fraction(plain, [](double v) { return v < 0; }), 0.5, 0.05);
  EXPECT_NEAR(fraction(plain, [](double v) { return std::fabs(v) > 1; }), 0.317, 0.05);
  const auto wide = values_of(input(*model, "x", 1));
  EXPECT_GT(fraction(wide, [](double v) { return v > 6; }), 0.04);
  const auto smooth = values_of(input(*model, "x", 2));
  EXPECT_THAT(smooth, Each(AllOf(Ge(0), Le(1))));
  // Neighbours in a row of low-pass noise are near each other; in white noise they are not.
  double step = 0, spread = 0;
  for (std::size_t i = 0; i + 16 < smooth.size(); ++i) {
    step += i % 16 == 15 ? 0 : std::fabs(smooth[i + 1] - smooth[i]);
    spread += std::fabs(smooth[(i * 7919) % smooth.size()] - smooth[i]);
  }
  EXPECT_LT(step, spread / 2);
  const auto bytes = values_of(input(*model, "x", 3));
  EXPECT_THAT(bytes, Each(AllOf(Ge(0), Le(255))));
  EXPECT_GT(std::ranges::max(bytes), 250);
}

TEST(Inputs, V36V37BatchesOfTwoThreeTwoOne) {
  const auto model = parse(convolution("N, 3, 16, 16"));
  std::vector<int64_t> batches;
  for (const Inputs& inputs : all_inputs(*model)) batches.push_back(inputs.at("x").tensor.dims()[0]);
  EXPECT_EQ(batches, (std::vector<int64_t>{2, 3, 2, 1}));
  // And the elements of a batch differ.
  const auto x = values_of(input(*model, "x", 0));
  EXPECT_NE(x[0], x[std::size_t{3} * 16 * 16]);
}

TEST(Inputs, SameSeedSameValuesWhateverTheOtherInputs) {
  const auto one = parse("g (float[4, 4] x) => (float[4, 4] y) { y = Relu(x) }");
  const auto two = parse("g (float[2, 9] u, float[8, 4] x) => (float[8, 4] y, float[2, 9] z) { y = Relu(x) z = Relu(u) }");
  const auto small = values_of(input(*one, "x", 0)), large = values_of(input(*two, "x", 0));
  EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin()));
  VerifyOptions options;
  options.seed = 2;
  EXPECT_NE(values_of(all_inputs(*one, options)[0].at("x").tensor), small);
  EXPECT_NE(values_of(input(*one, "x", 1)), small);
}

TEST(Inputs, SpatialSizesAreUnequalAndAnOddMultipleOf32Comes) {
  const auto model = parse(convolution("N, 3, H, W"));
  const auto inputs = all_inputs(*model);
  EXPECT_EQ(inputs[0].at("x").tensor.dims(), (Dims{2, 3, 64, 96}));
  EXPECT_EQ(inputs[1].at("x").tensor.dims(), (Dims{3, 3, 96, 160}));
  // Later attempts use the sizes of classifiers.
  EXPECT_EQ(all_inputs(*model, {}, 1)[0].at("x").tensor.dims(), (Dims{2, 3, 224, 224}));
}

TEST(Inputs, ChannelsComeFromTheWeight) {
  const auto model = parse(convolution("a, b, c, d"));
  EXPECT_EQ(input(*model, "x", 0).dims()[1], 3);
}

TEST(Inputs, FeaturesComeFromTheMatrix) {
  const auto model = parse("g (float[N, F] x) => (float[N, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, w) }");
  EXPECT_EQ(input(*model, "x", 0).dims(), (Dims{2, 3}));
  const auto gemm = parse("g (float[N, F] x) => (float[N, 2] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> { y = Gemm<transB = 1>(x, w) }");
  EXPECT_EQ(input(*gemm, "x", 0).dims(), (Dims{2, 3}));
}

TEST(Inputs, TheUserSetsDimsAndShapes) {
  const auto model = parse(convolution("N, 3, H, W"));
  VerifyOptions options;
  options.dims = {{"N", 5}, {"W", 40}};
  EXPECT_EQ(all_inputs(*model, options)[1].at("x").tensor.dims(), (Dims{5, 3, 96, 40}));
  VerifyOptions shape;
  shape.shapes = {{"x", {1, 3, 32, 33}}};
  for (const Inputs& inputs : all_inputs(*model, shape)) EXPECT_EQ(inputs.at("x").tensor.dims(), (Dims{1, 3, 32, 33}));
}

TEST(Inputs, OneSymbolHasOneValueEverywhere) {
  const auto model = parse("g (float[N, T] x, int64[N, T] i) => (float[N, T] y) { c = Cast<to = 1>(i) y = Add(x, c) }");
  VerifyOptions options;
  options.shapes = {{"x", {7, 9}}};
  EXPECT_EQ(all_inputs(*model, options)[0].at("i").tensor.dims(), (Dims{7, 9}));
  options.shapes.emplace("i", Dims{7, 8});
  EXPECT_THAT(refusal(*model, options), HasSubstr("'T' cannot be both"));
}

TEST(Inputs, RequestsThatDoNotFitAreUsageErrors) {
  const auto model = parse(convolution("N, 3, height, W"));
  VerifyOptions options;
  options.dims = {{"heigth", 3}};
  EXPECT_THAT(refusal(*model, options), AllOf(HasSubstr("--dim heigth"), HasSubstr("did you mean 'height'?")));
  options = {};
  options.shapes = {{"X", {1, 3, 8, 8}}};
  EXPECT_THAT(refusal(*model, options), HasSubstr("--shape X: the model has no input of this name, only 'x'"));
  options.shapes = {{"x", {1, 4, 8, 8}}};
  EXPECT_THAT(refusal(*model, options), HasSubstr("shape [1, 4, 8, 8] does not fit input 'x'"));
  options.shapes = {{"x", {1, 3, 8}}};
  EXPECT_THAT(refusal(*model, options), HasSubstr("does not fit"));
  options = {};
  options.inputs = {{"nothing", "/dev/null"}};
  EXPECT_THAT(refusal(*model, options), HasSubstr("--input nothing"));
}

TEST(Inputs, V64DimsAndValuesThatCannotBeGuessed) {
  const auto features = parse("g (float[N, F] x) => (float[N, F] y) { y = Relu(x) }");
  EXPECT_THAT(refusal(*features), AllOf(HasSubstr("dimension 'F' (axis 1) of input 'x'"), HasSubstr("--dim F=")));
  const auto nameless = parse("g (float[?, ?] x) => (float[?, ?] y) { y = Relu(x) }");
  EXPECT_THAT(refusal(*nameless), AllOf(HasSubstr("dimension 1 of input 'x'"), HasSubstr("--shape x=")));
  for (const char* node : {"y = Reshape(x, s)", "y = Expand(x, s)", "t = Identity(s) y = Tile(x, t)",
                           "one = Constant<value_int = 1>() t = Add(s, one) y = Reshape(x, t)"}) {
    const auto model = parse("g (float[4, 4] x, int64[2] s) => (float[a, b] y) { " + std::string(node) + " }");
    EXPECT_THAT(refusal(*model), AllOf(HasSubstr("input 's' is a size or axis for"), HasSubstr("--input s=FILE"))) << node;
  }
  const auto top = parse("g (float[4] x, int64[1] k) => (float[n] y, int64[n] i) { y, i = TopK(x, k) }");
  EXPECT_THAT(refusal(*top), HasSubstr("TopK"));
}

TEST(Inputs, V60V61IdsCoverTheTable) {
  std::string rows = "0";
  for (int i = 1; i < 40; ++i) rows += ", 0";
  const auto model = parse("g (int64[N, T] ids) => (float[N, T, 2] y) <float[20, 2] table = {" + rows + "}> { y = Gather(table, ids) }");
  std::set<int64_t> seen;
  for (const Inputs& inputs : all_inputs(*model)) {
    const auto ids = integers_of(inputs.at("ids").tensor);
    EXPECT_THAT(ids, Each(AllOf(Ge(-20), Le(19))));
    seen.insert(ids.begin(), ids.end());
  }
  for (int64_t row = 0; row < 20; ++row) EXPECT_TRUE(seen.contains(row)) << row;
  // The first sample alone contains the first and last row, and all rows of a table no larger than the sample.
  const auto first = integers_of(input(*model, "ids", 0));
  EXPECT_EQ(first[0], 0);
  EXPECT_EQ(first[1], 19);
  EXPECT_GE(std::set<int64_t>(first.begin(), first.end()).size(), 19U);
}

TEST(Inputs, IdsCoverATableOfQuantizedNumbers) {
  for (const std::string downstream : {"rows = DequantizeLinear(table, scale)", "rows = Cast<to = 1>(table)",
                                       "wide = Cast<to = 6>(table) rows = DequantizeLinear(wide, scale)"}) {
    const auto model = parse("g (int64[N, T] ids) => (float[N, T, 1] y) <int8[6, 1] table = {1, 2, 3, 4, 5, 6}, float scale = {0.5}> { " +
                             downstream + " y = Gather(rows, ids) }");
    std::set<int64_t> seen;
    for (const Inputs& inputs : all_inputs(*model)) {
      for (const int64_t id : integers_of(inputs.at("ids").tensor)) seen.insert(id < 0 ? id + 6 : id);
    }
    EXPECT_THAT(seen, ::testing::ElementsAre(0, 1, 2, 3, 4, 5)) << downstream;
  }
}

TEST(Inputs, IdsOfAnotherInputStayWithinIt) {
  const auto model = parse("g (float[N, 7] x, int64[3] i) => (float[N, 3] y) { y = Gather<axis = 1>(x, i) }");
  for (const Inputs& inputs : all_inputs(*model)) EXPECT_THAT(integers_of(inputs.at("i").tensor), Each(AllOf(Ge(-7), Le(6))));
  const auto free = parse("g (float[N, 7] x, int64[3] i) => (float[3, 7] y) { y = Gather(x, i) }");
  const auto samples = all_inputs(*free);
  for (const Inputs& inputs : samples) {
    const int64_t rows = inputs.at("x").tensor.dims()[0];
    EXPECT_THAT(integers_of(inputs.at("i").tensor), Each(AllOf(Ge(-rows), Le(rows - 1))));
  }
}

TEST(Inputs, IdsOfSomethingUnknownAreZero) {
  const auto model = parse("g (float[4] x, int64[3] i) => (float[3] y) { n = NonZero(x) c = Cast<to = 1>(n) y = Gather<axis = 1>(c, i) }");
  EXPECT_THAT(integers_of(input(*model, "i", 0)), Each(0));
}

TEST(Inputs, V63MasksHaveBothValuesInEveryRow) {
  const auto model = parse("g (bool[N, 9] m, float[N, 9] x) => (float[N, 9] y) { z = Neg(x) y = Where(m, x, z) }");
  const auto random = integers_of(input(*model, "m", 0));
  for (std::size_t row = 0; row < 2; ++row) {
    const std::set<int64_t> seen(random.begin() + static_cast<std::ptrdiff_t>(row * 9),
                                 random.begin() + static_cast<std::ptrdiff_t>(row * 9 + 9));
    EXPECT_EQ(seen, (std::set<int64_t>{0, 1}));
  }
  EXPECT_THAT(integers_of(input(*model, "m", 1)), Each(1));
  const auto prefix = integers_of(input(*model, "m", 2));
  for (std::size_t i = 1; i < 9; ++i) EXPECT_LE(prefix[i], prefix[i - 1]);
  EXPECT_EQ(prefix[0], 1);
  EXPECT_EQ(prefix[8], 0);
}

TEST(Inputs, IntegersThatAreCastAndMultipliedAreMasks) {
  const auto model = parse("g (int64[2, 5] keep, float[2, 5] x) => (float[2, 5] y) { c = Cast<to = 1>(keep) y = Mul(x, c) }");
  EXPECT_THAT(integers_of(input(*model, "keep", 0)), Each(AllOf(Ge(0), Le(1))));
}

TEST(Inputs, InputsThatHideScoresAreMasks) {
  for (const std::string nodes : {"n = Sub(one, c) y = Mul(n, hides)", "n = Sub(c, one) y = Mul(n, large)", "y = Mul(c, hides)"}) {
    const auto model = parse(
        "g (int64[2, 5] keep) => (float[2, 5] y) <float one = {1}, float hides = {-10000}, float large = {10000}>"
        " { c = Cast<to = 1>(keep) " +
        nodes + " }");
    EXPECT_THAT(integers_of(input(*model, "keep", 0)), Each(AllOf(Ge(0), Le(1)))) << nodes;
  }
}

InputRole role_of(const std::string& graph) {
  const auto model = parse("g " + graph);
  return use_of(*model->graph().inputs()[0]).role;
}

TEST(Inputs, AScaledStepIsNoMask) {
  const std::string step =
      "(int64[N] t) => (float[N, 4] y) <float k = {1000}, float h = {-1000}, float one = {1}, float[4] f = {1, 0.1, 0.01, 0.001}," +
      std::string("int64[1] ax = {1}> { c = Cast<to = 1>(t) ");
  EXPECT_EQ(role_of(step + "s = Mul(c, k) u = Unsqueeze(s, ax) a = Mul(u, f) y = Sin(a) }"), InputRole::number);
  EXPECT_EQ(role_of(step + "s = Mul(c, h) u = Unsqueeze(s, ax) a = Mul(u, f) y = Cos(a) }"), InputRole::number);
  EXPECT_EQ(role_of(step + "s = Mul(c, k) u = Unsqueeze(s, ax) a = Div(u, f) e = Exp(a) y = Identity(e) }"), InputRole::number);
  EXPECT_EQ(role_of(step + "r = Sub(one, c) s = Mul(r, h) u = Unsqueeze(s, ax) y = Mul(u, f) }"), InputRole::number);
  EXPECT_EQ(role_of("(int64[N, 1] t, float[N, 4] x) => (float[N, 4] y) { q = Mul(t, t) c = Cast<to = 1>(q) y = Mul(c, x) }"),
            InputRole::number);
}

TEST(Inputs, PositionsOfRotationsAreRowsOfTheirCache) {
  const std::string head = "(int64[2, 3] p, float[2, 2, 3, 8] x, float[10, 4] c, float[10, 4] s) => (float[2, 2, 3, 8] y) { ";
  EXPECT_EQ(role_of(head + "y = RotaryEmbedding(x, c, s, p) }"), InputRole::ids);
  EXPECT_EQ(role_of(head + "y = com.microsoft.RotaryEmbedding(x, p, c, s) }"), InputRole::ids);
  EXPECT_EQ(role_of("(int64[1] p, float[2, 2, 3, 8] x, float[10, 4] c, float[10, 4] s) => (float[2, 2, 3, 8] y) { "
                    "y = com.microsoft.RotaryEmbedding(x, p, c, s) }"),
            InputRole::zero);
}

TEST(Inputs, ALabelMapIsNoMaskWhateverItsName) {
  const std::string map =
      "(int64[N, 8, 8] mask, float[N, 8, 8] x) => (float[N, 8, 8] y) <int64 k = {3}, int64 one = {1}, float f = {0.05}, float z = {0}> ";
  EXPECT_EQ(role_of(map + "{ e = Equal(mask, k) y = Where(e, z, x) }"), InputRole::number);
  EXPECT_EQ(role_of(map + "{ e = Equal(mask, one) y = Where(e, z, x) }"), InputRole::number);
  EXPECT_EQ(role_of(map + "{ c = Cast<to = 1>(mask) y = Mul(c, f) }"), InputRole::number);
  EXPECT_EQ(role_of(map + "{ e = Greater(mask, k) c = Cast<to = 1>(mask) p = Mul(c, x) y = Where(e, p, x) }"), InputRole::number);
  EXPECT_EQ(role_of(map + "{ y = Cast<to = 1>(mask) }"), InputRole::number);
}

TEST(Inputs, MasksOfTokensStayMasks) {
  const std::string tokens =
      "(int64[N, L] m, float[N, L, 4] x, float[N, 1, L] scores) => (float[?, ?, ?] y) <float one = {1}, float hides = {-10000}," +
      std::string("float large = {10000}, int64 zero = {0}, int64 yes = {1}, float low = {-1e9}, int64[1] ax = {1}, int64[1] last = {2}> ");
  const std::string wide = "u = Unsqueeze(m, ax) ";
  for (const std::string& nodes : {
           wide + "c = Cast<to = 1>(u) n = Sub(one, c) h = Mul(n, hides) y = Add(scores, h)",
           wide + "c = Cast<to = 1>(u) n = Sub(c, one) h = Mul(n, large) s = Add(scores, h) y = Softmax(s)",
           wide + "c = Cast<to = 1>(u) n = Mul(c, large) h = Sub(n, large) y = Add(scores, h)",
           wide + "b = Cast<to = 9>(u) y = Where(b, scores, low)",
           wide + "e = Equal(u, zero) y = Where(e, low, scores)",
           wide + "e = Equal(u, yes) n = Not(e) y = Where(n, low, scores)",
           wide + "b = Cast<to = 9>(u) k = Not(b) a = Or(k, k) y = Where(a, low, scores)",
           std::string("v = Unsqueeze(m, last) c = Cast<to = 1>(v) p = Mul(x, c) t = ReduceSum(p, ax) w = ReduceSum(c, ax) y = Div(t, w)"),
       }) {
    EXPECT_EQ(role_of(tokens + "{ " + nodes + " }"), InputRole::mask) << nodes;
  }
}

TEST(Inputs, NamesTellMasksFromOtherFactorsAndCounts) {
  const std::string rest = "float[N, L] x) => (float[?, ?] y) <float tiny = {1e-30}, int64[1] ax = {1}> { ";
  for (const std::string nodes :
       {"c = Cast<to = 1>(m) s = ReduceSum(c, ax) y = Div(x, s) }", "c = Cast<to = 1>(m) t = Add(c, tiny) l = Log(t) y = Add(x, l) }"}) {
    std::string named = rest + nodes;
    for (std::size_t at = named.find("(m)"); at != std::string::npos; at = named.find("(m)")) named.replace(at, 3, "(attention_mask)");
    EXPECT_EQ(role_of("(int64[N, L] attention_mask, " + named), InputRole::mask) << nodes;
    EXPECT_NE(role_of("(int64[N, L] m, " + rest + nodes), InputRole::mask) << nodes;
  }
}

TEST(Inputs, ImagesOfIntegersAreBytesUnderAnyScaling) {
  const std::string rest = "w = ConstantOfShape(dims) y = Conv(n, w) }";
  for (const std::string type : {"uint8", "int32", "int64"}) {
    for (const std::string nodes :
         {"c = Cast<to = 1>(x) m = Div(c, k) n = Sub(m, mean)", "c = Cast<to = 1>(x) m = Sub(c, mean) n = Mul(m, k)",
          "c = Cast<to = 1>(x) n = Mul(c, k)", "c = Cast<to = 1>(x) m = Div(c, k) n = Sub(m, one)", "s = Mul(x, x) n = Cast<to = 1>(s)"}) {
      const auto model =
          parse("g (" + type + "[1, 3, 8, 8] x) => (float y) <float k = {127.5}, float one = {1}, int64[4] dims = {2, 3, 3, 3}," +
                " float[1, 3, 1, 1] mean = {0.485, 0.456, 0.406}> { " + nodes + " " + rest);
      EXPECT_GT(std::ranges::max(integers_of(input(*model, "x", 0))), 200) << type << " " << nodes;
    }
  }
}

TEST(Inputs, PositionsCountedAlongAMaskLeaveItAMask) {
  const auto model = parse(R"(g (int64[2, 5] attention_mask) => (float[2, 5, 3] y)
    <int64[2] dims = {9, 3}, int64 last = {1}, int64 one = {1}>
    { table = ConstantOfShape(dims) c = CumSum(attention_mask, last) m = Mul(c, attention_mask) p = Sub(m, one) q = Add(p, one) y = Gather(table, q) })");
  for (int sample = 0; sample < 4; ++sample) {
    EXPECT_THAT(integers_of(input(*model, "attention_mask", sample)), Each(AllOf(Ge(0), Le(1))));
  }
}

TEST(Inputs, RolesFollowFromTheKindOfOperators) {
  for (const std::string op : {"AveragePool<kernel_shape = [2, 2]>", "GlobalLpPool", "GlobalMaxPool"}) {
    const auto pool = parse("g (int32[1, 3, 8, 8] x) => (float y) { c = Cast<to = 1>(x) y = " + op + "(c) }");
    EXPECT_GT(std::ranges::max(integers_of(input(*pool, "x", 0))), 200) << op;
  }
  for (const std::string op : {"CumSum", "CumProd"}) {
    const auto sum = parse("g (float[4, 5] x, int64[1] axis) => (float[4, 5] y) { y = " + op + "(x, axis) }");
    for (int sample = 0; sample < 4; ++sample) EXPECT_THAT(integers_of(input(*sum, "axis", sample)), Each(0)) << op;
  }
}

TEST(Inputs, BytesAreBytes) {
  const auto model = parse("g (uint8[2, 8, 8] x) => (float[2, 8, 8] y) { y = Cast<to = 1>(x) }");
  EXPECT_GT(std::ranges::max(integers_of(input(*model, "x", 0))), 200);
  for (const int64_t value : integers_of(input(*model, "x", 1))) EXPECT_TRUE(value == 0 || value == 255);
  const auto scaled = parse("g (float[2, 3, 8, 8] x) => (float[2, 3, 8, 8] y) { c = Constant<value_float = 255.0>() y = Div(x, c) }");
  const auto divided = parse("g (float[2, 3, 8, 8] x) => (float[2, 3, 8, 8] y) <float c = {255.0}> { y = Div(x, c) }");
  EXPECT_GT(std::ranges::max(values_of(input(*divided, "x", 0))), 200);
  EXPECT_GE(std::ranges::min(values_of(input(*divided, "x", 0))), 0);
}

TEST(Inputs, DomainsOfFunctions) {
  for (const auto& [op, least, most] : {std::tuple{"Log", 0.0, 1e9}, {"Sqrt", 0.0, 1e9}, {"Asin", -1.0, 1.0}, {"Acosh", 1.0, 1e9}}) {
    const auto model = parse("g (float[64] x) => (float[64] y) { y = " + std::string(op) + "(x) }");
    for (int sample = 0; sample < 4; ++sample) EXPECT_THAT(values_of(input(*model, "x", sample)), Each(AllOf(Ge(least), Le(most)))) << op;
  }
  const auto squared = parse("g (float[64] x) => (float[64] y) <float two = {2.0}> { y = Pow(x, two) }");
  EXPECT_LT(std::ranges::min(values_of(input(*squared, "x", 0))), 0);
  const auto divisor = parse("g (int32[64] x, int32[64] d) => (int32[64] y) { y = Div(x, d) }");
  for (const int64_t value : integers_of(input(*divisor, "d", 2))) EXPECT_NE(value, 0);
}

TEST(Inputs, LengthsStayWithinTheSequence) {
  const auto model =
      parse("g (float[6, 3, 2] x, int64[3] n) => (float[6, 3, 2] y) { y = ReverseSequence<time_axis = 0, batch_axis = 1>(x, n) }");
  for (int sample = 0; sample < 4; ++sample) EXPECT_THAT(integers_of(input(*model, "n", sample)), Each(AllOf(Ge(1), Le(6))));
  EXPECT_THAT(integers_of(input(*model, "n", 1)), Each(6));
}

TEST(Inputs, ReadersInsideSubgraphsCount) {
  const auto model = parse(R"(g (bool c, int64[3] i) => (float[3] y) <float[5] t = {1, 2, 3, 4, 5}> {
    y = If (c) <then_branch = a () => (float[3] p) { p = Gather(t, i) }, else_branch = b () => (float[3] q) { q = Cast<to = 1>(i) }>
  })");
  EXPECT_THAT(integers_of(input(*model, "i", 0)), Each(AllOf(Ge(0), Le(4))));
  EXPECT_THAT(integers_of(input(*model, "c", 0)), Each(1));
  EXPECT_THAT(integers_of(input(*model, "c", 1)), Each(0));
}

TEST(Inputs, SequencesAndOptionalsAreGenerated) {
  const auto model =
      parse("g (seq(float[2]) s, optional(float[3]) o) => (seq(float[2]) y, float[3] z) { y = Identity(s) z = OptionalGetElement(o) }");
  const Inputs inputs = all_inputs(*model)[0];
  EXPECT_EQ(describe(inputs.at("s")), "sequence of 3: f32[2], f32[2], f32[2]");
  EXPECT_NE(values_of(inputs.at("s").elements[0].tensor), values_of(inputs.at("s").elements[1].tensor));
  EXPECT_EQ(describe(inputs.at("o")), "optional f32[3]");
}

TEST(Inputs, NothingVariesWithoutInputs) {
  const auto model = parse("g () => (float[1] y) <float[1] w = {1}> { y = Neg(w) }");
  EXPECT_TRUE(InputMaker(model->graph(), {}).is_always_the_same());
}

TEST(Inputs, IdsAreFoundThroughOperatorsThatMoveElements) {
  const std::string nodes[] = {"k = GatherElements(i, at)",     "k = GatherND(i, places)", "k = Compress(i, mask)",
                               "k = ScatterElements(z, at, i)", "k = Pad(two, pads, i)",   "k = Identity(i)"};
  std::vector<bool> are_ids;
  for (const std::string& node : nodes) {
    const std::string shape = node.find("Pad") != std::string::npos ? "" : "[2]";
    const auto model = parse("g (int64" + shape + " i) => (float[N] y) <float[7] t = {0, 1, 2, 3, 4, 5, 6}, int64[2] at = {0, 1}," +
                             "int64[2, 1] places = {0, 1}, bool[2] mask = {1, 1}, int64[2] z = {0, 0}, int64[2] two = {1, 2}," +
                             "int64[2] pads = {0, 1}> { " + node + " y = Gather(t, k) }");
    are_ids.push_back(use_of(*model->graph().inputs()[0]).role == InputRole::ids);
  }
  // Values that ScatterElements inserts may be added up.
  EXPECT_EQ(are_ids, (std::vector<bool>{true, true, true, false, true, true}));
}

TEST(Inputs, ManyReadersAreFoundInLinearTime) {
  std::string nodes;
  for (int i = 0; i < 20000; ++i) nodes += "t" + std::to_string(i) + " = Identity(" + (i == 0 ? "x" : "t" + std::to_string(i - 1)) + ")\n";
  const auto model = parse("g (float[2, 3] x) => (float[2, 3] y) {" + nodes + "y = Log(t19999) }");
  EXPECT_EQ(use_of(*model->graph().inputs()[0]).role, InputRole::positive);
}

}  // namespace
}  // namespace relayout
