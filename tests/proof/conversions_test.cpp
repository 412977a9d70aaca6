// Tests models as exporters write them, converted by relayout's passes: the proof must follow every fold by its own reading of both files.

#include "passes/pass.h"
#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

/// Fully proved, with this number of folds.
testing::AssertionResult is_proved_conversion(const Example& before, int64_t folds) {
  const auto original = before.model();
  const auto converted = before.model();
  passes::PassContext context;
  std::vector<const passes::Pass*> passes;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (pass.on_by_default()) passes.push_back(&pass);
  }
  passes::run_passes(*converted, passes, context);
  const ProofResult result = relayout::prove(*original, *converted, {.digests = false});
  if (!result.proved) return is_proved(result);
  if (result.folds == folds) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.folds << " folds";
}

/// LayerNormalization as exported before opset 17, over the last axis of `x`, into `y`.
std::string layer_norm(const std::string& x, const std::string& y) {
  return " mean = ReduceMean <axes = [-1]> (" + x + ") centered = Sub (" + x + ", mean) squared = Pow (centered, two)" +
         " variance = ReduceMean <axes = [-1]> (squared) sum = Add (variance, epsilon) root = Sqrt (sum) normal = Div (centered, root)" +
         " scaled = Mul (normal, gamma) " + y + " = Add (scaled, beta) ";
}

Example model(const std::string& ports, const std::string& nodes, int64_t channels) {
  return Example("g (" + ports + ") { " + nodes + " }", 14)
      .add("two", Array{DataType::float32, {}, {2}})
      .add("epsilon", Array{DataType::float32, {}, {1e-6}})
      .add("gamma", uniform("gamma", {channels}, 0.5, 2))
      .add("beta", normal("beta", {channels}))
      .add("w", normal("w", {channels, 5}))
      .add("b", normal("b", {5}));
}

TEST(ProofOfConversions, LayerNormalizationInPartsUpstreamOfMatMul) {
  const std::string ports = "float[2,3,8] x) => (float[2,3,5] y";
  EXPECT_TRUE(is_proved_conversion(model(ports, layer_norm("x", "n") + "y = MatMul (n, w)", 8), 1));
  EXPECT_TRUE(is_proved_conversion(model(ports, layer_norm("x", "n") + "m = MatMul (n, w) y = Add (b, m)", 8), 1));
  // Of a sum, as in a transformer, and with a second reader upstream.
  EXPECT_TRUE(is_proved_conversion(model("float[2,3,8] x, float[2,3,8] z) => (float[2,3,5] y, float[2,3,8] r",
                                         "r = Add (x, z)" + layer_norm("r", "n") + "m = MatMul (n, w) y = Add (b, m)", 8),
                                   1));
}

TEST(ProofOfConversions, LayerNormalizationInPartsUpstreamOfGemm) {
  EXPECT_TRUE(is_proved_conversion(model("float[3,8] x) => (float[3,5] y", layer_norm("x", "n") + "y = Gemm (n, w, b)", 8), 1));
  // One token of several: exporters write Gather.
  EXPECT_TRUE(is_proved_conversion(
      model("float[2,3,8] x) => (float[2,5] y", layer_norm("x", "n") + "t = Gather <axis = 1> (n, first) y = Gemm (t, w, b)", 8)
          .add("first", std::vector<int64_t>{0})
          .edit([](onnx::ModelProto& message) { message.mutable_graph()->mutable_initializer()->rbegin()->clear_dims(); }),
      0));
}

TEST(ProofOfConversions, LayerNormalizationInPartsOfAPart) {
  EXPECT_TRUE(is_proved_conversion(
      model("float[2,3,16] x) => (float[2,3,5] y", "a, c = Split <axis = 2> (x, halves)" + layer_norm("c", "n") + "y = MatMul (n, w)", 8)
          .add("halves", {8, 8}),
      1));
}

TEST(ProofOfConversions, LayerNormalizationOfChannelsUpstreamOfConv) {
  const std::string nodes = "t = Transpose <perm = [0, 2, 3, 1]> (x)" + layer_norm("t", "n") +
                            "c = Transpose <perm = [0, 3, 1, 2]> (n) y = Conv <strides = [2, 2]> (c, k, b)";
  EXPECT_TRUE(is_proved_conversion(model("float[1,8,6,6] x) => (float[1,5,3,3] y", nodes, 8).add("k", normal("k", {5, 8, 2, 2})), 1));
}

TEST(ProofOfConversions, GroupNormalizationOfOneGroup) {
  const std::string nodes =
      "r = Reshape (x, one_group) i = InstanceNormalization (r, ones, zeros) s = Shape (x) n = Reshape (i, s)"
      " scaled = Mul (n, gamma) shifted = Add (scaled, beta) y = Conv (shifted, k, b)";
  Example before = Example("g (float[1,8,6,6] x) => (float[1,5,6,6] y) { " + nodes + " }", 14)
                       .add("one_group", {0, 1, -1})
                       .add("ones", Array{DataType::float32, {1}, {1}})
                       .add("zeros", Array{DataType::float32, {1}, {0}})
                       .add("gamma", uniform("gamma", {8, 1, 1}, 0.5, 2))
                       .add("beta", normal("beta", {8, 1, 1}))
                       .add("k", normal("k", {5, 8, 1, 1}))
                       .add("b", normal("b", {5}));
  EXPECT_TRUE(is_proved_conversion(before, 1));
}

