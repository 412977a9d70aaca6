// Tests outputs that give bytes, against bytes computed by hand from the formula.

#include <gmock/gmock.h>

#include <cmath>

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

const ByteImages kPlain{.names = {"y"}};
const ByteImages kImage{.names = {"y"}, .mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};

PassResult to_bytes(const TextModel& model, const ByteImages& how, const std::vector<std::string>& passes = {"byte-output"}) {
  PassOptions options;
  options.output_bytes = how;
  return run(passes, model, options);
}

/// (number · deviation + mean) / scale, limited and rounded, halves to the even number; of an image [1, 3, H, W].
std::vector<int> bytes_of(const Tensor& numbers, const ByteImages& how) {
  const auto of = [](const std::vector<double>& values, std::size_t c, double otherwise) {
    return values.empty() ? otherwise : values[values.size() == 1 ? 0 : c];
  };
  const auto inner = static_cast<std::size_t>(numbers.dims()[2] * numbers.dims()[3]);
  std::vector<int> out(3 * inner);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t c = i / inner, to = how.swaps_channels ? (2 - c) * inner + i % inner : i;
    const double value = (numbers.data<float>()[i] * of(how.deviation, c, 1) + of(how.mean, c, 0)) / how.scale;
    out[to] = static_cast<int>(std::nearbyint(std::min(std::max(value, 0.0), 255.0)));
  }
  return out;
}

/// Numbers on both sides of the ends, none within a thousandth of a half of a byte.
Tensor some_numbers(const Dims& dims) {
  Tensor out(DataType::float32, dims);
  for (int64_t i = 0; i < out.element_count(); ++i) {
    out.data<float>()[i] = static_cast<float>((static_cast<double>(i * 37 % 331) - 40.25) / 255);
  }
  return out;
}

std::vector<int> numbers_of(const Tensor& bytes) {
  EXPECT_EQ(bytes.type(), DataType::uint8);
  return {bytes.data<uint8_t>(), bytes.data<uint8_t>() + bytes.element_count()};
}

TEST(ByteOutput, LimitsAndRounds) {
  const TextModel model("g (float[1,3,8,9] x) => (float[1,3,8,9] y) { y = Identity (x) }");
  const Tensor numbers = some_numbers({1, 3, 8, 9});
  const PassResult result = to_bytes(model, kPlain);
  EXPECT_THAT(to_text(*result.model), HasSubstr("uint8[1,3,8,9] y"));
  EXPECT_EQ(result.count("Mul") + result.count("Clip") + result.count("Round") + result.count("Cast"), 4);
  EXPECT_EQ(result.count("Add"), 0);
  EXPECT_EQ(numbers_of(compute(*result.model, {{"x", Datum(numbers)}})[0].tensor), bytes_of(numbers, kPlain));
}

TEST(ByteOutput, HalvesAndEnds) {
  const TextModel model("g (float[1,1,1,8] x) => (float[1,1,1,8] y) { y = Neg (x) }");
  Tensor numbers(DataType::float32, {1, 1, 1, 8});
  const std::vector<float> values{-0.5F, -1.5F, -2.5F, 3, -254.5F, -255.4F, -1e30F, -std::numeric_limits<float>::infinity()};
  std::ranges::copy(values, numbers.data<float>());
  const PassResult result = to_bytes(model, {.names = {"y"}, .scale = 1});
  EXPECT_EQ(result.count("Mul"), 0);
  EXPECT_EQ(numbers_of(compute(*result.model, {{"x", Datum(numbers)}})[0].tensor), (std::vector<int>{0, 2, 2, 0, 254, 255, 255, 255}));
}

TEST(ByteOutput, MeansOfEachChannelAndReversedChannels) {
  const TextModel model("g (float[1,3,8,9] x) => (float[1,3,8,9] y) { y = Identity (x) }");
  ByteImages how = kImage;
  const Tensor numbers = some_numbers({1, 3, 8, 9});
  for (const bool swaps : {false, true}) {
    how.swaps_channels = swaps;
    const PassResult result = to_bytes(model, how);
    EXPECT_EQ(result.count("Gather"), swaps ? 1 : 0);
    const auto wanted = bytes_of(numbers, how), found = numbers_of(compute(*result.model, {{"x", Datum(numbers)}})[0].tensor);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1) << "rounding may decide a half";
  }
}

