// Tests inputs that take bytes, against numbers computed by hand from the formula.
#include "passes/byte_input.h"

#include <gmock/gmock.h>

#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "support/compute.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<double>;

const ByteImages kImage{.names = {"x"}, .mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};

const std::vector<std::string> kPasses = {"byte-input", "fold-batch-norm", "fold-affine"};

PassResult from_bytes(const TextModel& model, const ByteImages& bytes = kImage, const std::vector<std::string>& passes = kPasses) {
  PassOptions options;
  options.bytes = bytes;
  return run(passes, model, options);
}

/// Bytes of many sizes, those at the ends too.
Tensor some_bytes(const Dims& dims) {
  Tensor out(DataType::uint8, dims);
  for (int64_t i = 0; i < out.element_count(); ++i) out.data<uint8_t>()[i] = static_cast<uint8_t>(i % 5 == 0 ? 255 * (i % 2) : 37 * i);
  return out;
}

/// (byte · scale − mean) / deviation in double, rounded once; of an image [1, 3, H, W], or [1, H, W, 3].
Tensor normalized(const Tensor& bytes, const ByteImages& how, std::size_t axis = 1) {
  Tensor out(DataType::float32, bytes.dims());
  const Dims& dims = bytes.dims();
  const int64_t inner = axis == 1 ? dims[2] * dims[3] : 1, channels = dims[axis];
  for (int64_t i = 0; i < out.element_count(); ++i) {
    const int64_t c = i / inner % channels, from = how.swaps_channels ? i + (channels - 1 - 2 * c) * inner : i;
    const auto of = [&](const Numbers& values, double otherwise) {
      return values.empty() ? otherwise : values[values.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    };
    out.data<float>()[i] = static_cast<float>((bytes.data<uint8_t>()[from] * how.scale - of(how.mean, 0)) / of(how.deviation, 1));
  }
  return out;
}

/// The results of the model of bytes are those of the original on the numbers made of them, within rounding.
void expect_same_from_bytes(const TextModel& before, const Model& after, const ByteImages& how, const Dims& dims, std::size_t axis = 1) {
  const Tensor bytes = some_bytes(dims);
  const auto wanted = compute(*before.load(), {{"x", Datum(normalized(bytes, how, axis))}});
  const auto found = compute(after, {{"x", Datum(bytes)}});
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const Numbers a = reals_of(wanted[k].tensor), b = reals_of(found[k].tensor);
    ASSERT_EQ(a.size(), b.size());
    double range = 0;
    for (const double value : a) range = std::max(range, std::abs(value));
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-6 * range) << "output " << k << ", element " << i;
  }
}

TextModel convolution(const std::string& attributes) {
  return {"g (float[1,3,4,5] x) => (float[1,2,M,N] y) <float[2,3,2,2] W, float[2] B> { y = Conv <" + attributes + "> (x, W, B) }"};
}

TEST(ByteInput, IsOneCastWhereNothingPads) {
  TextModel model("g (float[1,3,4,5] x) => (float[1,1,4,5] y) <float[1,3,1,1] W, float[1] B> { y = Conv (x, W, B) }");
  model.set("W", {2, -3, 5}).set("B", {0.25});
  const PassResult result = from_bytes(model);
  EXPECT_EQ(structure_of(*result.model).find("Add"), std::string::npos);
  EXPECT_EQ(structure_of(*result.model).find("Mul"), std::string::npos);
  EXPECT_EQ(result.count("Cast"), 1);
  EXPECT_THAT(to_text(*result.model), HasSubstr("uint8[1,3,4,5] x"));
  // W / 255 / deviation, and B − Σ W · mean / deviation, with numpy in float64.
  EXPECT_THAT(result.initializer("W"), testing::Pointwise(testing::DoubleNear(1e-8), {0.034249507, -0.052521008, 0.087145969}));
  EXPECT_THAT(result.initializer("B"), testing::Pointwise(testing::DoubleNear(2e-6), {-6.900887225}));
  expect_same_from_bytes(model, *result.model, kImage, {1, 3, 4, 5});
}

TEST(ByteInput, LeavesOneAddInFrontOfPadding) {
  const TextModel model = convolution("pads = [1, 1, 1, 1]");
  const PassResult result = from_bytes(model);
  EXPECT_EQ(result.count("Add"), 1);
  EXPECT_EQ(result.count("Mul"), 0);
  // −255 · mean, which no rounding of a product moves.
  EXPECT_THAT(result.initializer("x.shift"), testing::Pointwise(testing::DoubleNear(1e-5), {-123.675, -116.28, -103.53}));
  expect_same_from_bytes(model, *result.model, kImage, {1, 3, 4, 5});
}