/// Statistics of an untrained model whose last factors are 0: any upstream factor would explain the weights, and the equal factors of the
/// upstream convolutions explain each other's.
TEST(ProofOfConversions, FactorsOfZeroDownstreamOfEqualOnes) {
  const auto fresh = [](const std::string& name, double scale) {
    BatchNorm out(name, 4);
    std::ranges::fill(out.scale.values, scale);
    for (Array* each : {&out.bias, &out.mean}) std::ranges::fill(each->values, 0);
    std::ranges::fill(out.variance.values, 1);
    return out;
  };
  const auto normalized = [](const std::string& from, const std::string& name, const std::string& to) {
    return " " + to + " = BatchNormalization (" + from + ", " + name + "_scale, " + name + "_bias, " + name + "_mean, " + name + "_var)";
  };
  const std::string nodes = "c1 = Conv (x, k1)" + normalized("c1", "n1", "b1") +
                            " r1 = Relu (b1) p = MaxPool <kernel_shape = [2, 2]> (r1)" + " c2 = Conv (p, k2)" +
                            normalized("c2", "n2", "b2") + " r2 = Relu (b2) c3 = Conv (r2, k3)" + normalized("c3", "n3", "y");
  for (const double last : {0.0, 1.0}) {
    Example before = Example("g (float[1,3,8,8] x) => (float[1,4,5,5] y) { " + nodes + " }")
                         .add("k1", normal("k1", {4, 3, 2, 2}))
                         .add("k2", normal("k2", {4, 4, 2, 2}))
                         .add("k3", normal("k3", {4, 4, 1, 1}))
                         .add("n1", fresh("n1", 1))
                         .add("n2", fresh("n2", 1))
                         .add("n3", fresh("n3", last));
    EXPECT_TRUE(is_proved_conversion(before, 3)) << last;
  }
}

TEST(ProofOfConversions, PairsOfTransposesInPlaceOfAnAffine) {
  const auto with = [](const std::string& nodes, bool folded) {
    const BatchNorm bn("bn", 4);
    Array weight = normal("k", {5, 4, 1, 1}), bias{DataType::float32, {5}, std::vector<double>(5, 0)};
    for (std::size_t i = 0; folded && i < weight.size(); ++i) {
      bias[i / 4] += weight[i] * bn.shift(i % 4);
      weight[i] = rounded(weight[i] * bn.factor(i % 4), weight.type);
    }
    for (double& value : bias.values) value = rounded(value, bias.type);
    Example out("g (float[4,4,4,4] x) => (float[4,5,4,4] y) { " + nodes + " }");
    if (folded) return out.add("k", weight).add("b", bias);
    return out.add("k", weight).add("bn", bn);
  };
  const Example before = with("n = BatchNormalization (x, bn_scale, bn_bias, bn_mean, bn_var) y = Conv (n, k)", false);
  const auto after = [&](const std::string& there, const std::string& back) {
    return with("t = Transpose <perm = " + there + "> (x) u = Transpose <perm = " + back + "> (t) y = Conv (u, k, b)", true);
  };
  EXPECT_TRUE(is_proved(prove(before, after("[0, 2, 3, 1]", "[0, 3, 1, 2]"))));
  EXPECT_FALSE(prove(before, after("[0, 2, 3, 1]", "[0, 2, 3, 1]")).proved);
  EXPECT_FALSE(prove(before, after("[0, 2, 3, 1]", "[0, 1, 2, 3]")).proved);
  EXPECT_FALSE(prove(with("t = Transpose <perm = [0, 2, 3, 1]> (x) n = BatchNormalization (t, bn_scale, bn_bias, bn_mean, bn_var)"
                          " y = Conv (n, k)",
                          false),
                     after("[0, 2, 3, 1]", "[0, 3, 1, 2]"))
                   .proved);
}

