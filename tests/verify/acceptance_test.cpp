// Tests losses that a user accepts: the figures by their textbook definition over all samples, and the verdicts that bounds decide.

#include "verify/acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "narrow.h"
#include "networks.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "support/network.h"
#include "verified.h"
#include "verify/finding.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/reference_output.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::Network;
using ::testing::HasSubstr;

Datum rows(const std::vector<float>& values, int64_t columns) {
  Tensor tensor(DataType::float32, {static_cast<int64_t>(values.size()) / columns, columns});
  std::ranges::copy(values, tensor.data<float>());
  return Datum(tensor);
}

OutputComparison compared(const std::vector<std::pair<Datum, Datum>>& samples) {
  OutputComparison output;
  output.name = "y";
  output.type = DataType::float32;
  for (const auto& [a, b] : samples) {
    Yardstick yardstick;
    yardstick.add(a);
    output.samples.push_back(measure(a, b, yardstick));
    judge_numbers(output.samples.back(), DataType::float32, {});
    if (output.samples.back().outcome == Outcome::different) output.outcome = Outcome::different;
  }
  output.loss = loss_of(output);
  return output;
}

TEST(Acceptance, FiguresAreThoseOfTheirDefinitions) {
  // numpy: 20*log10(norm(a)/norm(a-b)), dot(a,b)/norm(a)/norm(b), max(|a-b|)/ptp(a) by sample, argmax by row.
  const OutputComparison output = compared({{rows({1, 2, 3, 4, 10, 5, 4, 3, 2, 1}, 5), rows({1, 2, 3, 4, 9, 3, 4, 3, 2, 1}, 5)},
                                            {rows({0, 1, 2, 3, 4}, 5), rows({0, 1, 2, 3.5, 4}, 5)}});
  ASSERT_TRUE(output.loss.has_value());
  EXPECT_NEAR(output.loss->snr, 20 * std::log10(std::sqrt(215.0) / std::sqrt(5.25)), 1e-12);
  EXPECT_NEAR(output.loss->worst_snr, 20 * std::log10(std::sqrt(185.0) / std::sqrt(5.0)), 1e-12);
  EXPECT_NEAR(output.loss->cosine, 196.5 / std::sqrt(215.0 * 183.25), 1e-12);
  EXPECT_NEAR(output.loss->error, std::max(2.0 / 9, 0.5 / 4), 1e-7);
  EXPECT_NEAR(*output.loss->top1, 2.0 / 3, 1e-12);
  EXPECT_EQ(*output.loss->top5, 1);
}

TEST(Acceptance, BestEntryIsAmongTheFiveBestAtLeastAsOftenAsItIsTheBest) {
  // Best of a: column 5 each. In b: the best; fifth of six; last of six.
  const OutputComparison output = compared(
      {{rows({0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}, 6), rows({4, 3, 2, 1, 0, 5, 0, 9, 8, 7, 6, 1, 1, 2, 3, 4, 5, 0}, 6)}});
  ASSERT_TRUE(output.loss.has_value());
  EXPECT_NEAR(*output.loss->top1, 1.0 / 3, 1e-12);
  EXPECT_NEAR(*output.loss->top5, 2.0 / 3, 1e-12);
}

TEST(Acceptance, NumbersThatAreLostAreNoMeasuredLoss) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(compared({{rows({1, 2, 3, 4, 5}, 5), rows({1, 2, kNaN, 4, 5}, 5)}}).loss.has_value());
  EXPECT_FALSE(compared({{rows({1, 2, 3, 4, 5}, 5), rows({1, 2, 3, 4, 5}, 5)}, {rows({1}, 1), rows({kInfinity}, 1)}}).loss.has_value());
  EXPECT_TRUE(compared({{rows({1, kNaN, 3, 4, 5}, 5), rows({1, kNaN, 3, 4, 5}, 5)}}).loss.has_value());
}

Acceptance bounds(std::initializer_list<std::pair<std::optional<double> Acceptance::*, double>> list) {
  Acceptance accept;
  for (const auto& [which, value] : list) accept.*which = value;
  return accept;
}

VerifyResult judged(const Acceptance& accept, OutputComparison output) {
  VerifyResult result;
  result.outputs.push_back(std::move(output));
  VerifyOptions options;
  options.accept = accept;
  return decide(std::move(result), {}, options);
}

TEST(Acceptance, EachBoundDecidesByItself) {
  const OutputComparison output = compared({{rows({1, 2, 3, 4, 10}, 5), rows({1, 2, 3, 4, 9}, 5)}});
  EXPECT_EQ(judged({}, output).outputs[0].outcome, Outcome::different);
  const auto expect = [&](const Acceptance& accept, Outcome outcome, const char* reason) {
    const VerifyResult result = judged(accept, output);
    EXPECT_EQ(result.outcome, outcome) << reason;
    EXPECT_THAT(result.outputs[0].reason, HasSubstr(reason));
    EXPECT_THAT(result.reason, outcome == Outcome::accepted ? HasSubstr("dB") : HasSubstr(reason)) << "the verdict says it too";
  };
  expect(bounds({{&Acceptance::snr, 21.1}}), Outcome::accepted, "");
  expect(bounds({{&Acceptance::snr, 21.2}}), Outcome::different, "21.1 dB, --accept snr=21.2");
  expect(bounds({{&Acceptance::cosine, 0.99}}), Outcome::accepted, "");
  expect(bounds({{&Acceptance::cosine, 0.9999}}), Outcome::different, "cosine 0.99");
  expect(bounds({{&Acceptance::error, 0.12}}), Outcome::accepted, "");
  expect(bounds({{&Acceptance::error, 0.11}}), Outcome::different, "error/range 1.1e-01");
  expect(bounds({{&Acceptance::top1, 1}}), Outcome::accepted, "");
  expect(bounds({{&Acceptance::snr, 10}, {&Acceptance::error, 0.11}}), Outcome::different, "error/range");
}

