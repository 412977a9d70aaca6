// Quantized models: a missing activation or another scale drowns in the steps at the outputs, so nodes decide; elements that rounding
// puts on the other side of a boundary are no difference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pair.h"
#include "relayout/verify.h"
#include "support/network.h"

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

}  // namespace
}  // namespace relayout