TEST(ProofOfConversions, PairsOfTransposesBesideTransposesOfTheModel) {
  const auto with = [](const std::string& nodes) { return Example("g (float[4,4,6,6] x) => (float[4,4,6,6] y) { " + nodes + " }"); };
  const std::string turned = "<perm = [1, 0, 3, 2]> ", there = "<perm = [0, 2, 3, 1]> ", back = "<perm = [0, 3, 1, 2]> ";
  const std::string pair = " p = Transpose " + there + "(%) q = Transpose " + back + "(p) ";
  const auto paired = [&](const std::string& value) { return std::string(pair).replace(pair.find('%'), 1, value); };
  const std::string front = "t = Transpose " + turned + "(x) h = Tanh (t) ";
  const Example before = with(front + "y = Transpose " + turned + "(h)");
  const std::string pair_to_y = " p = Transpose " + there + "(i) y = Transpose " + back + "(p)";
  EXPECT_TRUE(is_proved(prove(before, with(front + "i = Transpose " + turned + "(h)" + pair_to_y))));
  EXPECT_TRUE(is_proved(prove(with(front + "i = Transpose " + turned + "(h)" + pair_to_y), before)));
  EXPECT_TRUE(is_proved(prove(before, with(front + paired("h") + "y = Transpose " + turned + "(q)"))));
  EXPECT_TRUE(is_proved(prove(before, with(paired("x") + "t = Transpose " + turned + "(q) h = Tanh (t) y = Transpose " + turned + "(h)"))));
  const Example nested = with("t = Transpose " + there + "(x) y = Transpose " + turned + "(t)");
  EXPECT_TRUE(is_proved(prove(nested, with("t = Transpose " + there + "(x) i = Transpose " + turned + "(t)" + pair_to_y))));
  EXPECT_TRUE(is_proved(prove(nested, with("t = Transpose " + there + "(x)" + paired("t") + "y = Transpose " + turned + "(q)"))));
  // Another permutation, or a pair that does not cancel.
  EXPECT_FALSE(prove(before, with(front + "i = Transpose " + there + "(h)" + pair_to_y)).proved);
  EXPECT_FALSE(
      prove(before, with(front + "i = Transpose " + turned + "(h) p = Transpose " + there + "(i) y = Transpose " + there + "(p)")).proved);
  EXPECT_FALSE(prove(before, with(front + "i = Neg (h)" + pair_to_y)).proved);
}

TEST(ProofOfConversions, AdjacentTransposesOnceSeparatedByAnAffine) {
  EXPECT_TRUE(is_proved_conversion(Example("g (float[2,4,6,6] x) => (float[2,5,6,6] y) { centred = Sub (x, mean)"
                                           " t = Transpose <perm = [0, 1, 3, 2]> (centred) shifted = Sub (t, offset)"
                                           " u = Transpose <perm = [0, 1, 3, 2]> (shifted) y = Conv (u, k, b) }")
                                       .add("mean", normal("mean", {1, 4, 1, 1}))
                                       .add("offset", normal("offset", {1}))
                                       .add("k", normal("k", {5, 4, 1, 1}))
                                       .add("b", normal("b", {5})),
                                   1));
}

TEST(ProofOfConversions, BatchNormalizationOfANegativeVarianceStays) {
  const Example before =
      Example("g (float[2,4,6,6] x) => (float[2,5,4,4] y) { n = BatchNormalization (x, scale, bias, mean, variance) y = Conv (n, k) }")
          .add("scale", uniform("scale", {4}, 0.5, 2))
          .add("bias", normal("bias", {4}))
          .add("mean", normal("mean", {4}))
          .add("variance", Array{DataType::float32, {4}, {1, -1, 1, 1}})
          .add("k", normal("k", {5, 4, 3, 3}));
  EXPECT_TRUE(is_proved_conversion(before, 0));
}

TEST(ProofOfConversions, ReshapesBetweenConvolutionAndBatchNormalization) {
  const auto with = [](const std::string& request) {
    return Example(
               "g (float[2,4,6] x) => (float[?,?,?] y) { c = Conv (x, k) r = Reshape (c, s)"
               " y = BatchNormalization (r, bn_scale, bn_bias, bn_mean, bn_var) }",
               13)
        .add("k", normal("k", {4, 4, 1}))
        .add("bn", BatchNorm("bn", 4))
        .add("s", request == "same" ? std::vector<int64_t>{2, 4, -1} : std::vector<int64_t>{2, 4, 3, 2});
  };
  // One request keeps the dims, and one splits the last axis.
  EXPECT_TRUE(is_proved_conversion(with("same"), 1));
  EXPECT_TRUE(is_proved_conversion(with("parts"), 1));
}

TEST(ProofOfConversions, ParametersOfAsManyElementsAsThereAreChannels) {
  const Example before = Example(
                             "g (float[N,8,H,L] x) => (float[N,5,H,L] y) { c = Conv (x, k) d = Shape (c) n = Slice (d, first, end)"
                             " r = Gather (scales, d0) s = Expand (bn_scale, n) y = BatchNormalization (c, s, bn_bias, bn_mean, bn_var) "
                             " d0 = Gather (d, first) }")
                             .add("k", normal("k", {5, 8, 1, 1}))
                             .add("scales", normal("scales", {9}))
                             .add("first", std::vector<int64_t>{1})
                             .add("end", std::vector<int64_t>{2})
                             .add("bn", BatchNorm("bn", 5));
  EXPECT_TRUE(is_proved_conversion(before, 1));
}

TEST(ProofOfConversions, ShapesOfFoldedResults) {
  const std::string head = "g (float[1,8,6,6] x, float[5,36] z) => (float[1,5,6,6] y, float[1,5,6,6] u) {";
  Example before = Example(head +
                           " c = Conv (x, k) s = Shape (c) y = BatchNormalization (c, bn_scale, bn_bias, bn_mean, bn_var)"
                           " u = Reshape (z, s) }")
                       .add("k", normal("k", {5, 8, 1, 1}))
                       .add("bn", BatchNorm("bn", 5));
  EXPECT_TRUE(is_proved_conversion(before, 1));
}

}  // namespace
}  // namespace relayout::test
