// Tests losses of the nodes of a quantized model against losses computed here in double precision, and that a damaged node comes first.

#include "verify/quantized/quantization_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/half.h"
#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "support/network.h"
#include "tensors.h"
#include "verified.h"
#include "verify/run/quantizer.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::Network;
using ::testing::HasSubstr;

constexpr float kWeightScale = 0.01F;
constexpr int kSamples = 1;

/// Quantization to this type is requested, and one sample is enough.
VerifyOptions meaning(DataType precision) {
  VerifyOptions options;
  options.precision = precision;
  options.samples = kSamples;
  return options;
}

void zero_point(Network& n, const std::string& name, onnx::TensorProto::DataType type) {
  auto& zero = *n.graph().add_initializer();
  zero.set_name(name);
  zero.set_data_type(type);
  zero.set_raw_data(std::string(1, type == onnx::TensorProto::UINT8 ? '\x80' : '\0'));
}

/// Inserts a QuantizeLinear and a DequantizeLinear after a value; returns the name of the result.
std::string rounded_to_uint8(Network& n, const std::string& name, float scale) {
  n.floats(name + ".scale", {}, {scale});
  zero_point(n, name + ".zero", onnx::TensorProto::UINT8);
  n.node("QuantizeLinear", {name, name + ".scale", name + ".zero"}, {name + ".q"});
  n.node("DequantizeLinear", {name + ".q", name + ".scale", name + ".zero"}, {name + ".d"});
  return name + ".d";
}

