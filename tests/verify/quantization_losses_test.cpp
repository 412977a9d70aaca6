// What nodes of a quantized model lose, against losses computed here in double precision; and that a harmed one comes first.

#include "verify/nodes/quantization_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pair.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "support/network.h"
#include "verify/quantizer.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::Network;
using ::testing::HasSubstr;

constexpr float kWeightScale = 0.01F;
constexpr int kSamples = 1;

void zero_point(Network& n, const std::string& name, onnx::TensorProto::DataType type) {
  auto& zero = *n.graph().add_initializer();
  zero.set_name(name);
  zero.set_data_type(type);
  zero.set_raw_data(std::string(1, type == onnx::TensorProto::UINT8 ? '\x80' : '\0'));
}

/// Puts a QuantizeLinear and a DequantizeLinear behind a value; returns what they make.
std::string rounded_to_uint8(Network& n, const std::string& name, float scale) {
  n.floats(name + ".scale", {}, {scale});
  zero_point(n, name + ".zero", onnx::TensorProto::UINT8);
  n.node("QuantizeLinear", {name, name + ".scale", name + ".zero"}, {name + ".q"});
  n.node("DequantizeLinear", {name + ".q", name + ".scale", name + ".zero"}, {name + ".d"});
  return name + ".d";
}

/// MatMul, Relu, MatMul. Quantized: both weights as int8, each value through a QuantizeLinear and a DequantizeLinear of its scale.
Network net(bool quantized, const std::vector<float>& scales = {0.06F, 0.05F}) {
  Network n(5);
  n.input("x", {"4", "16"}).output("y", {"4", "8"});
  const auto weight = [&](const std::string& name, int64_t rows, int64_t columns) {
    n.normal(name, {rows, columns}, 0.25);
    if (!quantized) return name;
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    n.edit(name, [&](auto& v) { std::ranges::copy(v, values.begin()); });
    std::string bytes;
    for (const float value : values) {
      bytes += static_cast<char>(
          static_cast<int8_t>(std::clamp(std::nearbyint(static_cast<double>(value) / static_cast<double>(kWeightScale)), -128.0, 127.0)));
    }
    auto& integers = *n.graph().add_initializer();
    integers.set_name(name + ".q");
    integers.set_data_type(onnx::TensorProto::INT8);
    integers.add_dims(rows), integers.add_dims(columns);
    integers.set_raw_data(bytes);
    n.floats(name + ".scale", {}, {kWeightScale});
    zero_point(n, name + ".zero", onnx::TensorProto::INT8);
    n.node("DequantizeLinear", {name + ".q", name + ".scale", name + ".zero"}, {name + ".d"});
    return name + ".d";
  };
  const auto rounded = [&](const std::string& name, float scale) { return quantized ? rounded_to_uint8(n, name, scale) : name; };
  const std::string x = rounded("x", scales[0]), first = weight("v", 16, 12);
  n.node("MatMul", {x, first}, {"h"});
  n.node("Relu", {"h"}, {"r"});
  const std::string r = rounded("r", scales[1]), second = weight("w", 12, 8);
  n.node("MatMul", {r, second}, {"y"});
  return n;
}

const QuantizationLoss* find(const VerifyResult& result, const std::string& tensor) {
  const auto found = std::ranges::find(result.losses, tensor, &QuantizationLoss::tensor);
  return found == result.losses.end() ? nullptr : &*found;
}

VerifyResult judged(const Network& b) {
  VerifyOptions options;
  options.precision = DataType::int8;
  options.samples = kSamples;
  return verified(net(false), b, options);
}

TEST(QuantizationLosses, NoNodeOfARightModelIsAtFault) {
  const VerifyResult result = judged(net(true));
  ASSERT_FALSE(result.losses.empty()) << summary(result);
  for (const QuantizationLoss& loss : result.losses) {
    EXPECT_EQ(loss.fault, "") << loss.node;
    ASSERT_TRUE(loss.expected) << loss.node;
    EXPECT_EQ(loss.clipped.value_or(0), 0) << loss.node;
    EXPECT_NEAR(loss.snr, *loss.expected, 1) << loss.node;
  }
  EXPECT_TRUE(std::ranges::is_sorted(result.losses, {}, &QuantizationLoss::snr));
}

TEST(QuantizationLosses, AreThoseOfRoundingTheOperands) {
  // Independent errors of steps s are s²/12 on average: y = r · w, with r in steps of 0.05 and w in steps of 0.01.
  const VerifyResult result = judged(net(true));
  const QuantizationLoss* const loss = find(result, "y");
  ASSERT_NE(loss, nullptr);
  Network a = net(false);
  double weights = 0;
  a.edit("w", [&](auto& v) {
    for (const float value : v) weights += static_cast<double>(value) * static_cast<double>(value);
  });
  ASSERT_GT(result.outputs.at(0).samples.size(), 0U);
  double squares_y = 0, elements = 0;
  for (const SampleMetrics& metrics : result.outputs[0].samples) {
    squares_y += metrics.sums.squares_a;
    elements += static_cast<double>(metrics.sums.elements);
  }
  // Σ over 12 of r² for the noise of w, estimated from y: E y² = (Σ r²)(mean w²), as w is drawn around 0.
  const double mean_weight = weights / 96, per_row = squares_y / elements / mean_weight;
  const double active = 0.5;  // a Relu leaves half of its elements, the others are exact
  const double noise = 12 * active * 0.05 * 0.05 / 12 * mean_weight + per_row * 0.01 * 0.01 / 12;
  EXPECT_NEAR(loss->snr, 10 * std::log10(squares_y / elements / noise), 1.5);
}