TEST(ByteInput, StaysInFrontOfOtherReaders) {
  const TextModel model(
      "g (float[1,3,4,5] x, float[1,3,4,5] other) => (float[1,2,3,4] y, float[1,3,4,5] z, float[1,3,4,5] t) <float[2,3,2,2] W> "
      "{ y = Conv (x, W)  z = Sigmoid (x)  t = Relu (other) }");
  const PassResult result = from_bytes(model);
  EXPECT_EQ(result.count("Add"), 1);
  EXPECT_EQ(result.count("Mul"), 1);
  EXPECT_THAT(to_text(*result.model), HasSubstr("float[1,3,4,5] other"));
  EXPECT_THAT(to_text(*result.model), HasSubstr("Relu (other)"));
  const TextModel alone(
      "g (float[1,3,4,5] x) => (float[1,2,3,4] y, float[1,3,4,5] z) <float[2,3,2,2] W> { y = Conv (x, W)  z = Sigmoid (x) }");
  expect_same_from_bytes(alone, *from_bytes(alone).model, kImage, {1, 3, 4, 5});
}

TEST(ByteInput, TakesScaleAlone) {
  const ByteImages caffe{.names = {"x"}, .mean = {104, 117, 123}, .scale = 1};
  const TextModel model = convolution("strides = [2, 2]");
  const PassResult result = from_bytes(model, caffe);
  EXPECT_EQ(result.count("Add") + result.count("Mul"), 0);
  expect_same_from_bytes(model, *result.model, caffe, {1, 3, 4, 5});
  const ByteImages plain{.names = {"x"}, .scale = 1};
  const PassResult unchanged = from_bytes(model, plain, {"byte-input"});
  EXPECT_EQ(structure_of(*unchanged.model).find("Mul"), std::string::npos);
  expect_same_from_bytes(model, *unchanged.model, plain, {1, 3, 4, 5});
}

TEST(ByteInput, ReversesWeightsWhereOnlyConvolutionsRead) {
  ByteImages reversed = kImage;
  reversed.swaps_channels = true;
  TextModel model(
      "g (float[1,3,4,5] x) => (float[1,1,4,5] y, float[1,1,4,5] z) <float[1,3,1,1] W, float[1,3,3,3] V> "
      "{ y = Conv (x, W)  z = Conv <pads = [1, 1, 1, 1]> (x, V) }");
  model.set("W", {1, 2, 3});
  const PassResult plain = from_bytes(model, reversed, {"byte-input"});
  EXPECT_EQ(plain.count("Gather"), 0);
  EXPECT_EQ(plain.initializer("W"), (Numbers{3, 2, 1}));
  // Numbers for each channel follow the bytes.
  EXPECT_THAT(plain.initializer("x.shift"), testing::Pointwise(testing::DoubleNear(1e-5), {-103.53, -116.28, -123.675}));
  expect_same_from_bytes(model, *plain.model, reversed, {1, 3, 4, 5});
  expect_same_from_bytes(model, *from_bytes(model, reversed).model, reversed, {1, 3, 4, 5});
}

TEST(ByteInput, GathersReversedChannelsForOthers) {
  ByteImages reversed = kImage;
  reversed.swaps_channels = true;
  for (const char* const reader :
       {"y = Relu (x)", "y = Conv <group = 3> (x, D)", "r = Relu (x)  c = Conv (x, W)  y = Add (r, c)",
        "t = Transpose <perm = [0, 1, 3, 2]> (x)  c = Conv (t, W)  r = Relu (t)  y = Transpose <perm = [0, 1, 3, 2]> (r)"}) {
    const TextModel model(std::string("g (float[1,3,4,5] x) => (float[1,3,4,5] y) <float[3,1,1,1] D, float[3,3,1,1] W> { ") + reader +
                          " }");
    const PassResult result = from_bytes(model, reversed);
    EXPECT_EQ(result.count("Gather"), 1) << reader;
    expect_same_from_bytes(model, *result.model, reversed, {1, 3, 4, 5});
  }
}