/// Replaces a constant by a DequantizeLinear of stored integers; returns the name of the result.
std::string stored_as_int8(Network& n, const std::string& name, float scale) {
  std::string bytes;
  for (const float value : n.values(name)) {
    bytes += static_cast<char>(
        static_cast<int8_t>(std::clamp(std::nearbyint(static_cast<double>(value) / static_cast<double>(scale)), -128.0, 127.0)));
  }
  auto& integers = *n.graph().add_initializer();
  integers.set_name(name + ".q");
  integers.set_data_type(onnx::TensorProto::INT8);
  *integers.mutable_dims() = n.tensor(name).dims();
  integers.set_raw_data(bytes);
  n.floats(name + ".scale", {}, {scale});
  zero_point(n, name + ".zero", onnx::TensorProto::INT8);
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
    return stored_as_int8(n, name, kWeightScale);
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

/// The loss of a node without a fault, which must be within `within` dB of the expected one; NaN if it is not in the table.
double loss_of_right(const VerifyResult& result, const std::string& tensor, double within) {
  const QuantizationLoss* const loss = find(result, tensor);
  if (loss == nullptr || !loss->expected) {
    ADD_FAILURE() << tensor << " has no expected loss: " << summary(result);
    return std::nan("");
  }
  EXPECT_EQ(loss->fault, "");
  EXPECT_NEAR(loss->snr, *loss->expected, within);
  return *loss->expected;
}

VerifyResult judged(const Network& b) {
  const VerifyOptions options = meaning(DataType::int8);
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

TEST(QuantizationLosses, ADifferentScaleIsAtFaultAndFirst) {
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
  // HardSwish written out: x times HardSigmoid of x.
  const auto gated = [](bool quantized, const std::string& gate) {
    Network n(5);
    n.input("x", {"4", "16"}).output("y", {"4", "16"});
    const auto rounded = [&](const std::string& name, float scale) { return quantized ? rounded_to_uint8(n, name, scale) : name; };
    const std::string x = rounded("x", 0.06F);
    n.node(gate, {x}, {"h"});
    n.node("Mul", {x, rounded("h", 0.03F)}, {"y"});
    return n;
  };
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult result = verified(gated(false, "HardSigmoid"), gated(true, "Identity"), options);
  ASSERT_FALSE(result.losses.empty()) << summary(result);
  EXPECT_EQ(result.losses[0].tensor, "h");
  EXPECT_THAT(result.losses[0].fault, HasSubstr("(HardSigmoid) is missing"));
  for (const QuantizationLoss& loss : result.losses) EXPECT_EQ(loss.fault.empty(), loss.tensor != "h") << loss.tensor;
}

/// y = x · f(x), of numbers around 0 in 8 bits. Without a name f is missing, and its readers read its operand.
Network gated_by(bool quantized, const std::string& function) {
  Network n(5);
  n.input("x", {"16", "16"}).output("y", {"16", "16"});
  const auto rounded = [&](const std::string& name, float scale) { return quantized ? rounded_to_uint8(n, name, scale) : name; };
  n.node("Tanh", {"x"}, {"t"});
  const std::string t = rounded("t", 0.008F);
  if (!function.empty()) n.node(function, {t}, {"gate"}), n.producer("gate").set_name("the gate");
  n.node("Mul", {t, rounded(function.empty() ? t : "gate", 0.008F)}, {"y"});
  return n;
}

TEST(QuantizationLosses, AMissingFunctionIsAtFaultByName) {
  const VerifyOptions options = meaning(DataType::int8);
  for (const std::string function : {"Sigmoid", "Softmax", "Erf", "HardSwish"}) {
    const VerifyResult wrong = verified(gated_by(false, function), gated_by(true, ""), options);
    ASSERT_FALSE(wrong.losses.empty()) << function;
    EXPECT_EQ(wrong.losses[0].tensor, "y") << function;
    EXPECT_EQ(wrong.losses[0].fault, "a's 'the gate' (" + function + ") is missing");
    const VerifyResult right = verified(gated_by(false, function), gated_by(true, function), options);
    for (const QuantizationLoss& loss : right.losses) EXPECT_EQ(loss.fault, "") << function << " " << loss.tensor;
  }
}

TEST(QuantizationLosses, AFunctionInAnotherSpellingIsNoFault) {
  // x · Sigmoid(x) as 1 / (1 + exp(-x)).
  Network b = gated_by(true, "Sigmoid");
  b.remove_node("gate");
  b.floats("one", {}, {1}).node("Neg", {"t.d"}, {"minus"}), b.node("Exp", {"minus"}, {"e"}), b.node("Add", {"e", "one"}, {"sum"});
  b.node("Div", {"one", "sum"}, {"gate"}), b.sort();
  const VerifyResult result = verified(gated_by(false, "Sigmoid"), b, meaning(DataType::int8));
  ASSERT_FALSE(result.losses.empty()) << summary(result);
  for (const QuantizationLoss& loss : result.losses) EXPECT_EQ(loss.fault, "") << loss.tensor;
}

constexpr int64_t kRows = 32, kColumns = 8, kBlock = 16;

/// Bytes as an initializer of one-byte elements.
void bytes(Network& n, const std::string& name, onnx::TensorProto::DataType type, const std::vector<int64_t>& dims,
           const std::string& contents) {
  auto& tensor = *n.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(contents);
}

void import_microsoft(Network& n) {
  auto& opset = *n.model().add_opset_import();
  opset.set_domain("com.microsoft");
  opset.set_version(1);
}

/// y = x · w + x · v: `x` is read by both products and, unchanged, by the sum.
Network sum_of_products() {
  Network n(9);
  n.input("x", {"4", "32"}).output("y", {"4", "32"});
  n.normal("w", {kRows, kRows}, 0.2);
  n.node("MatMul", {"x", "w"}, {"p"}), n.node("Add", {"x", "p"}, {"y"});
  return n;
}

/// The same model with its weight and x in 8 bits, x by its own least and largest elements, as quantize_dynamic writes it.
Network dynamic_sum_of_products(float factor) {
  Network n = sum_of_products();
  constexpr float kScale = 0.01F;
  std::string integers;
  for (const float value : n.values("w")) integers += static_cast<char>(std::clamp(std::nearbyint(value / kScale), -128.0F, 127.0F));
  n.remove_node("p"), n.remove_initializer("w");
  bytes(n, "w.q", onnx::TensorProto::INT8, {kRows, kRows}, integers), bytes(n, "w.zero", onnx::TensorProto::INT8, {}, std::string(1, 0));
  n.floats("w.scale", {}, {kScale * factor});
  n.node("DynamicQuantizeLinear", {"x"}, {"x.q", "x.scale", "x.zero"});
  n.node("MatMulInteger", {"x.q", "w.q", "x.zero", "w.zero"}, {"sums"}), n.node("Cast", {"sums"}, {"real"}, {"to=1"});
  n.node("Mul", {"x.scale", "w.scale"}, {"scale"}), n.node("Mul", {"real", "scale"}, {"p"});
  n.sort();
  return n;
}

TEST(QuantizationLosses, OfOperandsRoundedByTheirOwnRange) {
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult right = verified(sum_of_products(), dynamic_sum_of_products(1), options);
  const QuantizationLoss* const loss = find(right, "p");
  ASSERT_NE(loss, nullptr) << summary(right);
  ASSERT_TRUE(loss->expected);
  EXPECT_NEAR(loss->snr, *loss->expected, 0.1);
  // 8 bits of x and of w: the steps are some hundredths of their deviations.
  EXPECT_GT(loss->snr, 30);
  EXPECT_LT(loss->snr, 45);
  // Add reads x unchanged, and loses nothing.
  EXPECT_EQ(find(right, "y"), nullptr);
  EXPECT_EQ(loss->fault, "");
  const VerifyResult wrong = verified(sum_of_products(), dynamic_sum_of_products(1.1F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_EQ(wrong.losses[0].tensor, "p");
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("another result"));
}

/// y = x · w with 4-bit blocks of w; all scales are multiplied by a factor. `outlier`: the only nonzero element of the first column, which
/// codes up to 7 cannot reach in steps of an eighth of it.
Network product(bool quantized, float factor = 1, float outlier = 0) {
  Network n(4);
  n.input("x", {"16", "32"}).output("y", {"16", "8"});
  n.normal("w", {kRows, kColumns}, 0.3);
  n.edit("w", [&](auto& v) {
    for (std::size_t i = 0; outlier > 0 && i < v.size(); i += kColumns) v[i] = i == 0 ? outlier : 0;
  });
  if (!quantized) {
    n.node("MatMul", {"x", "w"}, {"y"});
    return n;
  }
  const std::vector<float> values = n.values("w");
  n.remove_initializer("w");
  std::string packed;
  std::vector<float> scales;
  for (int64_t column = 0; column < kColumns; ++column) {
    for (int64_t first = 0; first < kRows; first += kBlock) {
      const auto at = [&](int64_t row) { return values[static_cast<std::size_t>((first + row) * kColumns + column)]; };
      float largest = 0;
      for (int64_t row = 0; row < kBlock; ++row) largest = std::max(largest, std::fabs(at(row)));
      const float scale = std::max(largest, 1e-3F) / (outlier > 0 ? 8.0F : 7.0F);
      const auto code = [&](int64_t row) { return static_cast<unsigned>(std::clamp(std::nearbyint(at(row) / scale) + 8, 0.0F, 15.0F)); };
      for (int64_t row = 0; row < kBlock; row += 2) packed += static_cast<char>(code(row) | code(row + 1) << 4U);
      scales.push_back(scale);
    }
  }
  for (float& scale : scales) scale *= factor;
  bytes(n, "w.q", onnx::TensorProto::UINT8, {kColumns, kRows / kBlock, kBlock / 2}, packed);
  n.floats("w.scales", {std::ssize(scales)}, scales);
  n.node("MatMulNBits", {"x", "w.q", "w.scales"}, {"y"}, {"K=32", "N=8", "bits=4", "block_size=16"}).set_domain("com.microsoft");
  import_microsoft(n);
  return n;
}

/// y = table[ids] · wᵀ. In 8 bits as quantize_dynamic writes it: integers of the table are operands of the product, whose two scales are
/// constant.
Network product_of_rows(bool quantized, float factor = 1) {
  constexpr int64_t kWords = 40;
  constexpr float kTableScale = 0.001F, kScale = 0.007F;
  Network n(7);
  n.input("ids", {"4", "16"}, onnx::TensorProto::INT64).output("y", {"4", "16", "24"});
  n.normal("table", {kWords, kRows}, 0.03).normal("w", {24, kRows}, 0.2);
  if (!quantized) {
    n.node("Gather", {"table", "ids"}, {"e"}), n.node("Transpose", {"w"}, {"wt"}, {"perm=1,0"}), n.node("MatMul", {"e", "wt"}, {"y"});
    return n;
  }
  const auto in_steps = [](float value, float scale) {
    return static_cast<char>(std::clamp(std::nearbyint(value / scale), -128.0F, 127.0F));
  };
  std::string table, weight;
  for (const float value : n.values("table")) table += in_steps(value, kTableScale);
  const std::vector<float> w = n.values("w");
  for (std::size_t i = 0; i < w.size(); ++i) weight += in_steps(w[i % 24 * kRows + i / 24], kScale);
  n.remove_initializer("table"), n.remove_initializer("w");
  bytes(n, "table.q", onnx::TensorProto::INT8, {kWords, kRows}, table), bytes(n, "w.q", onnx::TensorProto::INT8, {kRows, 24}, weight);
  n.floats("table.scale", {}, {kTableScale}).floats("w.scale", {}, {kScale * factor});
  zero_point(n, "zero", onnx::TensorProto::INT8);
  n.node("Gather", {"table.q", "ids"}, {"e.q"}), n.node("MatMulInteger", {"e.q", "w.q", "zero", "zero"}, {"sums"});
  n.node("Cast", {"sums"}, {"real"}, {"to=1"}), n.node("Mul", {"table.scale", "w.scale"}, {"scale"});
  n.node("Mul", {"real", "scale"}, {"y"});
  return n;
}

TEST(QuantizationLosses, OfAProductOfIntegersOfATable) {
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult right = verified(product_of_rows(false), product_of_rows(true), options);
  const double expected = loss_of_right(right, "y", 0.5);
  // Errors of steps s are s²/12 on average, relative to the variances of both operands.
  const double noise = 0.001 * 0.001 / 12 / (0.03 * 0.03) + 0.007 * 0.007 / 12 / (0.2 * 0.2);
  EXPECT_NEAR(expected, -10 * std::log10(noise), 1);
  const VerifyResult wrong = verified(product_of_rows(false), product_of_rows(true, 1.03F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("another result"));
}

/// y = x · wᵀ, with a weight that the original transposes and that the quantized model stores transposed, with a scale for each column.
Network transposed_product(bool quantized, float factor = 1) {
  constexpr int64_t kOutputs = 12;
  Network n(3);
  n.input("x", {"16", "32"}).output("y", {"16", "12"}).normal("w", {kOutputs, kRows}, 0.2);
  if (!quantized) {
    n.node("Transpose", {"w"}, {"wt"}, {"perm=1,0"}), n.node("MatMul", {"x", "wt"}, {"y"});
    return n;
  }
  std::vector<float> scales;
  for (int64_t i = 0; i < kOutputs; ++i) scales.push_back(0.006F + 0.001F * static_cast<float>(i));
  const std::vector<float> w = n.values("w");
  std::string integers;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float value = w[i % kOutputs * kRows + i / kOutputs] / scales[i % kOutputs];
    integers += static_cast<char>(std::clamp(std::nearbyint(value), -128.0F, 127.0F));
  }
  scales[5] *= factor;
  n.remove_initializer("w"), n.floats("scales", {kOutputs}, scales);
  bytes(n, "zeros", onnx::TensorProto::INT8, {kOutputs}, std::string(kOutputs, 0));
  bytes(n, "w.q", onnx::TensorProto::INT8, {kRows, kOutputs}, integers);
  n.node("DequantizeLinear", {"w.q", "scales", "zeros"}, {"w.d"}, {"axis=1"}), n.node("MatMul", {"x", "w.d"}, {"y"});
  return n;
}

TEST(QuantizationLosses, OfAWeightThatTheOriginalTransposes) {
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult right = verified(transposed_product(false), transposed_product(true), options);
  const double expected = loss_of_right(right, "y", 0.5);
  double noise = 0, signal = 0;
  Network a = transposed_product(false);
  const std::vector<float> w = a.values("w");
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::size_t column = i / kRows;
    const double scale = 0.006 + 0.001 * static_cast<double>(column), value = static_cast<double>(w[i]);
    noise += std::pow(std::nearbyint(value / scale) * scale - value, 2);
    signal += value * value;
  }
  EXPECT_NEAR(expected, 10 * std::log10(signal / noise), 1);
  const VerifyResult wrong = verified(transposed_product(false), transposed_product(true, 1.1F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("at place 5 of the last axis"));
}

TEST(QuantizationLosses, OfWeightsRoundedInBlocks) {
  const VerifyOptions options = meaning(DataType::int4);
  const VerifyResult right = verified(product(false), product(true), options);
  const double expected = loss_of_right(right, "y", 1e-3);
  // Steps of a seventh of the largest of 16 elements: its square is 3.1 times their mean square or so, and rounding costs a twelfth.
  EXPECT_NEAR(expected, 10 * std::log10(12 * 49 / 3.6), 3);
  const VerifyResult wrong = verified(product(false), product(true, 1.2F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("another result"));
}

/// Weights as 8-bit integers with a scale for each column.
std::string in_columns(const std::vector<float>& values, const std::vector<float>& scales) {
  std::string integers;
  for (std::size_t i = 0; i < values.size(); ++i) {
    integers += static_cast<char>(std::clamp(std::nearbyint(values[i] / scales[i % scales.size()]), -127.0F, 127.0F));
  }
  return integers;
}

/// y = x · w + b. Quantized: x in 8 bits, w in 8 bits with a scale for each of its columns, the scales changed by `harm`.
Network columns(bool quantized, const std::function<void(std::vector<float>& scales)>& harm = {}) {
  constexpr std::size_t kCount = 24;
  Network n(7);
  n.input("x", {"64", "32"}).output("y", {"64", "24"});
  n.normal("w", {32, kCount}, 0.3).normal("b", {kCount}, 0.2);
  std::string x = "x", w = "w";
  if (quantized) {
    x = rounded_to_uint8(n, "x", 0.05F);
    const std::vector<float> values = n.values("w");
    std::vector<float> scales(kCount, 0);
    for (std::size_t i = 0; i < values.size(); ++i) scales[i % kCount] = std::max(scales[i % kCount], std::fabs(values[i]) / 127);
    bytes(n, "w.q", onnx::TensorProto::INT8, {32, kCount}, in_columns(values, scales));
    bytes(n, "w.zero", onnx::TensorProto::INT8, {kCount}, std::string(kCount, 0));
    if (harm) harm(scales);
    n.floats("w.scale", {kCount}, scales);
    n.node("DequantizeLinear", {"w.q", "w.scale", "w.zero"}, {"w.d"}, {"axis=1"});
    w = "w.d";
  }
  n.node("Gemm", {x, w, "b"}, {"y"});
  return n;
}

TEST(QuantizationLosses, AFaultOfOneChannelIsNamedWithItsPlace) {
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult right = verified(columns(false), columns(true), options);
  ASSERT_NE(find(right, "y"), nullptr) << summary(right);
  EXPECT_EQ(find(right, "y")->fault, "");
  const auto expect_named = [&](const Network& b, const char* what) {
    const VerifyResult result = verified(columns(false), b, options);
    ASSERT_FALSE(result.losses.empty()) << what;
    EXPECT_EQ(result.losses[0].tensor, "y") << what;
    EXPECT_EQ(result.losses[0].fault, "another result than its steps give at place 5 of the last axis") << what;
  };
  expect_named(columns(true, [](auto& scales) { scales[5] *= 1.1F; }), "another scale");
  Network bias = columns(true);
  bias.edit("b", [](auto& v) { v[5] += 0.2F; });
  expect_named(bias, "another bias");
  Network saturated = columns(true);
  for (int64_t row = 0; row < 32; ++row) {
    char& integer = (*saturated.tensor("w.q").mutable_raw_data())[static_cast<std::size_t>(row * 24 + 5)];
    integer = static_cast<char>(std::clamp<int>(static_cast<int8_t>(integer), -90, 90));
  }
  expect_named(saturated, "saturated integers");
}

TEST(QuantizationLosses, ChannelsThatLoseLessThanOthersAreNoFault) {
  // A column of zeros loses nothing, and one of a different magnitude loses as much as its own steps cost.
  Network a = columns(false);
  a.edit("w", [](auto& v) {
    for (std::size_t row = 0; row < 32; ++row) v[row * 24 + 3] = 0, v[row * 24 + 4] *= 1e-3F;
  });
  Network b = columns(true);
  const std::vector<float> values = a.values("w");
  std::vector<float> scales = b.values("w.scale");
  scales[4] *= 1e-3F;
  b.set_values("w.scale", scales);
  b.tensor("w.q").set_raw_data(in_columns(values, scales));
  const VerifyResult result = verified(a, b, meaning(DataType::int8));
  ASSERT_NE(find(result, "y"), nullptr) << summary(result);
  EXPECT_EQ(find(result, "y")->fault, "");
}

/// Converts some f32 tensors to f16.
void in_half(Network& n, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string halves;
    for (const float value : n.values(name)) {
      const uint16_t bits = double_to_half(static_cast<double>(value));
      halves.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
    n.tensor(name).set_data_type(onnx::TensorProto::FLOAT16);
    n.tensor(name).set_raw_data(halves);
  }
}

/// y = softmax(x · w + b) · c, in f32, or with 4-bit blocks of w and all else in f16, as converters write both.
Network attended(bool quantized, float factor = 1) {
  Network n = product(quantized, factor);
  n.graph().mutable_output(0)->set_name("y");
  n.producer("y").set_output(0, "p");
  n.normal("b", {kColumns}, 0.3).floats("c", {}, {0.7071F});
  n.node("Add", {"b", "p"}, {"s"}), n.node("Softmax", {"s"}, {"t"}), n.node("Mul", {"t", "c"}, {quantized ? "y.half" : "y"});
  if (!quantized) return n;
  in_half(n, {"w.scales", "b", "c"});
  n.node("Cast", {"x"}, {"x.half"}, {"to=10"}), n.producer("p").set_input(0, "x.half");
  n.node("Cast", {"y.half"}, {"y"}, {"to=1"});
  n.sort();
  return n;
}

TEST(QuantizationLosses, OfNodesIn16BitsAreThoseOfRoundingToThem) {
  const VerifyOptions options = meaning(DataType::int4);
  const VerifyResult right = verified(attended(false), attended(true), options);
  for (const std::string tensor : {"p", "s", "t", "y"}) {
    const QuantizationLoss* const loss = find(right, tensor);
    ASSERT_NE(loss, nullptr) << tensor << "\n" << summary(right);
    ASSERT_TRUE(loss->expected) << tensor;
    EXPECT_EQ(loss->fault, "") << tensor;
    EXPECT_NEAR(loss->snr, *loss->expected, 3) << tensor;
    // One rounding to 11 bits loses 68 to 80 dB, several of them no more than 60.
    EXPECT_GT(loss->snr, tensor == "p" ? 15 : 60) << tensor;
  }
  const VerifyResult wrong = verified(attended(false), attended(true, 1.2F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_EQ(wrong.losses[0].tensor, "p");
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("another result"));
  Network constant = attended(true);
  constant.tensor("c").set_raw_data(std::string("\xcd\x39", 2));  // 0.7251
  const VerifyResult other = verified(attended(false), constant, options);
  ASSERT_FALSE(other.losses.empty());
  EXPECT_EQ(other.losses[0].tensor, "y");
  EXPECT_THAT(other.losses[0].fault, HasSubstr("another result"));
}

/// MatMul, Relu, MatMul; or the same on 8-bit numbers, where the range of the first result includes the Relu. `padded`: with an additional
/// row of zeros in between.
Network chain(bool quantized, float factor = 1, bool padded = false) {
  Network n(6);
  n.input("x", {"16", "32"}).output("y", {padded ? "17" : "16", "8"});
  n.normal("v", {32, 24}, 0.2).normal("w", {24, 8}, 0.2).integers("pads", {4}, {1, 0, 0, 0});
  if (!quantized) {
    n.node("MatMul", {"x", "v"}, {"h"}), n.node("Relu", {"h"}, {"r"});
    if (padded) n.node("Pad", {"r", "pads"}, {"p"});
    n.node("MatMul", {padded ? "p" : "r", "w"}, {"y"});
    return n;
  }
  constexpr float kScale = 0.007F;
  const auto scale = [&](const std::string& name, float value, onnx::TensorProto::DataType type, char zero) {
    n.floats(name + "_scale", {}, {value}), bytes(n, name + "_zero", type, {}, std::string(1, zero));
  };
  for (const std::string name : {"v", "w"}) {
    std::string integers;
    for (const float value : n.values(name)) integers += static_cast<char>(std::clamp(std::nearbyint(value / kScale), -128.0F, 127.0F));
    n.remove_initializer(name);
    bytes(n, name + "_quantized", onnx::TensorProto::INT8, name == "v" ? std::vector<int64_t>{32, 24} : std::vector<int64_t>{24, 8},
          integers);
    scale(name, name == "w" ? kScale * factor : kScale, onnx::TensorProto::INT8, 0);
  }
  scale("x", 0.05F, onnx::TensorProto::UINT8, '\x80'), scale("h", 0.02F, onnx::TensorProto::UINT8, 0);
  scale("y", 0.04F, onnx::TensorProto::UINT8, '\x80');
  n.node("QuantizeLinear", {"x", "x_scale", "x_zero"}, {"x_quantized"});
  n.node("QLinearMatMul", {"x_quantized", "x_scale", "x_zero", "v_quantized", "v_scale", "v_zero", "h_scale", "h_zero"}, {"h_quantized"});
  const std::string rows = padded ? "p_quantized" : "h_quantized";
  if (padded) n.node("Pad", {"h_quantized", "pads", "h_zero"}, {rows});
  n.node("QLinearMatMul", {rows, "h_scale", "h_zero", "w_quantized", "w_scale", "w_zero", "y_scale", "y_zero"}, {"y_quantized"});
  n.node("DequantizeLinear", {"y_quantized", "y_scale", "y_zero"}, {"y"});
  return n;
}

TEST(QuantizationLosses, AWeightThatEndsWithItsGridIsNoFaultOfItsChannel) {
  const VerifyResult right = verified(product(false, 1, 4), product(true, 1, 4), meaning(DataType::int4));
  const QuantizationLoss* const loss = find(right, "y");
  ASSERT_NE(loss, nullptr) << summary(right);
  EXPECT_LT(loss->snr, loss->expected.value_or(0) - 0.5);
  EXPECT_EQ(loss->fault, "");
}

TEST(QuantizationLosses, OfOperatorsOnQuantizedNumbers) {
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult right = verified(chain(false), chain(true), options);
  ASSERT_GE(right.losses.size(), 2U) << summary(right);
  for (const QuantizationLoss& loss : right.losses) {
    EXPECT_EQ(loss.fault, "") << loss.tensor;
    EXPECT_EQ(loss.op_type, "QLinearMatMul");
    ASSERT_TRUE(loss.expected) << loss.tensor;
    EXPECT_NEAR(loss.snr, *loss.expected, 1) << loss.tensor;
    EXPECT_GT(loss.snr, 25) << loss.tensor;
  }
  // A Pad adds integers of its operand's type.
  const VerifyResult padded = verified(chain(false, 1, true), chain(true, 1, true), options);
  ASSERT_GE(padded.losses.size(), 2U) << summary(padded);
  for (const QuantizationLoss& loss : padded.losses) EXPECT_EQ(loss.fault, "") << loss.tensor;
  const VerifyResult wrong = verified(chain(false), chain(true, 1.2F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_EQ(wrong.losses[0].tensor, "y");
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("another result"));
  EXPECT_EQ(std::ranges::count(wrong.losses, std::string(), &QuantizationLoss::fault), std::ssize(wrong.losses) - 1);
}

/// h = x · v, read by a Relu and by a Transpose. In 8 bits, x in coarse steps: the Relu reads dequantized numbers, the Transpose moves
/// integers.
Network read_twice(bool quantized) {
  Network n(6);
  n.input("x", {"16", "32"}).output("r", {"16", "24"}).output("y", {"24", "16"});
  n.normal("v", {32, 24}, 0.2);
  if (quantized) {
    n.floats("h_scale", {}, {0.04F});
    zero_point(n, "h_zero", onnx::TensorProto::UINT8);
    n.node("MatMul", {rounded_to_uint8(n, "x", 0.5F), stored_as_int8(n, "v", 0.007F)}, {"sums"});
    n.node("QuantizeLinear", {"sums", "h_scale", "h_zero"}, {"h_quantized"});
    n.node("DequantizeLinear", {"h_quantized", "h_scale", "h_zero"}, {"h"}), n.node("Relu", {"h"}, {"r"});
    n.node("Transpose", {"h_quantized"}, {"t_quantized"}, {"perm=1,0"});
    n.node("DequantizeLinear", {"t_quantized", "h_scale", "h_zero"}, {"t"});
    n.node("QuantizeLinear", {"t", "h_scale", "h_zero"}, {"t_again"});
    n.node("DequantizeLinear", {"t_again", "h_scale", "h_zero"}, {"same"}), n.node("Tanh", {"same"}, {"y"});
  } else {
    n.node("MatMul", {"x", "v"}, {"h"}), n.node("Relu", {"h"}, {"r"}), n.node("Transpose", {"h"}, {"t"}, {"perm=1,0"});
    n.node("Tanh", {"t"}, {"y"});
  }
  return n;
}

TEST(QuantizationLosses, IntegersReadDirectlyAndDequantizedAreNoFault) {
  const VerifyResult result = verified(read_twice(false), read_twice(true), meaning(DataType::int8));
  const QuantizationLoss* const product = find(result, "h");
  ASSERT_NE(product, nullptr) << summary(result);
  // Errors of steps s are s²/12 on average: 32 products of x by weights of 0.2, and the steps of h.
  const double noise = (32 * 0.04 * 0.25 + 0.0016) / 12;
  ASSERT_TRUE(product->expected);
  EXPECT_NEAR(*product->expected, product->snr, 0.5);
  EXPECT_NEAR(product->snr, 10 * std::log10(32 * 0.04 / noise), 1.5);
  for (const QuantizationLoss& loss : result.losses) EXPECT_EQ(loss.fault, "") << loss.tensor;
}

TEST(QuantizationLosses, OfOperatorsThatAnOptimizerNamed) {
  // ONNX Runtime's optimizer renames integers; the nodes keep their names, sometimes with a number.
  Network a = chain(false), b = chain(true);
  a.producer("h").set_name("first"), a.producer("r").set_name("relu"), a.producer("y").set_name("second");
  b.producer("h_quantized").set_name("first_token_7");
  b.producer("h_quantized").set_output(0, "qdq_s8_to_u8_quant_token_3");
  b.replace_uses("h_quantized", "qdq_s8_to_u8_quant_token_3");
  const VerifyResult result = verified(a, b, meaning(DataType::int8));
  const QuantizationLoss* const loss = find(result, "qdq_s8_to_u8_quant_token_3");
  ASSERT_NE(loss, nullptr) << summary(result);
  ASSERT_TRUE(loss->expected);
  EXPECT_NEAR(loss->snr, *loss->expected, 1);
}

/// y = (flat x) · w + b in other dims, as a product and a sum, or as optimizers merge them: a Gemm of matrices, each value in 8 bits.
Network joined(bool quantized, float factor = 1) {
  Network n(8);
  n.input("x", {"2", "8", "32"}).output("y", {"2", "8", "24"});
  n.normal("w", {32, 24}, 0.3).normal("b", {24}, 0.2);
  if (!quantized) {
    n.node("Identity", {"x"}, {"i"}), n.node("MatMul", {"i", "w"}, {"p"}), n.node("Add", {"p", "b"}, {"y"});
    return n;
  }
  const std::vector<float> values = n.values("w");
  n.remove_initializer("w");
  bytes(n, "w.q", onnx::TensorProto::INT8, {32, 24}, in_columns(values, {0.01F})), n.floats("w.scale", {}, {0.01F * factor});
  zero_point(n, "w.zero", onnx::TensorProto::INT8);
  n.node("DequantizeLinear", {"w.q", "w.scale", "w.zero"}, {"w.d"});
  n.integers("flat", {2}, {16, 32}).integers("deep", {3}, {2, 8, 24});
  n.node("Identity", {"x"}, {"i"}), n.node("Reshape", {"i", "flat"}, {"f"});
  n.node("Gemm", {rounded_to_uint8(n, "f", 0.05F), "w.d", "b"}, {"g"});
  n.node("Reshape", {rounded_to_uint8(n, "g", 0.06F), "deep"}, {"y"});
  return n;
}

TEST(QuantizationLosses, OfAProductAndASumThatAreOneGemmOfMatrices) {
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult right = verified(joined(false), joined(true), options);
  const QuantizationLoss* const loss = find(right, "y");
  ASSERT_NE(loss, nullptr) << summary(right);
  ASSERT_TRUE(loss->expected);
  EXPECT_NEAR(loss->snr, *loss->expected, 1);
  EXPECT_EQ(loss->fault, "");
  const VerifyResult wrong = verified(joined(false), joined(true, 1.1F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_EQ(wrong.losses[0].tensor, "y");
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("another result"));
}

/// Convolution, pool, convolution of images: in f32, or on 8-bit numbers whose channels come last, as ONNX Runtime saves them for some
/// processors.
Network images(bool quantized, float factor = 1) {
  Network n(6);
  n.input("x", {"1", "3", "12", "12"}).output("y", {"1", "4", "6", "6"});
  n.normal("v", {8, 3, 3, 3}, 0.25).normal("w", {4, 8, 1, 1}, 0.4);
  if (!quantized) {
    n.node("Conv", {"x", "v"}, {"h"}, {"pads=1,1,1,1"}).set_name("first");
    n.node("MaxPool", {"h"}, {"m"}, {"kernel_shape=2,2", "strides=2,2"}).set_name("pool");
    n.node("Conv", {"m", "w"}, {"y"}).set_name("second");
    return n;
  }
  constexpr float kScale = 0.01F;
  const auto scale = [&](const std::string& name, float value, onnx::TensorProto::DataType type, char zero) {
    n.floats(name + ".scale", {}, {value}), bytes(n, name + ".zero", type, {}, std::string(1, zero));
  };
  for (const std::string name : {"v", "w"}) {
    const std::string integers = in_columns(n.values(name), {kScale});
    n.remove_initializer(name);
    bytes(n, name + ".q", onnx::TensorProto::INT8, name == "v" ? std::vector<int64_t>{8, 3, 3, 3} : std::vector<int64_t>{4, 8, 1, 1},
          integers);
    scale(name, name == "w" ? kScale * factor : kScale, onnx::TensorProto::INT8, 0);
  }
  for (const std::string name : {"x", "h", "y"}) scale(name, name == "x" ? 0.05F : 0.06F, onnx::TensorProto::UINT8, '\x80');
  n.node("QuantizeLinear", {"x", "x.scale", "x.zero"}, {"x.q"}), n.node("Transpose", {"x.q"}, {"x.last"}, {"perm=0,2,3,1"});
  const auto microsoft = [&](const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                             const std::vector<std::string>& attributes, const std::string& name) {
    onnx::NodeProto& node = n.node(op, inputs, {output}, attributes);
    node.set_domain("com.microsoft"), node.set_name(name);
  };
  microsoft("QLinearConv", {"x.last", "x.scale", "x.zero", "v.q", "v.scale", "v.zero", "h.scale", "h.zero"}, "one",
            {"pads=1,1,1,1", "channels_last=1"}, "first_token_4");
  microsoft("NhwcMaxPool", {"one"}, "two", {"kernel_shape=2,2", "strides=2,2"}, "pool");
  microsoft("QLinearConv", {"two", "h.scale", "h.zero", "w.q", "w.scale", "w.zero", "y.scale", "y.zero"}, "three", {"channels_last=1"},
            "second");
  n.node("Transpose", {"three"}, {"y.q"}, {"perm=0,3,1,2"}), n.node("DequantizeLinear", {"y.q", "y.scale", "y.zero"}, {"y"});
  import_microsoft(n);
  return n;
}

TEST(QuantizationLosses, OfImagesWhoseChannelsComeLast) {
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult right = verified(images(false), images(true), options);
  for (const std::string tensor : {"one", "two", "y"}) {
    const QuantizationLoss* const loss = find(right, tensor);
    ASSERT_NE(loss, nullptr) << tensor << "\n" << summary(right);
    ASSERT_TRUE(loss->expected) << tensor;
    EXPECT_NEAR(loss->snr, *loss->expected, 1) << tensor;
    EXPECT_EQ(loss->fault, "") << tensor;
  }
  const VerifyResult wrong = verified(images(false), images(true, 1.1F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_EQ(wrong.losses[0].tensor, "y");
  EXPECT_EQ(wrong.losses[0].node, "second");
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("another result"));
}

TEST(QuantizationLosses, OfAMeanOfQuantizedNumbers) {
  const auto mean = [](bool quantized, float factor, int64_t opset) {
    Network n(5, opset);
    n.input("x", {"16", "4", "8"}).output("y", {"16", "1", "1"});
    if (!quantized) {
      n.integers("axes", {2}, {1, 2});
      opset < 18 ? n.node("ReduceMean", {"x"}, {"m"}, {"axes=1,2"}) : n.node("ReduceMean", {"x", "axes"}, {"m"});
      n.node("Identity", {"m"}, {"y"});
      return n;
    }
    n.floats("x.scale", {}, {0.05F}).floats("m.scale", {}, {0.01F * factor});
    zero_point(n, "zero", onnx::TensorProto::UINT8);
    n.node("QuantizeLinear", {"x", "x.scale", "zero"}, {"x_quantized"});
    n.node("QLinearReduceMean", {"x_quantized", "x.scale", "zero", "m.scale", "zero"}, {"m_quantized"}, {"axes=1,2", "keepdims=1"})
        .set_domain("com.microsoft");
    n.node("DequantizeLinear", {"m_quantized", factor == 1 ? "m.scale" : "x.scale", "zero"}, {"y"});
    import_microsoft(n);
    return n;
  };
  for (const int64_t opset : {17, 18}) {
    const VerifyResult right = verified(mean(false, 1, opset), mean(true, 1, opset), meaning(DataType::int8));
    const QuantizationLoss* const loss = find(right, "m_quantized");
    ASSERT_NE(loss, nullptr) << opset << summary(right);
    ASSERT_TRUE(loss->expected) << opset;
    EXPECT_NEAR(loss->snr, *loss->expected, 0.1) << opset;
    EXPECT_EQ(loss->op_type, "QLinearReduceMean");
    EXPECT_EQ(loss->fault, "");
  }
}

/// An LSTM of both directions, in f32, or with its weights and operands in 8 bits.
Network recurrent(bool quantized, float factor = 1) {
  constexpr int64_t kBoth = 2, kWidth = 12, kHidden = 10;
  Network n(9);
  n.input("x", {"8", "2", "12"}).output("y", {"8", "2", "2", "10"});
  n.normal("w", {kBoth, 4 * kHidden, kWidth}, 0.3).normal("r", {kBoth, 4 * kHidden, kHidden}, 0.3);
  n.normal("b", {kBoth, 8 * kHidden}, 0.2);
  if (!quantized) {
    n.node("LSTM", {"x", "w", "r", "b"}, {"y"}, {"hidden_size=10", "direction='bidirectional'"});
    return n;
  }
  for (const std::string name : {"w", "r"}) {
    const int64_t inputs = name == "w" ? kWidth : kHidden;
    const std::vector<float> values = n.values(name);
    n.remove_initializer(name);
    std::string integers;
    for (int64_t direction = 0; direction < kBoth; ++direction) {
      for (int64_t input = 0; input < inputs; ++input) {
        for (int64_t gate = 0; gate < 4 * kHidden; ++gate) {
          const float value = values[static_cast<std::size_t>((direction * 4 * kHidden + gate) * inputs + input)];
          integers += static_cast<char>(std::clamp(std::nearbyint(value / 0.01F), -127.0F, 127.0F));
        }
      }
    }
    bytes(n, name + ".q", onnx::TensorProto::INT8, {kBoth, inputs, 4 * kHidden}, integers);
    n.floats(name + ".scale", {kBoth}, {0.01F, name == "r" ? 0.01F * factor : 0.01F});
    bytes(n, name + ".zero", onnx::TensorProto::INT8, {kBoth}, std::string(2, 0));
  }
  n.node("DynamicQuantizeLSTM", {"x", "w.q", "r.q", "b", "", "", "", "", "w.scale", "w.zero", "r.scale", "r.zero"}, {"y"},
         {"hidden_size=10", "direction='bidirectional'"})
      .set_domain("com.microsoft");
  import_microsoft(n);
  return n;
}

TEST(QuantizationLosses, OfRecurrentWeights) {
  const VerifyOptions options = meaning(DataType::int8);
  const VerifyResult right = verified(recurrent(false), recurrent(true), options);
  const QuantizationLoss* const loss = find(right, "y");
  ASSERT_NE(loss, nullptr) << summary(right);
  ASSERT_TRUE(loss->expected);
  // The state is also rounded at each step.
  EXPECT_NEAR(loss->snr, *loss->expected, 2);
  EXPECT_GT(loss->snr, 25);
  EXPECT_EQ(loss->fault, "");
  const VerifyResult wrong = verified(recurrent(false), recurrent(true, 1.3F), options);
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_EQ(wrong.losses[0].op_type, "DynamicQuantizeLSTM");
  EXPECT_THAT(wrong.losses[0].fault, HasSubstr("another result"));
}

TEST(QuantizationLosses, ValuesOfAnotherTypeAreVisitedOnce) {
  // Each value is computed from the previous one, read twice: 2⁴⁸ paths lead to the first. None of them can be given, as b computes them in
  // f64.
  const auto scaled = [](bool quantized) {
    Network n = product(quantized);
    n.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
    n.graph().mutable_output(0)->set_name("z");
    n.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
    n.producer("y").set_output(0, quantized ? "p" : "y");
    n.node("Shape", {"x"}, {"dims"}), n.node("Cast", {"dims"}, {"c"}, {quantized ? "to=11" : "to=1"});
    n.node("ReduceMax", {"c"}, {"m0"}, {"keepdims=0"});
    for (int i = 0; i < 48; ++i) {
      const std::string before = "m" + std::to_string(i);
      n.node("Min", {before, before}, {"m" + std::to_string(i + 1)});
    }
    n.node("Cast", {"m48"}, {"f"}, {"to=1"}), n.node("Mul", {quantized ? "p" : "y", "f"}, {"z"});
    return n;
  };
  const VerifyResult result = verified(scaled(false), scaled(true), meaning(DataType::int4));
  ASSERT_NE(find(result, "z"), nullptr) << summary(result);
  EXPECT_EQ(find(result, "z")->fault, "");
}

TEST(QuantizationLosses, SamplesStayWithinTheRangeOfTheInputsQuantizer) {
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

TEST(QuantizationLosses, RangesOfInputsAreThoseOfQuantizersAfterNodesThatMoveElements) {
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

/// Conv, BatchNormalization, Relu.
Network normalized() {
  Network n(6);
  n.input("x", {"1", "4", "6", "6"}).output("r", {"1", "8", "4", "4"});
  n.convolution("c", "x", "h", {8, 4, 3, 3}, {});
  n.batch_norm("bn", "h", "n", 8);
  n.node("Relu", {"n"}, {"r"});
  return n;
}

/// The result of a quantizer: folded first, then the folded weights as int8.
Network normalized_and_quantized() {
  Network n = normalized();
  test::fold_batch_norm(n, "n");
  const std::string weight = n.producer("n").input(1);
  float largest = 0;
  for (const float value : n.values(weight)) largest = std::max(largest, std::abs(value));
  n.producer("n").set_input(1, stored_as_int8(n, weight, largest / 127));
  n.sort();
  return n;
}

TEST(QuantizationLosses, OfFoldedWeights) {
  const VerifyResult right = verified(normalized(), normalized_and_quantized(), meaning(DataType::int8));
  (void)loss_of_right(right, "n", 0.1);

  Network without_bias = normalized_and_quantized();
  without_bias.edit(without_bias.producer("n").input(2), [](auto& v) { std::ranges::fill(v, 0.0F); });
  const VerifyResult wrong = verified(normalized(), without_bias, meaning(DataType::int8));
  ASSERT_FALSE(wrong.losses.empty());
  EXPECT_THAT(wrong.losses.front().fault, HasSubstr("another result"));
}

TEST(QuantizationLosses, ARangeThatIsTooSmallIsNamedWithItsShare) {
  const VerifyResult result = judged(net(true, {0.06F, 0.004F}));
  ASSERT_FALSE(result.losses.empty());
  EXPECT_EQ(result.losses[0].tensor, "r");
  EXPECT_THAT(result.losses[0].fault, HasSubstr("cut off"));
  ASSERT_TRUE(result.losses[0].clipped);
  EXPECT_GT(*result.losses[0].clipped, 0.1);
  EXPECT_LT(*result.losses[0].clipped, 0.6) << "elements that the Relu made 0 are within";
  // The reader is not to blame: the clipped elements are part of its expected loss.
  EXPECT_LT(loss_of_right(result, "y", 0.5), 10);
}

TEST(QuantizationLosses, StepsAreCountedByADivisionInTheTypeThatOnnxDefines) {
  // 3 / 0.0235294122 is below 127.5 and equals it in f32; 1.25 / 0.09998 is above 12.5 and equals it in f16. Half a step rounds to even.
  struct Case {
    DataType scale_type, precision;
    float value, scale;
    double step;
  };
  const std::vector<Case> cases = {{DataType::float32, DataType::undefined, 3, 0.0235294122F, 128},
                                   {DataType::float16, DataType::undefined, 1.25F, 0.0999755859375F, 12},
                                   {DataType::float16, DataType::float32, 1.25F, 0.0999755859375F, 13}};
  for (const auto& [scale_type, precision, value, scale, step] : cases) {
    Network n(1);
    n.input("x", {"1"}).output("q", {"1"}, onnx::TensorProto::UINT8).floats("scale", {}, {scale});
    if (scale_type == DataType::float16) in_half(n, {"scale"});
    zero_point(n, "zero", onnx::TensorProto::UINT8);
    std::vector<std::string> attributes;
    if (precision != DataType::undefined) attributes.push_back("precision=" + std::to_string(static_cast<int>(precision)));
    n.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"}, attributes);
    const auto model = Model::from_bytes(n.bytes());
    Constants constants;
    const auto grid = Quantizer::of(*model->graph().find("q")->producer(), constants);
    ASSERT_TRUE(grid);
    const Tensor tensor = floats({1}, {value});
    ASSERT_TRUE(grid->round(tensor, Quantizer::Ends::open));
    EXPECT_EQ(tensor.data<float>()[0], static_cast<float>(step * static_cast<double>(scale))) << name_of(precision);
  }
}

}  // namespace
}  // namespace relayout
