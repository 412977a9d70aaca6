// Tests quantized models: steps at the outputs hide a missing activation or a different scale, so nodes decide. Elements that rounding puts
// on the other side of a boundary are no difference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/verify.h"
#include "support/network.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::fold_batch_norm;
using test::Network;

void quantize(Network& n, const std::string& from, const std::string& to, float scale) {
  n.floats(to + ".scale", {}, {scale});
  auto& zero = *n.graph().add_initializer();
  zero.set_name(to + ".zero");
  zero.set_data_type(onnx::TensorProto::UINT8);
  zero.set_raw_data(std::string(1, '\x80'));
  n.node("QuantizeLinear", {from, to + ".scale", to + ".zero"}, {to + ".q"});
  n.node("DequantizeLinear", {to + ".q", to + ".scale", to + ".zero"}, {to});
}

/// Convolution, normalization, GELU by Erf, convolution and a head, each result through QuantizeLinear and DequantizeLinear.
Network quantized() {
  Network n(11);
  n.input("x", {"N", "3", "10", "10"}).output("y", {"N", "24"});
  quantize(n, "x", "x.d", 0.031F);
  n.convolution("c1", "x.d", "c1.y", {8, 3, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n1", "c1.y", "n1.y", 8);
  quantize(n, "n1.y", "n1.d", 0.043F);
  n.node("Erf", {"n1.d"}, {"erf"}), n.floats("one", {}, {1}).node("Add", {"erf", "one"}, {"gate"});
  n.node("Mul", {"n1.d", "gate"}, {"gelu"});
  quantize(n, "gelu", "gelu.d", 0.057F);
  n.convolution("c2", "gelu.d", "c2.y", {8, 8, 3, 3}, {"pads=1,1,1,1"});
  quantize(n, "c2.y", "c2.d", 0.06F);
  n.node("GlobalAveragePool", {"c2.d"}, {"g"}), n.node("Flatten", {"g"}, {"flat"});
  n.normal("fc.w", {24, 8}, 0.4).normal("fc.b", {24}, 0.1).node("Gemm", {"flat", "fc.w", "fc.b"}, {"y"}, {"transB=1"});
  return n;
}

TEST(Quantized, ARightFoldIsTheSame) {
  Network a = quantized(), b = a;
  fold_batch_norm(b, "n1.y", {.in_float = true});
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

TEST(Quantized, SamplesWithinAQuantizersRangeAreRemarked) {
  const auto made = [](float scale) {
    Network n(3);
    n.input("x", {"1", "3", "10", "10"}).output("y", {"1", "8", "10", "10"});
    if (scale > 0) quantize(n, "x", "x.d", scale);
    n.convolution("c1", scale > 0 ? "x.d" : "x", "y", {8, 3, 3, 3}, {"pads=1,1,1,1"});
    return n;
  };
  const auto is_stated = ::testing::Contains(::testing::HasSubstr("the range of B's quantizer"));
  // 128 · 0.001 below zero, 127 · 0.001 above.
  const VerifyResult held = verified(made(0), made(0.001F));
  EXPECT_THAT(held.remarks, ::testing::Contains(::testing::AllOf(::testing::HasSubstr("-0.128"), ::testing::HasSubstr("0.127"))))
      << summary(held);
  EXPECT_THAT(held.remarks, is_stated);
  EXPECT_THAT(verified(made(0.03F), made(0.001F)).remarks, ::testing::Not(is_stated)) << "samples reach beyond, as both are quantized";
}

TEST(Quantized, V83AMissingActivationAndOtherScalesAreNamed) {
  const Network a = quantized();
  const auto expect_named = [&](Network b, const std::vector<std::string>& any_of) {
    const VerifyResult result = verified(a, b);
    EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
    ASSERT_FALSE(result.layers.empty()) << summary(result);
    EXPECT_THAT(any_of, ::testing::Contains(result.layers.front().tensor)) << summary(result);
  };
  Network gone = a;
  gone.producer("erf").set_op_type("Identity");
  expect_named(gone, {"erf"});
  for (const float factor : {1.05F, 1.2F, 0.25F}) {
    Network scale = a;
    scale.edit("gelu.d.scale", [&](auto& v) { v[0] *= factor; });
    expect_named(scale, {"gelu.d.q", "gelu.d"});
  }
  Network weight = a;
  weight.edit("c2.w", [](auto& v) { v[5] *= 1.05F; });
  expect_named(weight, {"c2.y", "c2.d.q"});
  Network zero = a;
  zero.tensor("n1.d.zero").set_raw_data(std::string(1, '\x84'));
  expect_named(zero, {"n1.d.q", "n1.d"});
}

/// Counts every step in int8 around 0 instead of uint8 around 128.
void count_around_zero(Network& n) {
  for (onnx::TensorProto& tensor : *n.graph().mutable_initializer()) {
    if (!tensor.name().ends_with(".zero") || tensor.data_type() != onnx::TensorProto::UINT8) continue;
    tensor.set_data_type(onnx::TensorProto::INT8);
    tensor.set_raw_data(std::string(1, '\0'));
  }
}

/// Renames steps as ONNX Runtime does when it converts signed steps to unsigned ones.
void rename_steps(Network& n) {
  int token = 0;
  for (onnx::NodeProto& node : *n.graph().mutable_node()) {
    if (node.op_type() != "QuantizeLinear") continue;
    const std::string before = node.output(0), after = "token_" + std::to_string(token++);
    node.set_output(0, after);
    n.replace_uses(before, after);
  }
}

TEST(Quantized, StepsCountedFromAnotherZeroPointAreTheSame) {
  Network a = quantized(), b = a;
  count_around_zero(a);
  fold_batch_norm(b, "n1.y", {.in_float = true});
  for (const bool renamed : {false, true}) {
    if (renamed) rename_steps(b);
    for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
      const VerifyResult result = verified(one, other);
      EXPECT_EQ(result.outcome, Outcome::same) << "renamed: " << renamed << "\n" << summary(result);
    }
    const auto expect_named = [&](const std::function<void(Network&)>& harm, const std::string& tensor) {
      Network harmed = b;
      harm(harmed);
      const VerifyResult result = verified(a, harmed);
      EXPECT_EQ(result.outcome, Outcome::different) << tensor << "\n" << summary(result);
      ASSERT_FALSE(result.layers.empty()) << tensor;
      if (!renamed) {
        EXPECT_EQ(result.layers.front().tensor, tensor) << summary(result);
      }
    };
    expect_named([](Network& n) { n.tensor("n1.d.zero").set_raw_data(std::string(1, '\x81')); }, "n1.d");
    expect_named([](Network& n) { n.edit("gelu.d.scale", [](auto& v) { v[0] *= 1.2F; }); }, "gelu.d.q");
    expect_named([](Network& n) { n.producer("erf").set_op_type("Identity"); }, "erf");
  }
}

/// A product of quantized numbers: in real arithmetic between DequantizeLinear and QuantizeLinear, or by QLinearMatMul.
Network product(bool in_integers) {
  constexpr int64_t kDepth = 96, kColumns = 64;
  Network n(3);
  n.input("x", {"200", "96"}).output("y", {"200", "64"});
  quantize(n, "x", "x.d", 0.031F);
  std::string bytes;
  for (int64_t i = 0; i < kDepth * kColumns; ++i) bytes.push_back(static_cast<char>(static_cast<int8_t>(i * 7919 % 255 - 127)));
  auto& weights = *n.graph().add_initializer();
  weights.set_name("w.q");
  weights.set_data_type(onnx::TensorProto::INT8);
  weights.add_dims(kDepth), weights.add_dims(kColumns);
  weights.set_raw_data(bytes);
  n.floats("w.scale", {}, {0.0037F});
  auto& zero = *n.graph().add_initializer();
  zero.set_name("w.zero");
  zero.set_data_type(onnx::TensorProto::INT8);
  zero.set_raw_data(std::string(1, '\0'));
  // Sums are whole multiples of the product of both scales: one in 622 is at a boundary between two steps.
  quantize(n, "p", "y", 0.031F * 0.0037F * 622);
  if (in_integers) {
    n.remove_node("y.q");
    n.node("QLinearMatMul", {"x.d.q", "x.d.scale", "x.d.zero", "w.q", "w.scale", "w.zero", "y.scale", "y.zero"}, {"y.q"});
  } else {
    n.node("DequantizeLinear", {"w.q", "w.scale", "w.zero"}, {"w"});
    n.node("MatMul", {"x.d", "w"}, {"p"});
  }
  n.sort();
  return n;
}

/// The sum of two products of quantized numbers: each rounded before the addition, or by operators that pass steps to each other.
Network sum_of_products(bool in_integers) {
  Network n = product(in_integers);
  n.producer("y.q").set_name("product");
  if (!in_integers) n.producer("p").set_name("product"), n.producer("y.q").set_name("y.q");
  auto& opset = *n.model().add_opset_import();
  opset.set_domain("com.microsoft");
  opset.set_version(1);
  n.graph().clear_output();
  n.output("z", {"200", "64"});
  if (in_integers) {
    n.remove_node("y");
    n.floats("z.scale", {}, {0.05F});
    *n.graph().add_initializer() = n.tensor("y.zero");
    n.graph().mutable_initializer()->rbegin()->set_name("z.zero");
    n.node("QLinearAdd", {"y.q", "y.scale", "y.zero", "y.q", "y.scale", "y.zero", "z.scale", "z.zero"}, {"z.q"})
        .set_domain("com.microsoft");
    n.node("DequantizeLinear", {"z.q", "z.scale", "z.zero"}, {"z"});
    for (onnx::NodeProto& node : *n.graph().mutable_node()) {
      if (node.output(0) == "z.q") node.set_name("sum");
    }
    n.replace_uses("y.q", "token");
    n.producer("y.q").set_output(0, "token");
  } else {
    n.node("Add", {"y", "y"}, {"sum"}).set_name("sum");
    quantize(n, "sum", "z", 0.05F);
  }
  n.sort();
  return n;
}

TEST(Quantized, StepsBetweenOperatorsOfIntegersAreFoundByTheirNodes) {
  const Network a = sum_of_products(false), b = sum_of_products(true);
  const VerifyResult right = verified(a, b);
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_THAT(right.remarks, ::testing::Contains(::testing::HasSubstr("to the neighbouring step by rounding"))) << "nothing is tested";
  Network harmed = b;
  harmed.edit("w.scale", [](auto& v) { v[0] *= 1.05F; });
  EXPECT_EQ(verified(a, harmed).outcome, Outcome::different);
}

TEST(Quantized, V114OneStepAtABoundaryIsRoundingAndNothingElseIs) {
  const Network a = product(false), b = product(true);
  const VerifyResult right = verified(a, b);
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_THAT(right.remarks, ::testing::Contains(::testing::HasSubstr("to the neighbouring step by rounding"))) << "nothing is tested";
  EXPECT_EQ(verified(b, a).outcome, Outcome::same);
  const auto expect_different = [&](const std::function<void(Network&)>& harm, const char* what) {
    Network harmed = b;
    harm(harmed);
    EXPECT_EQ(verified(a, harmed).outcome, Outcome::different) << what;
  };
  expect_different([](Network& n) { n.edit("w.scale", [](auto& v) { v[0] *= 1.01F; }); }, "another scale of the weights");
  expect_different([](Network& n) { n.edit("y.scale", [](auto& v) { v[0] *= 1.2F; }); }, "another scale of the result");
  expect_different([](Network& n) { n.tensor("y.zero").set_raw_data(std::string(1, '\x81')); }, "another zero point");
  expect_different([](Network& n) { (*n.tensor("w.q").mutable_raw_data())[1234] += 1; }, "a weight one step beside");
  expect_different(
      [](Network& n) {
        std::vector<float> x = n.values("x.d.scale"), y = n.values("y.scale");
        n.set_values("x.d.scale", y);
        n.set_values("y.scale", x);
      },
      "exchanged scales");
}

/// x in steps, by QuantizeLinear or spelled out with a product.
Network steps_of_an_input(bool spelled_out, float factor = 1) {
  Network n(3);
  n.input("x", {"64", "4096"}).output("y", {"64", "4096"});
  quantize(n, "x", "y", 0.03F);
  if (!spelled_out) return n;
  n.remove_node("y.q");
  n.floats("per", {}, {factor / 0.03F}).floats("half", {}, {128}).floats("least", {}, {0}).floats("most", {}, {255});
  n.node("Mul", {"x", "per"}, {"p"}), n.node("Round", {"p"}, {"r"}), n.node("Add", {"r", "half"}, {"a"});
  n.node("Clip", {"a", "least", "most"}, {"c"}), n.node("Cast", {"c"}, {"y.q"}, {"to=2"});
  n.sort();
  return n;
}

TEST(Quantized, OneStepOfAnInputAtABoundaryIsRounding) {
  const Network a = steps_of_an_input(false);
  const VerifyResult right = verified(a, steps_of_an_input(true));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_THAT(right.remarks, ::testing::Contains(::testing::HasSubstr("to the neighbouring step by rounding"))) << "nothing is tested";
  EXPECT_EQ(verified(a, steps_of_an_input(true, 1.00001F)).outcome, Outcome::different);
}

TEST(Quantized, ReadersRevealAResultOfOtherDimsThatTheOutputHides) {
  // Squares are averaged along a different axis; the values divided by their mean have the same dims again.
  const auto made = [](int64_t axis) {
    Network n(7);
    n.input("x", {"4", "8", "8"}).output("y", {"4", "8", "8"}).floats("tiny", {}, {1e-9F});
    n.node("Mul", {"x", "x"}, {"squares"});
    auto& mean = n.node("ReduceMean", {"squares"}, {"mean"}, {"keepdims=1"});
    auto& axes = *mean.add_attribute();
    axes.set_name("axes"), axes.set_type(onnx::AttributeProto::INTS), axes.add_ints(axis);
    quantize(n, "mean", "variance", 0.02F);
    n.node("Sqrt", {"variance"}, {"deviation"}), n.node("Mul", {"x", "deviation"}, {"scaled"});
    n.node("Mul", {"scaled", "tiny"}, {"small"}), n.node("Add", {"x", "small"}, {"y"});
    return n;
  };
  const VerifyResult result = verified(made(-1), made(-2));
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  ASSERT_FALSE(result.layers.empty());
  EXPECT_EQ(result.layers.front().tensor, "variance.q");
}

/// Attention weights in 8 bits: by DequantizeLinear, Softmax and QuantizeLinear, or by QLinearSoftmax. `gated`: the excess of the first
/// column over 6 is added first, with a different spelling in integers.
Network weights_of_attention(bool in_integers, bool gated = false) {
  Network n(5);
  n.input("x", {"40", "24"}).output("y", {"40", "24"});
  auto& opset = *n.model().add_opset_import();
  opset.set_domain("com.microsoft");
  opset.set_version(1);
  if (gated) {
    n.integers("first", {1}, {0}).floats("six", {}, {6}).floats("zero", {}, {0});
    n.node("Gather", {"x", "first"}, {"column"}, {"axis=1"}), n.node("Sub", {"column", "six"}, {"beyond"});
    n.node("Max", in_integers ? std::vector<std::string>{"beyond", "zero", "beyond"} : std::vector<std::string>{"beyond", "zero"},
           {"gate"});
    n.node("Add", {"x", "gate"}, {"x.gated"});
  }
  quantize(n, gated ? "x.gated" : "x", "x.d", 0.031F);
  // The f32 next to 1/255 is above it: 254 whole steps fit into 1.
  quantize(n, "p", "y", 1 / 255.0F);
  n.tensor("y.zero").set_raw_data(std::string(1, '\0'));
  if (in_integers) {
    n.remove_node("y.q");
    n.node("QLinearSoftmax", {"x.d.q", "x.d.scale", "x.d.zero", "y.scale", "y.zero"}, {"y.q"}, {"axis=-1", "opset=13"})
        .set_domain("com.microsoft");
  } else {
    n.node("Softmax", {"x.d"}, {"p"});
  }
  n.sort();
  return n;
}

TEST(Quantized, AValueConstantInAFlippedSampleIsShownByAnotherSample) {
  const VerifyResult result = verified(weights_of_attention(false, true), weights_of_attention(true, true));
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_THAT(result.remarks, ::testing::Contains(::testing::HasSubstr("though no node alone differs"))) << "nothing is tested";
}

TEST(Quantized, WholeStepsOfQLinearSoftmaxAreNoDifference) {
  const Network a = weights_of_attention(false), b = weights_of_attention(true);
  const VerifyResult right = verified(a, b);
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_THAT(right.remarks, ::testing::Contains(::testing::HasSubstr("(QLinearSoftmax)"))) << "nothing is tested";
  const VerifyResult back = verified(b, a);
  EXPECT_EQ(back.outcome, Outcome::same) << summary(back);
  const auto expect_named = [&](const std::function<void(Network&)>& harm, const char* what) {
    Network harmed = b;
    harm(harmed);
    const VerifyResult result = verified(a, harmed);
    EXPECT_EQ(result.outcome, Outcome::different) << what << "\n" << summary(result);
    ASSERT_FALSE(result.layers.empty()) << what;
    EXPECT_EQ(result.layers.front().tensor, "y.q") << what;
  };
  const auto own_scale = [](float factor) {
    return [factor](Network& n) {
      n.floats("own", {}, {factor * n.values("y.scale").front()});
      n.producer("y.q").set_input(3, "own");
    };
  };
  expect_named(own_scale(1.2F), "another scale of the result");
  expect_named(own_scale(1.01F), "a scale one percent beside");
  expect_named(
      [](Network& n) {
        auto& zero = *n.graph().add_initializer();
        zero = n.tensor("y.zero");
        zero.set_name("own");
        zero.set_raw_data(std::string(1, '\1'));
        n.producer("y.q").set_input(4, "own");
      },
      "another zero point");
  expect_named(
      [](Network& n) {
        n.floats("own", {}, {1.05F * n.values("x.d.scale").front()});
        n.producer("y.q").set_input(1, "own");
      },
      "another scale of the operand");
  expect_named([](Network& n) { Network::set_attribute(n.producer("y.q"), "axis=0"); }, "another axis");
}

}  // namespace
}  // namespace relayout