TEST(QuantizationLosses, AnotherScaleIsAtFaultAndFirst) {
  for (const std::string weight : {"v", "w"}) {
    Network b = net(true);
    b.edit(weight + ".scale", [](auto& v) { v[0] *= 1.2F; });
    const VerifyResult result = judged(b);
    ASSERT_FALSE(result.losses.empty());
    EXPECT_EQ(result.losses[0].tensor, weight == "v" ? "h" : "y");
    EXPECT_THAT(result.losses[0].fault, HasSubstr("another result"));
    EXPECT_EQ(std::ranges::count(result.losses, std::string(), &QuantizationLoss::fault), std::ssize(result.losses) - 1);
  }
}

TEST(QuantizationLosses, AMissingActivationIsAtFaultAndFirst) {
  Network b = net(true);
  b.producer("r").set_op_type("Identity");
  const VerifyResult result = judged(b);
  ASSERT_FALSE(result.losses.empty());
  EXPECT_EQ(result.losses[0].tensor, "r");
  EXPECT_THAT(result.losses[0].fault, HasSubstr("another result"));
}

TEST(QuantizationLosses, AMissingActivationIsAtFaultAloneWhereItsOperandHasOtherReaders) {
  // As HardSwish is written: x times HardSigmoid of x.
  const auto gated = [](bool quantized, const std::string& gate) {
    Network n(5);
    n.input("x", {"4", "16"}).output("y", {"4", "16"});
    const auto rounded = [&](const std::string& name, float scale) { return quantized ? rounded_to_uint8(n, name, scale) : name; };
    const std::string x = rounded("x", 0.06F);
    n.node(gate, {x}, {"h"});
    n.node("Mul", {x, rounded("h", 0.03F)}, {"y"});
    return n;
  };
  VerifyOptions options;
  options.precision = DataType::int8;
  options.samples = kSamples;
  const VerifyResult result = verified(gated(false, "HardSigmoid"), gated(true, "Identity"), options);
  ASSERT_FALSE(result.losses.empty()) << summary(result);
  EXPECT_EQ(result.losses[0].tensor, "h");
  EXPECT_THAT(result.losses[0].fault, HasSubstr("another result"));
  for (const QuantizationLoss& loss : result.losses) EXPECT_EQ(loss.fault.empty(), loss.tensor != "h") << loss.tensor;
}

TEST(QuantizationLosses, SamplesStayWithinWhatTheInputsQuantizerHolds) {
  // The second sample reaches to 16, the grid of x to 7.7: beyond it every node would be cut off.
  VerifyOptions options;
  options.precision = DataType::int8;
  options.samples = 2;
  const VerifyResult result = verified(net(false), net(true), options);
  ASSERT_FALSE(result.losses.empty());
  for (const QuantizationLoss& loss : result.losses) {
    EXPECT_EQ(loss.fault, "") << loss.node;
    EXPECT_LT(loss.clipped.value_or(0), 0.02) << loss.node;
  }
}

TEST(QuantizationLosses, RangesOfInputsAreThoseOfTheirQuantizersBehindWhatMovesThem) {
  Network n(5);
  n.input("x", {"4", "16"}).input("z", {"4", "16"}).output("y", {"16", "4"}).output("w", {"4", "16"});
  const auto quantize = [&](const std::string& from, const std::string& to, float scale) {
    n.floats(to + ".scale", {}, {scale});
    zero_point(n, to + ".zero", onnx::TensorProto::UINT8);
    n.node("QuantizeLinear", {from, to + ".scale", to + ".zero"}, {to + ".q"});
    n.node("DequantizeLinear", {to + ".q", to + ".scale", to + ".zero"}, {to});
  };
  n.node("Transpose", {"x"}, {"t"});
  quantize("t", "y", 0.02F);
  quantize("x", "v", 0.01F);
  n.node("Add", {"z", "v"}, {"w"});
  const auto model = Model::from_bytes(n.bytes());
  const auto ranges = ranges_of_inputs(model->graph());
  ASSERT_EQ(ranges.size(), 1U) << "no quantizer reads z";
  // Steps from −128 to 127 around the zero point of 128, of the finer scale.
  EXPECT_NEAR(ranges.at("x").lowest, -1.28, 1e-6);
  EXPECT_NEAR(ranges.at("x").highest, 1.27, 1e-6);
}

TEST(QuantizationLosses, ARangeThatIsTooSmallIsNamedWithItsShare) {
  const VerifyResult result = judged(net(true, {0.06F, 0.004F}));
  ASSERT_FALSE(result.losses.empty());
  EXPECT_EQ(result.losses[0].tensor, "r");
  EXPECT_THAT(result.losses[0].fault, HasSubstr("cut off"));
  ASSERT_TRUE(result.losses[0].clipped);
  EXPECT_GT(*result.losses[0].clipped, 0.1);
  EXPECT_LT(*result.losses[0].clipped, 0.6) << "elements that the Relu made 0 are within";
  EXPECT_EQ(find(result, "y")->fault, "") << "what reads it is not to blame";
}

}  // namespace
}  // namespace relayout