/// The arithmetic becomes part of the convolution, and readers of the numbers keep them.
TEST(ByteOutput, FoldsIntoAConvolution) {
  TextModel model("g (float[1,2,4,5] x) => (float[1,3,4,5] y) <float[3,2,1,1] W, float[3] B> { y = Conv (x, W, B) }");
  model.set("W", {2, -3, 5, 1, 0.5, 4}).set("B", {0.25, 0, -1});
  const PassResult result = to_bytes(model, kImage, {"byte-output", "fold-batch-norm", "fold-affine"});
  EXPECT_EQ(result.count("Mul") + result.count("Add"), 0);
  // W · deviation · 255 and (B · deviation + mean) · 255, with numpy in float64.
  EXPECT_THAT(result.initializer("W"), testing::Pointwise(testing::DoubleNear(2e-5), {116.79, -175.185, 285.6, 57.12, 28.6875, 229.5}));
  EXPECT_THAT(result.initializer("B"), testing::Pointwise(testing::DoubleNear(2e-5), {138.27375, 116.28, 46.155}));
  const PassResult read = to_bytes("g (float[1,3,4,5] x) => (float[1,3,4,5] y, float[1,3,4,5] z) { y = Sigmoid (x)  z = Neg (y) }", kPlain);
  EXPECT_THAT(structure_of(*read.model), HasSubstr("Neg"));
  EXPECT_THAT(to_text(*read.model), HasSubstr("float[1,3,4,5] z"));
}

TEST(ByteOutput, RefusesWhatIsNoImageOfNumbers) {
  const auto refused = [](const TextModel& model, const ByteImages& how, ErrorKind kind, const char* why) {
    try {
      (void)to_bytes(model, how);
      ADD_FAILURE() << "accepted: " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  const TextModel image("g (float[1,3,4,5] x) => (float[1,3,4,5] y) { y = Neg (x) }");
  refused(image, {.names = {"z"}}, ErrorKind::usage, "--output-u8 'z': the model has no such output");
  refused(image, {.names = {"y"}, .mean = {1, 2}}, ErrorKind::unsupported, "--output-mean has 2 numbers for 3 channels");
  refused(image, {.names = {"y"}, .scale = 1e-40}, ErrorKind::unsupported, "--output-scale by --output-std leaves the range of f32");
  refused("g (float[1,3] x) => (float[1,3] y) { y = Neg (x) }", kPlain, ErrorKind::unsupported, "it holds no images");
  refused("g (float16[1,3,4,5] x) => (float16[1,3,4,5] y) { y = Neg (x) }", kPlain, ErrorKind::unsupported, "it is f16");
  refused("g (uint8[1,3,4,5] x) => (uint8[1,3,4,5] y) { y = Identity (x) }", kPlain, ErrorKind::unsupported, "it gives bytes already");
  refused("g (float[1,C,4,5] x) => (float[1,C,4,5] y) { y = Neg (x) }", kPlain, ErrorKind::unsupported, "its number of channels is free");
  refused("g (float[1,3,4,5] y) => (float[1,3,4,5] y) { }", kPlain, ErrorKind::unsupported, "it is an input too");
  refused("g () => (float[1,3,1,1] y) <float[1,3,1,1] y> { }", kPlain, ErrorKind::unsupported, "it is a constant");
  refused(
      "g (float[1,3,4,5] x, bool c) => (float[1,3,4,5] y, float[1,3,4,5] z) { y = Neg (x)  z = If (c) <then_branch = t () => (y) { }, "
      "else_branch = e () => (float[1,3,4,5] w) { w = Exp (x) }> }",
      kPlain, ErrorKind::unsupported, "it is an output in two places");
  refused(TextModel("g (float[1,3,4,5] x) => (float[1,3,4,5] y) { y = Neg (x) }", R"(<ir_version: 6, opset_import: ["" : 10]>)"), kPlain,
          ErrorKind::unsupported, "opset 10 is below 11");
}

}  // namespace
}  // namespace relayout::test