TEST(Acceptance, DifferencesWithoutAFigureStayDifferent) {
  const float nan = std::nanf("");
  const Acceptance lax = bounds({{&Acceptance::snr, -1000}});
  EXPECT_EQ(judged(lax, compared({{rows({1, 2, 3, 4, 5}, 5), rows({1, 2, nan, 4, 5}, 5)}})).outcome, Outcome::different);
  OutputComparison shape = compared({{rows({1, 2, 3, 4, 5}, 5), rows({1, 2, 3, 4, 6}, 5)}});
  shape.samples.push_back({});
  shape.samples.back().outcome = Outcome::different;
  shape.samples.back().reason = "f32[2, 5], was f32[1, 5]";
  EXPECT_EQ(judged(lax, shape).outcome, Outcome::different);
  // Rows of scores are requested, and there are none.
  EXPECT_EQ(judged(bounds({{&Acceptance::top1, 0}}), compared({{rows({1, 2, 3}, 3), rows({1, 2, 4}, 3)}})).outcome, Outcome::different);
}

TEST(Acceptance, DecidesWhereRoundingDoesNotExplain) {
  const Network a = classifier(1);
  Network b = a;
  b.edit("fc.w", [](auto& v) { v[0] += 0.01F; });
  EXPECT_EQ(verified(a, b).outcome, Outcome::different);
  VerifyOptions options;
  options.accept.snr = 30;
  const VerifyResult taken = verified(a, b, options);
  EXPECT_EQ(taken.outcome, Outcome::accepted) << summary(taken);
  EXPECT_EQ(exit_code(taken, false), 0);
  options.accept.snr = 150;
  EXPECT_EQ(exit_code(verified(a, b, options), false), 1);
  // A missing output, or one of other dims, is no loss.
  options.accept.snr = 0;
  Network missing = b;
  missing.graph().mutable_output()->DeleteSubrange(1, 1);
  EXPECT_EQ(verified(a, missing, options).outcome, Outcome::different);
}

TEST(Acceptance, NarrowModelsAreTakenByTheirLossToo) {
  const Network a = classifier(1), b = narrowed(a, onnx::TensorProto::FLOAT16);
  VerifyOptions options;
  options.accept.snr = 40;
  options.allow_interface = true;
  const VerifyResult taken = verified(a, b, options);
  EXPECT_EQ(exit_code(taken, false), 0) << summary(taken);
  EXPECT_THAT(taken.lossy, HasSubstr("in f16"));
  options.allow_interface = false;
  EXPECT_EQ(verified(a, b, options).outcome, Outcome::different);
}

/// Rounds weights to int8 with one scale, upstream of the Gemm.
Network quantized_weights(Network n) {
  const std::vector<float> weights = n.values("fc.w");
  std::string bytes;
  for (const float weight : weights)
    bytes.push_back(static_cast<char>(static_cast<int8_t>(std::lround(std::clamp(weight / 0.02F, -127.0F, 127.0F)))));
  auto& tensor = *n.graph().add_initializer();
  tensor.set_name("fc.w.q");
  tensor.set_data_type(onnx::TensorProto::INT8);
  tensor.add_dims(40), tensor.add_dims(12);
  tensor.set_raw_data(bytes);
  n.remove_initializer("fc.w");
  n.floats("fc.w.scale", {}, {0.02F});
  n.node("DequantizeLinear", {"fc.w.q", "fc.w.scale"}, {"fc.w"});
  n.sort();
  return n;
}

TEST(Acceptance, QuantizedTensorsAreCountedAndMeant) {
  const Network a = classifier(1), b = quantized_weights(a);
  const VerifyResult measured = verified(a, b);
  EXPECT_EQ(measured.outcome, Outcome::different);
  EXPECT_EQ(measured.lossy, "B quantizes 1 tensor to int8 (1 weight)");
  EXPECT_THAT(measured.reason, HasSubstr(" dB"));
  VerifyOptions options;
  options.precision = DataType::int8;
  EXPECT_EQ(verified(a, b, options).outcome, Outcome::different);
  options.accept.snr = 20;
  EXPECT_EQ(verified(a, b, options).outcome, Outcome::accepted);
  options.precision = DataType::float16;  // int8 is coarser
  EXPECT_EQ(verified(a, b, options).outcome, Outcome::different);
}

TEST(Acceptance, TheHintNamesTheBoundsThatHaveFigures) {
  const Network scores = classifier(1);
  EXPECT_THAT(verified(scores, quantized_weights(scores)).reason, HasSubstr("(--accept snr=…,top1=… takes a loss)"));
  Network columns(1);
  columns.input("x", {"4", "40"}).output("y", {"4", "12", "1"}).normal("fc.w", {40, 12}).integers("dims", {3}, {4, 12, 1});
  columns.node("MatMul", {"x", "fc.w"}, {"product"}), columns.node("Reshape", {"product", "dims"}, {"y"});
  EXPECT_THAT(verified(columns, quantized_weights(columns)).reason, HasSubstr("(--accept snr=… takes a loss)"));
}

}  // namespace
}  // namespace relayout
