// Tests that inputs and outputs come back as they were before they were bytes, against the model that was given.

#include <gmock/gmock.h>

#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "support/compute.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

PassOptions bytes_of_x(std::vector<double> mean = {0.485, 0.456, 0.406}) {
  PassOptions options;
  options.bytes = {.names = {"x"}, .mean = std::move(mean), .deviation = {0.229, 0.224, 0.225}};
  return options;
}

PassOptions bytes_of_y() {
  PassOptions options;
  options.output_bytes = {.names = {"y"}, .mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};
  return options;
}

const std::vector<std::string> kFolding = {"fold-batch-norm", "fold-affine"};

/// Converted with these options, and undone with the same.
PassResult there_and_back(const TextModel& model, PassOptions options, const std::vector<std::string>& others = {}) {
  std::vector<std::string> there{"byte-input", "byte-output"}, back{"undo-io"};
  if (options.export_io) there.emplace_back("export-io");
  there.insert(there.end(), others.begin(), others.end());
  back.insert(back.end(), others.begin(), others.end());
  const PassResult made = run(there, model, options);
  EXPECT_THAT(to_text(*made.model), HasSubstr("uint8["));
  options.undo_io = true;
  options.export_io = false;
  return run(back, TextModel::of(made.bytes), options);
}

/// Both compute the same within rounding.
void expect_same_numbers(const TextModel& model, const Model& undone, const Dims& dims) {
  Tensor x(DataType::float32, dims);
  for (int64_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] = static_cast<float>(i * 29 % 97) / 40 - 1;
  const auto a = reals_of(compute(*model.load(), {{"x", Datum(x)}})[0].tensor), b = reals_of(compute(undone, {{"x", Datum(x)}})[0].tensor);
  ASSERT_EQ(a.size(), b.size());
  double range = 0;
  for (const double value : a) range = std::max(range, std::abs(value));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-6 * range) << "element " << i;
}

TEST(UndoIo, TakesAwayWhatStandsThere) {
  for (const std::string body : {"y = Sigmoid (x)", "y = Conv <pads = [1, 1, 1, 1]> (x, W)"}) {
    const TextModel model("g (float[1,3,4,5] x) => (float[1,3,4,5] y) <float[3,3,3,3] W> { " + body + " }");
    for (PassOptions options : {bytes_of_x(), bytes_of_y()}) {
      for (const bool is_last : {false, true}) {
        options.export_io = is_last;
        options.io_names = {"x", "y"};
        const PassResult undone = there_and_back(model, options);
        EXPECT_EQ(structure_of(*undone.model), structure_of(*run({}, model).model));
        expect_same_numbers(model, *undone.model, {1, 3, 4, 5});
      }
    }
  }
}

TEST(UndoIo, ComputesTheReverseOfWhatWasFolded) {
  const TextModel plain("g (float[1,3,4,5] x) => (float[1,3,3,4] y) <float[3,3,2,2] W, float[3] B> { y = Conv (x, W, B) }");
  for (const PassOptions& options : {bytes_of_x(), bytes_of_y()}) {
    const PassResult undone = there_and_back(plain, options, kFolding);
    EXPECT_EQ(structure_of(*undone.model), structure_of(*plain.load()));
    expect_same_numbers(plain, *undone.model, {1, 3, 4, 5});
  }
  // What does not fold stands there.
  const PassResult computed = there_and_back(plain, bytes_of_x(), {});
  expect_same_numbers(plain, *computed.model, {1, 3, 4, 5});
}

/// In front of padding an Add stays, the rest is in the weights.
TEST(UndoIo, ThePartThatWasFolded) {
  const TextModel padded("g (float[1,3,4,5] x) => (float[1,3,4,5] y) <float[3,3,3,3] W> { y = Conv <pads = [1, 1, 1, 1]> (x, W) }");
  const PassResult undone = there_and_back(padded, bytes_of_x(), kFolding);
  EXPECT_EQ(undone.count("Add") + undone.count("Mul"), 0);
  expect_same_numbers(padded, *undone.model, {1, 3, 4, 5});
}

TEST(UndoIo, NumbersOfOtherMeans) {
  const TextModel model("g (float[1,3,4,5] x) => (float[1,3,4,5] y) { y = Sigmoid (x) }");
  const PassResult made = run({"byte-input"}, model, bytes_of_x());
  PassOptions other = bytes_of_x({0.5});
  other.undo_io = true;
  // (x · std + 0.5) · 255 in front of what computes with other means, which stays.
  const PassResult undone = run({"undo-io"}, TextModel::of(made.bytes), other);
  EXPECT_EQ(undone.count("Add"), 2);
  EXPECT_EQ(undone.count("Mul"), 2);
}

TEST(UndoIo, RefusesWhatWasNotMadeSo) {
  const auto refused = [](const TextModel& model, PassOptions options, const char* why) {
    options.undo_io = true;
    try {
      (void)run({"undo-io"}, model, options);
      ADD_FAILURE() << "accepted: " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  refused("g (float[1,3,4,5] x) => (float[1,3,4,5] y) { y = Neg (x) }", bytes_of_x(), "it is f32, no bytes");
  refused("g (uint8[1,3,4,5] x) => (uint8[1,3,4,5] y) { y = Max (x, x) }", bytes_of_x(), "one Cast to f32 has to read it");
  refused("g (uint8[1,3,4,5] x) => (float[1,3,4,5] y, uint8[1,3,4,5] z) { y = Cast <to = 1> (x)  z = Identity (x) }", bytes_of_x(),
          "one Cast to f32 has to read it");
  refused("g (float[1,3,4,5] x) => (uint8[1,3,4,5] y) { y = Cast <to = 2> (x) }", bytes_of_y(), "Clip to 0 … 255, Round and Cast");
  refused(
      "g (float[1,3,4,5] x) => (uint8[1,3,4,5] y) <float l = {0}, float m = {254}> { c = Clip (x, l, m)  r = Round (c)  y = Cast <to = 2> "
      "(r) }",
      bytes_of_y(), "Clip to 0 … 255, Round and Cast");
  refused(
      "g (float[1,3,4,5] x) => (uint8[1,3,4,5] y, float[1,3,4,5] z) <float l = {0}, float m = {255}> { c = Clip (x, l, m)  r = Round (c)  "
      "y = "
      "Cast <to = 2> (r)  z = Neg (c) }",
      bytes_of_y(), "nothing else read what they make");
}

}  // namespace
}  // namespace relayout::test