TEST(ByteInput, FindsChannelsThatComeLast) {
  ByteImages reversed = kImage;
  reversed.swaps_channels = true;
  const TextModel model(
      "g (float[1,6,5,3] x) => (float[1,2,5,4] y) <float[2,3,2,2] W> { t = Transpose <perm = [0, 3, 1, 2]> (x)  y = Conv (t, W) }");
  for (const ByteImages& how : {kImage, reversed}) {
    const PassResult result = from_bytes(model, how);
    EXPECT_EQ(result.count("Add") + result.count("Mul") + result.count("Gather"), 0);
    expect_same_from_bytes(model, *result.model, how, {1, 6, 5, 3}, 3);
  }
}

TEST(ByteInput, ReachesNestedGraphs) {
  const TextModel model(
      "g (float[1,3,4,5] x, bool c) => (float[1,3,4,5] y) { y = If (c) <then_branch = a () => (float[1,3,4,5] t) { t = Neg (x) }, "
      "else_branch = b () => (float[1,3,4,5] e) { e = Abs (x) }> }");
  const std::string text = to_text(*from_bytes(model).model);
  EXPECT_THAT(text, testing::Not(HasSubstr("Neg (x)")));
  EXPECT_THAT(text, testing::Not(HasSubstr("Abs (x)")));
}

TEST(ByteInput, ComputesTheFormulaForVerify) {
  ByteImages reversed = kImage;
  reversed.swaps_channels = true;
  for (const ByteImages& how : {kImage, reversed}) {
    const TextModel model("g (float[1,3,4,5] x) => (float[1,3,4,5] y) { y = Neg (x) }");
    const auto mapped = model.load();
    passes::compute_from_bytes(mapped->graph(), how);
    const Tensor bytes = some_bytes({1, 3, 4, 5}), wanted = normalized(bytes, how);
    const auto found = compute(*mapped, {{"x", Datum(bytes)}});
    for (int64_t i = 0; i < wanted.element_count(); ++i) EXPECT_EQ(found[0].tensor.data<float>()[i], -wanted.data<float>()[i]);
  }
}

TEST(ByteInput, RefusesWhatIsNoImage) {
  const auto refused = [](const TextModel& model, const ByteImages& how, ErrorKind kind, const char* why) {
    try {
      (void)from_bytes(model, how);
      ADD_FAILURE() << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  const auto of = [](const std::string& type) { return TextModel("g (" + type + " x) => (" + type + " y) { y = Neg (x) }"); };
  constexpr ErrorKind kUnsupported = ErrorKind::unsupported;
  ByteImages how = kImage;
  how.names = {"y"};
  refused(of("float[1,3,4,5]"), how, ErrorKind::usage, "no such input");
  refused(of("uint8[1,3,4,5]"), kImage, kUnsupported, "it takes bytes already");
  refused(of("float16[1,3,4,5]"), kImage, kUnsupported, "it is f16, and only f32 is computed from bytes");
  refused(of("int64[1,3,4,5]"), kImage, kUnsupported, "it is i64");
  refused(of("float[3,4]"), kImage, kUnsupported, "it holds no images");
  refused(of("float[1,C,4,5]"), kImage, kUnsupported, "its number of channels is free");
  refused(of("float[1,1,4,5]"), kImage, kUnsupported, "--mean has 3 numbers for 1 channels");
  refused("g (float[1,3,4,5] x) => (float[1,3,4,5] x) { y = Neg (x) }", kImage, kUnsupported, "it is an output too");
  refused("g (float[1,3,4,5] x) => (float[1,3,4,5] y) <float[1,3,4,5] x> { y = Neg (x) }", kImage, kUnsupported, "it has a default");
  refused(TextModel("g (float[1,3,4,5] x) => (float[1,3,4,5] y) { y = Neg (x) }", R"(<ir_version: 3, opset_import: ["" : 6]>)"), kImage,
          kUnsupported, "opset 6 is below 7");
  how = kImage;
  how.deviation = {1e-60};
  refused(of("float[1,3,4,5]"), how, kUnsupported, "--scale by --std leaves the range of f32");
  how.deviation = {0};
  refused(of("float[1,3,4,5]"), how, kUnsupported, "--scale by --std leaves the range of f32");
  how = kImage;
  how.scale = 1e-60;
  refused(of("float[1,3,4,5]"), how, kUnsupported, "leaves the range of f32");
  how = {.names = {"x"}, .swaps_channels = true};
  refused(of("float[1,4,4,5]"), how, kUnsupported, "--swap-channels needs 3 channels, it has 4");
}

}  // namespace
}  // namespace relayout::test
