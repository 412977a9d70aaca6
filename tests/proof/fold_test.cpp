
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "relayout/proof.h"
#include "relayout/types.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

/// One operator followed by a BatchNormalization, and the same operator with it folded by hand.
struct Folded {
  std::string input = "float[1,6,9,9] x";
  std::string operation = "Conv <kernel_shape = [3, 3]>";
  Array weight = normal("w", {4, 6, 3, 3});
  std::optional<Array> bias;
  BatchNorm batch_norm{"bn", 4};
  std::string attributes;  ///< of BatchNormalization
  int opset = 17;
  /// Output channel of element `i` of the weight.
  std::function<std::size_t(const Array&, std::size_t)> channel = [](const Array& w, std::size_t i) { return i / w.row(); };

  [[nodiscard]] Example before() const {
    Example out("g (" + input + ") => (float[?,?,?,?] y) { c = " + operation + " (x, w" + (bias ? ", b" : "") +
                    ") y = BatchNormalization " + attributes + " (c, bn_scale, bn_bias, bn_mean, bn_var) }",
                opset);
    out.add("w", weight).add("bn", batch_norm);
    if (bias) out.add("b", *bias);
    return out;
  }
  [[nodiscard]] Array folded_weight() const {
    Array out = weight;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = rounded(batch_norm.factor(channel(out, i)) * out[i], out.type);
    return out;
  }
  [[nodiscard]] Array folded_bias() const {
    Array out{weight.type, batch_norm.scale.dims, {}};
    for (std::size_t c = 0; c < batch_norm.scale.size(); ++c) {
      const double own = bias ? (*bias)[c] : 0;
      out.values.push_back(rounded(batch_norm.factor(c) * (own - batch_norm.mean[c]) + batch_norm.bias[c], weight.type));
    }
    return out;
  }
  [[nodiscard]] Example after(const Array& new_weight, const Array& new_bias) const {
    Example out("g (" + input + ") => (float[?,?,?,?] y) { y = " + operation + " (x, w, b) }", opset);
    out.add("w", new_weight).add("b", new_bias);
    return out;
  }
  [[nodiscard]] Example after() const { return after(folded_weight(), folded_bias()); }
};

Folded transposed() {
  // [I, O/g, k…] with 6 inputs, 2 groups of 2 outputs.
  Folded out;
  out.operation = "ConvTranspose <group = 2>";
  out.weight = normal("w", {6, 2, 3, 3});
  out.channel = [](const Array&, std::size_t i) { return i / 18 / 3 * 2 + i / 9 % 2; };
  return out;
}

TEST(ProofOfFold, F1DownstreamOfConvWithoutBias) {
  const Folded folded;
  const ProofResult result = prove(folded.before(), folded.after());
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folds, 1);
  EXPECT_EQ(result.folded_nodes, 1);
  EXPECT_EQ(result.nodes_equal, 1);
  EXPECT_EQ(result.nodes_dead, 0);
  EXPECT_EQ(result.tensors_equal, 0);
}

TEST(ProofOfFold, F2aDownstreamOfConvWithBias) {
  Folded folded;
  folded.bias = normal("b", {4});
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
}

TEST(ProofOfFold, F2Ranks) {
  Folded one;
  one.input = "float[1,6,9] x";
  one.operation = "Conv";
  one.weight = normal("w", {4, 6, 3});
  EXPECT_TRUE(is_proved(prove(one.before(), one.after())));
  Folded three;
  three.input = "float[1,6,9,9,9] x";
  three.operation = "Conv <pads = [1, 1, 1, 1, 1, 1]>";
  three.weight = normal("w", {4, 6, 3, 2, 1});
  EXPECT_TRUE(is_proved(prove(three.before(), three.after())));
}

TEST(ProofOfFold, F3Groups) {
  Folded folded;
  folded.operation = "Conv <group = 2>";
  folded.weight = normal("w", {4, 3, 3, 3});
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
}

TEST(ProofOfFold, F8ConvTransposeWithGroups) {
  const Folded folded = transposed();
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
}

TEST(ProofOfFold, F8ConvTransposeScaledAlongTheWrongAxis) {
  // Six inputs and six outputs, so that the other axis fits as well.
  Folded folded;
  folded.operation = "ConvTranspose";
  folded.weight = normal("w", {6, 6, 3, 3});
  folded.batch_norm = BatchNorm("bn", 6);
  folded.channel = [](const Array&, std::size_t i) { return i / 9 % 6; };
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
  Folded wrong = folded;
  wrong.channel = [](const Array& w, std::size_t i) { return i / w.row(); };
  EXPECT_TRUE(names(prove(folded.before(), wrong.after()), Kind::weight, "weight 'w' is not the fold of output 'y' (BatchNormalization)"));
}

TEST(ProofOfFold, F29Types) {
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64}) {
    Folded folded;
    const std::string name = type == DataType::float64 ? "double" : type == DataType::float16 ? "float16" : "bfloat16";
    folded.opset = 22;
    folded.input = name + "[1,6,9,9] x";
    folded.weight = normal("w", {4, 6, 3, 3}, type);
    folded.batch_norm = BatchNorm("bn", 4, type);
    EXPECT_TRUE(is_proved(prove(folded.before(), folded.after()))) << name;
    Array wrong = folded.folded_weight();
    // A distance of several neighbours is no rounding; one neighbour is too many where no tool folds in the type itself.
    const int steps = type == DataType::float64 ? 9 : type == DataType::float16 ? 6 : 1;
    for (int i = 0; i < steps; ++i) wrong[77] = next(wrong[77], type);
    EXPECT_TRUE(names(prove(folded.before(), folded.after(wrong, folded.folded_bias())), Kind::weight, "(1 value")) << name;
  }
}

TEST(ProofOfFold, F32MixedTypes) {
  Folded folded;
  folded.input = "float16[1,6,9,9] x";
  folded.weight = normal("w", {4, 6, 3, 3}, DataType::float16);
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
}

TEST(ProofOfFold, F12EpsilonIgnored) {
  Folded folded;
  folded.attributes = "<epsilon: float = 0.001>";
  folded.batch_norm.epsilon = static_cast<double>(0.001F);
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
  Folded wrong = folded;
  wrong.batch_norm.epsilon = 0;
  const ProofResult result = prove(folded.before(), wrong.after());
  ASSERT_EQ(result.unexplained.size(), 2U);
  EXPECT_EQ(result.unexplained[0].kind, Kind::weight);
  EXPECT_EQ(result.unexplained[0].name, "w");
  EXPECT_EQ(result.unexplained[0].values, 216);
  EXPECT_EQ(result.unexplained[1].kind, Kind::bias);
}

/// Explained, and every fold is rounded once.
testing::AssertionResult is_proved_exactly(const ProofResult& result) {
  if (result.near_folds > 0) return testing::AssertionFailure() << result.near_folds << " near folds";
  return is_proved(result);
}

/// Explained, but not as rounded by a fold in double precision.
testing::AssertionResult is_near(const ProofResult& result) {
  if (!result.proved) return is_proved(result);
  if (result.near_folds == 1 && result.near_ulp > 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.near_folds << " near folds, " << result.near_ulp << " ULP";
}

TEST(ProofOfFold, LargeWeightsAreComparedToTheLast) {
  Folded folded;  // 351 KiB, and therefore read in more than one piece
  folded.input = "float[1,64,9,9] x";
  folded.weight = normal("w", {156, 64, 3, 3});
  folded.batch_norm = BatchNorm("bn", 156);
  const Array weight = folded.folded_weight(), bias = folded.folded_bias();
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after(weight, bias))));
  for (const std::size_t at : {std::size_t{0}, std::size_t{65535}, std::size_t{65536}, weight.size() - 1}) {
    Array wrong = weight;
    wrong[at] *= 1.01;
    EXPECT_TRUE(names(prove(folded.before(), folded.after(wrong, bias)), Kind::weight, "(1 value, up to 1.0e-02 relative)")) << at;
  }
}

TEST(ProofOfFold, OneWeightMoreThanHalfAnUlpOff) {
  Folded folded;
  EXPECT_TRUE(is_proved_exactly(prove(folded.before(), folded.after())));
  for (const std::size_t at : {0U, 100U, 215U}) {
    Array wrong = folded.folded_weight();
    wrong[at] = next(wrong[at], DataType::float32);
    EXPECT_TRUE(is_near(prove(folded.before(), folded.after(wrong, folded.folded_bias()))));
  }
}

/// The result of a float32 evaluation of the fold; `way` decides the last bits.
struct Single {
  Array weight, bias;
};
Single folded_in_single(const Folded& folded, int way) {
  Single out{folded.weight, folded.folded_bias()};
  const auto of = [](double value) { return static_cast<float>(value); };
  std::vector<float> factors;
  for (std::size_t c = 0; c < folded.batch_norm.scale.size(); ++c) {
    const float root = std::sqrt(of(folded.batch_norm.variance[c]) + of(folded.batch_norm.epsilon));
    const float scale = of(folded.batch_norm.scale[c]);
    const float factor = way == 0 ? scale / root : scale * (1.0F / root);
    const float own = folded.bias ? of((*folded.bias)[c]) : 0.0F;
    const float mean = of(folded.batch_norm.mean[c]);
    const float beta = of(folded.batch_norm.bias[c]);
    out.bias[c] = static_cast<double>(way == 2 ? own * factor + (beta - mean * factor) : (own - mean) * factor + beta);
    factors.push_back(factor);
  }
  for (std::size_t i = 0; i < out.weight.size(); ++i) {
    out.weight[i] = static_cast<double>(of(out.weight[i]) * factors[folded.channel(out.weight, i)]);
  }
  return out;
}

TEST(ProofOfFold, FoldsInSinglePrecisionAreNear) {
  for (const int way : {0, 1, 2}) {
    for (int seed = 0; seed < 20; ++seed) {
      Folded folded;
      folded.weight = normal("w" + std::to_string(seed), {4, 6, 3, 3});
      folded.bias = normal("b" + std::to_string(seed), {4});
      folded.batch_norm = BatchNorm("bn" + std::to_string(seed), 4);
      const Single single = folded_in_single(folded, way);
      const ProofResult result = prove(folded.before(), folded.after(single.weight, single.bias));
      EXPECT_TRUE(is_near(result)) << way << " " << seed;
      EXPECT_LT(result.near_ulp, 7);
      // No error is hidden below that: a millionth of one weight, a thousandth of another, a bias off by a hundred-thousandth.
      for (const double factor : {1 + 1e-6, 1 - 1e-6, 1.001}) {
        Single wrong = single;
        wrong.weight[17] = rounded(single.weight[17] * factor, DataType::float32);
        EXPECT_FALSE(prove(folded.before(), folded.after(wrong.weight, wrong.bias)).proved) << way << " " << seed << " " << factor;
      }
      Single wrong = single;
      wrong.bias[1] += 1e-5 * (std::abs(folded.batch_norm.bias[1]) + std::abs(folded.batch_norm.factor(1) * folded.batch_norm.mean[1]));
      wrong.bias[1] = rounded(wrong.bias[1], DataType::float32);
      EXPECT_FALSE(prove(folded.before(), folded.after(wrong.weight, wrong.bias)).proved) << way << " " << seed;
      // A missing bias is no rounding.
      Single missing = single;
      missing.bias[1] = 0;
      EXPECT_FALSE(prove(folded.before(), folded.after(missing.weight, missing.bias)).proved) << way << " " << seed;
    }
  }
}

TEST(ProofOfFold, NearWeightsAreCountedInTheirOwnSpacings) {
  // Weights at every binade and at its ends, including zeros and subnormal ones, each moved by `moved` neighbours. Distances are relative
  // to exact products; a BatchNormalization folded in float32 may cost 4.5 roundings of 2^-24.
  int near = 0;
  for (int moved = -9; moved <= 9; ++moved) {
    Folded folded;
    for (std::size_t i = 0; i < folded.weight.size(); ++i) {
      const double size = std::ldexp(i % 3 == 0 ? 1.0 : 1 + 0.001 * static_cast<double>(i), static_cast<int>(i % 53) - 40);
      folded.weight[i] = i % 7 == 0 ? 0 : i == 100 ? 0x1p-140 : rounded(i % 2 == 0 ? size : -size, DataType::float32);
    }
    Array stored = folded.folded_weight();
    int64_t beyond = 0;
    long double most = 0;
    for (std::size_t i = moved == 0 ? stored.size() : 0; i < stored.size(); i += 5) {
      auto value = static_cast<float>(stored[i]);
      if (std::abs(moved) < 3 && std::abs(value) < 0x1p-126F) continue;
      for (int k = 0; k < std::abs(moved); ++k) value = std::nextafter(value, moved > 0 ? INFINITY : -INFINITY);
      stored[i] = static_cast<double>(value);
      const long double exact = static_cast<long double>(folded.weight[i]) * static_cast<long double>(folded.batch_norm.factor(i / 54));
      const long double off = std::abs(static_cast<long double>(value) - exact);
      const float neighbour = std::nextafter(value, exact > static_cast<long double>(value) ? INFINITY : -INFINITY);
      const long double spacing = std::abs(static_cast<long double>(neighbour) - static_cast<long double>(value));
      if (off <= 0.501L * spacing) continue;
      if (off <= 4.5L * 0x1p-24L * std::abs(exact)) {
        most = std::max(most, off / spacing);
      } else {
        ++beyond;
      }
    }
    const ProofResult result = prove(folded.before(), folded.after(stored, folded.folded_bias()));
    if (beyond > 0) {
      ASSERT_FALSE(result.unexplained.empty()) << moved;
      EXPECT_EQ(result.unexplained[0].values, beyond) << moved;
      continue;
    }
    ++near;
    EXPECT_TRUE(result.proved) << moved;
    EXPECT_NEAR(result.near_ulp, static_cast<double>(most), 1e-6) << moved;
  }
  EXPECT_GE(near, 3);
}

TEST(ProofOfFold, OnlyFoldsMayBeNear) {
  // Nothing is folded: a weight that differs is a different weight.
  const Array weight = normal("w", {4, 6, 3, 3});
  const auto model = [](const Array& w) { return Example("g (float[1,6,9,9] x) => (float[?,?,?,?] y) { y = Conv (x, w) }").add("w", w); };
  Array wrong = weight;
  wrong[3] = next(wrong[3], DataType::float32);
  EXPECT_TRUE(names(prove(model(weight), model(wrong)), Kind::weight, "(1 value"));
  // An Add has no factor: the weight is unchanged.
  const Array bias = normal("b", {4, 1, 1});
  const Example before =
      Example("g (float[1,6,9,9] x) => (float[?,?,?,?] y) { c = Conv (x, w) y = Add (c, b) }").add("w", weight).add("b", bias);
  const auto after = [&](const Array& w) {
    return Example("g (float[1,6,9,9] x) => (float[?,?,?,?] y) { y = Conv (x, w, b) }")
        .add("w", w)
        .add("b", Array{bias.type, {4}, bias.values});
  };
  EXPECT_TRUE(is_proved_exactly(prove(before, after(weight))));
  EXPECT_FALSE(prove(before, after(wrong)).proved);
  // bfloat16 weights are folded in a wider type and rounded once.
  Folded narrow;
  narrow.input = "bfloat16[1,6,9,9] x";
  narrow.weight = normal("w", {4, 6, 3, 3}, DataType::bfloat16);
  narrow.batch_norm = BatchNorm("bn", 4, DataType::bfloat16);
  Array off = narrow.folded_weight();
  off[7] = next(off[7], DataType::bfloat16);
  EXPECT_FALSE(prove(narrow.before(), narrow.after(off, narrow.folded_bias())).proved);
}

/// The fold in float16, step by step, as numpy computes it.
Single folded_in_half(const Folded& folded) {
  Single out{folded.weight, folded.folded_bias()};
  const auto of = [](double value) { return rounded(value, DataType::float16); };
  const BatchNorm& norm = folded.batch_norm;
  std::vector<double> factors;
  for (std::size_t c = 0; c < norm.scale.size(); ++c) {
    factors.push_back(of(norm.scale[c] / of(std::sqrt(of(norm.variance[c] + of(norm.epsilon))))));
    const double own = folded.bias ? (*folded.bias)[c] : 0;
    out.bias[c] = of(of(of(own - norm.mean[c]) * factors[c]) + norm.bias[c]);
  }
  for (std::size_t i = 0; i < out.weight.size(); ++i) out.weight[i] = of(out.weight[i] * factors[folded.channel(out.weight, i)]);
  return out;
}

TEST(ProofOfFold, FoldsInHalfPrecisionAreNear) {
  constexpr DataType kHalf = DataType::float16;
  for (int seed = 0; seed < 20; ++seed) {
    Folded folded;
    folded.input = "float16[1,6,9,9] x";
    folded.weight = normal("w" + std::to_string(seed), {4, 6, 3, 3}, kHalf);
    for (std::size_t i = 0; i < folded.weight.size(); i += 7) folded.weight[i] = rounded(folded.weight[i] * 0x1p-15, kHalf);  // subnormal
    folded.batch_norm = BatchNorm("bn" + std::to_string(seed), 4, kHalf);
    const Single half = folded_in_half(folded);
    const ProofResult result = prove(folded.before(), folded.after(half.weight, half.bias));
    EXPECT_TRUE(is_near(result)) << seed;
    EXPECT_LT(result.near_ulp, 7) << seed;
    for (const double factor : {1.01, 0.99}) {
      Single wrong = half;
      wrong.weight[17] = rounded(half.weight[17] * factor, kHalf);
      EXPECT_FALSE(prove(folded.before(), folded.after(wrong.weight, wrong.bias)).proved) << seed << " " << factor;
    }
    Single wrong = half;
    wrong.bias[1] += 0.01 * (std::abs(folded.batch_norm.bias[1]) + std::abs(folded.batch_norm.factor(1) * folded.batch_norm.mean[1]));
    wrong.bias[1] = rounded(wrong.bias[1], kHalf);
    EXPECT_FALSE(prove(folded.before(), folded.after(wrong.weight, wrong.bias)).proved) << seed;
  }
}

TEST(ProofOfFold, LongChainsAreNotGrantedMore) {
  // Eight factors of nearly 1: their roundings add up to less than a millionth.
  std::string text = "g (float[1,6,9,9] x) => (float[?,?,?,?] y) { c0 = Conv (x, w) ";
  for (int i = 0; i < 20; ++i)
    text += (i == 19 ? "y" : "c" + std::to_string(i + 1)) + std::string(" = Mul (c") + std::to_string(i) + ", one) ";
  const Array weight = normal("w", {4, 6, 3, 3});
  const Example before = Example(text + "}").add("w", weight).add("one", Array{DataType::float32, {}, {1}});
  for (const double factor : {1 + 1e-6, 1 - 1e-6}) {
    Array wrong = weight;
    wrong[3] = rounded(wrong[3] * factor, DataType::float32);
    const Example after = Example("g (float[1,6,9,9] x) => (float[?,?,?,?] y) { y = Conv (x, w) }").add("w", wrong);
    EXPECT_FALSE(prove(before, after).proved) << factor;
  }
}

TEST(ProofOfFold, NeighboursOfAPowerOfTwoAreHalfAnUlpApart) {
  // Exact product just below 2: the double product rounds to 2 − 2^-23, whose neighbour 2 is one (small) ULP off.
  Folded folded;
  folded.attributes = "<epsilon: float = 0.0>";
  folded.batch_norm.epsilon = 0;
  for (std::size_t c = 0; c < 4; ++c) {
    folded.batch_norm.scale[c] = 1;
    folded.batch_norm.variance[c] = 0.25;
  }
  folded.weight[5] = 1 - 0x1p-24;
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
  Array wrong = folded.folded_weight();
  ASSERT_EQ(wrong[5], 2 - 0x1p-23);
  wrong[5] = 2;
  EXPECT_TRUE(is_near(prove(folded.before(), folded.after(wrong, folded.folded_bias()))));
}

TEST(ProofOfFold, BiasOffByAnUlp) {
  const Folded folded;
  Array wrong = folded.folded_bias();
  wrong[2] = next(wrong[2], DataType::float32);
  EXPECT_TRUE(is_near(prove(folded.before(), folded.after(folded.folded_weight(), wrong))));
  wrong[2] *= 1 + 1e-4;
  wrong[2] = rounded(wrong[2], DataType::float32);
  EXPECT_TRUE(names(prove(folded.before(), folded.after(folded.folded_weight(), wrong)), Kind::bias, "bias 'b' is not the fold of"));
}

TEST(ProofOfFold, F65LargeMeanAgainstLargeBias) {
  Folded folded;
  folded.bias = normal("b", {4});
  for (std::size_t c = 0; c < 4; ++c) {
    (*folded.bias)[c] = rounded(10000 + (*folded.bias)[c], DataType::float32);
    folded.batch_norm.mean[c] = rounded((*folded.bias)[c] + 0.01, DataType::float32);
  }
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
  Array rough = folded.folded_bias();
  // In float, the shift alone is already wrong in the fourth digit.
  for (std::size_t c = 0; c < 4; ++c) {
    const auto factor = static_cast<float>(folded.batch_norm.factor(c));
    const auto shift = static_cast<float>(folded.batch_norm.bias[c]) - factor * static_cast<float>(folded.batch_norm.mean[c]);
    rough[c] = static_cast<double>(factor * static_cast<float>((*folded.bias)[c]) + shift);
  }
  // The original has the same error: relative to its terms the sum is right.
  EXPECT_TRUE(is_near(prove(folded.before(), folded.after(folded.folded_weight(), rough))));
  for (double& value : rough.values) value = rounded(value + 0.02, DataType::float32);
  EXPECT_TRUE(names(prove(folded.before(), folded.after(folded.folded_weight(), rough)), Kind::bias, "4 values"));
}

TEST(ProofOfFold, ChannelsExchanged) {
  const Folded folded;
  Array wrong = folded.folded_weight();
  std::swap_ranges(wrong.values.begin(), wrong.values.begin() + 54, wrong.values.begin() + 54);
  EXPECT_TRUE(names(prove(folded.before(), folded.after(wrong, folded.folded_bias())), Kind::weight, "(108 values"));
}

TEST(ProofOfFold, BiasDropped) {
  const Folded folded;
  Example after("g (float[1,6,9,9] x) => (float[?,?,?,?] y) { y = Conv <kernel_shape = [3, 3]> (x, w) }");
  after.add("w", folded.folded_weight());
  EXPECT_TRUE(names(prove(folded.before(), after), Kind::bias, "output 'y' (Conv) has no bias: the fold of"));
}

TEST(ProofOfFold, OriginalBiasKept) {
  Folded folded;
  folded.bias = normal("b", {4});
  EXPECT_TRUE(names(prove(folded.before(), folded.after(folded.folded_weight(), *folded.bias)), Kind::bias, "4 values"));
}

TEST(ProofOfFold, ConstantsOfABatchNormThatStaysAreNamed) {
  const Folded folded;
  for (const std::string name : {"scale", "bias", "mean", "var"}) {
    Folded other = folded;
    Array& changed = name == "scale"  ? other.batch_norm.scale
                     : name == "bias" ? other.batch_norm.bias
                     : name == "mean" ? other.batch_norm.mean
                                      : other.batch_norm.variance;
    changed[1] += 0.5;
    const ProofResult result = prove(folded.before(), other.before());
    ASSERT_EQ(result.unexplained.size(), 1U) << name;
    EXPECT_EQ(result.unexplained[0].name, "bn_" + name);
    EXPECT_NE(result.unexplained[0].text.find("'bn_" + name + "' differs (1 value"), std::string::npos) << result.unexplained[0].text;
  }
  Folded other = folded;
  other.attributes = "<epsilon = 0.25>";
  const ProofResult attribute = prove(folded.before(), other.before());
  ASSERT_EQ(attribute.unexplained.size(), 1U);
  EXPECT_EQ(attribute.unexplained[0].kind, Kind::attribute);
  EXPECT_NE(attribute.unexplained[0].text.find("has another attribute 'epsilon'"), std::string::npos) << attribute.unexplained[0].text;
  Folded weight = folded;
  weight.weight[7] *= 2;
  EXPECT_TRUE(names(prove(folded.before(), weight.before()), Kind::weight, "weight 'w' differs (1 value"));
}

TEST(ProofOfFold, WeightsOfAnotherTypeSayWhich) {
  const Folded folded;
  Folded half = folded;
  half.input = "float16[1,6,9,9] x";
  half.weight.type = DataType::float16;
  for (Array* array : {&half.batch_norm.scale, &half.batch_norm.bias, &half.batch_norm.mean, &half.batch_norm.variance})
    array->type = DataType::float16;
  const ProofResult result = prove(folded.before(), half.before());
  const auto typed =
      std::ranges::count_if(result.unexplained, [](const Unexplained& entry) { return entry.type_a == "f32" && entry.type_b == "f16"; });
  EXPECT_GE(typed, 5);
  EXPECT_TRUE(std::ranges::any_of(
      result.unexplained, [](const Unexplained& entry) { return entry.text == "weight 'w' is f16[4, 6, 3, 3], was f32[4, 6, 3, 3]"; }));
}

TEST(ProofOfFold, BatchNormDroppedWithoutFold) {
  const Folded folded;
  Example after("g (float[1,6,9,9] x) => (float[?,?,?,?] y) { y = Conv <kernel_shape = [3, 3]> (x, w) }");
  after.add("w", folded.weight);
  const ProofResult result = prove(folded.before(), after);
  EXPECT_FALSE(result.proved);
  ASSERT_EQ(result.unexplained.size(), 1U);
  EXPECT_EQ(result.unexplained[0].kind, Kind::node_removed);
  EXPECT_NE(result.unexplained[0].text.find("is gone, and weight 'w' is as it was"), std::string::npos) << result.unexplained[0].text;
}

TEST(ProofOfFold, F21TrainingModeIsNotFolded) {
  Folded folded;
  folded.opset = 6;
  EXPECT_FALSE(prove(folded.before(), folded.after()).proved);
  folded.attributes = "<is_test = 1>";
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
  Folded running;
  running.opset = 14;
  running.attributes = "<training_mode = 1>";
  EXPECT_FALSE(prove(running.before(), running.after()).proved);
}

TEST(ProofOfFold, AnEpsilonWithinRoundingIsAnotherAttributeAndNoFold) {
  const auto standing = [](const std::string& epsilon) {
    Example out("g (float[2,4,9,9] x) => (float[2,4,9,9] y) { r = Relu (x) y = BatchNormalization <epsilon: float = " + epsilon +
                "> (r, bn_scale, bn_bias, bn_mean, bn_var) }");
    out.add("bn", BatchNorm{"bn", 4});
    return out;
  };
  const ProofResult result = prove(standing("0.00001"), standing("0.00001001"));
  EXPECT_EQ(result.folds, 0);
  ASSERT_EQ(result.unexplained.size(), 1U);
  EXPECT_EQ(result.unexplained[0].kind, Kind::attribute);
  EXPECT_TRUE(is_proved(prove(standing("0.00001"), standing("0.00001"))));
}

TEST(ProofOfFold, F62NonFiniteFactor) {
  Folded folded;
  folded.batch_norm.variance[1] = -1;
  const ProofResult result = prove(folded.before(), folded.after());
  EXPECT_TRUE(names(result, Kind::weight, "not finite"));
}

TEST(ProofOfFold, F63Overflow) {
  Folded folded;
  folded.input = "float16[1,6,9,9] x";
  folded.weight = normal("w", {4, 6, 3, 3}, DataType::float16);
  folded.weight[3] = 60000;
  folded.batch_norm.scale[0] = 100;
  Array infinite = folded.folded_weight();
  ASSERT_TRUE(std::isinf(infinite[3]));
  EXPECT_TRUE(names(prove(folded.before(), folded.after(infinite, folded.folded_bias())), Kind::weight, "leaves the range"));
}

TEST(ProofOfFold, F64UnderflowOfAWholeChannel) {
  Folded folded;
  folded.input = "float16[1,6,9,9] x";
  folded.weight = normal("w", {4, 6, 3, 3}, DataType::float16);
  folded.batch_norm.scale[0] = 1e-6;
  EXPECT_TRUE(names(prove(folded.before(), folded.after()), Kind::weight, "sink below"));
  folded.batch_norm.scale[0] = 0;
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
  folded.batch_norm.scale[0] = 1;
  folded.weight[3] = 0x1p-20;
  EXPECT_TRUE(is_proved(prove(folded.before(), folded.after())));
}

TEST(ProofOfFold, WithChannelsLastWeights) {
  const Folded folded;
  Example after(
      "g (float[1,6,9,9] x) => (float[?,?,?,?] y) { w = Transpose <perm = [0, 3, 1, 2]> (wl) y = Conv <kernel_shape = [3, 3]> (x, w, b) }");
  after.add("wl", permuted(folded.folded_weight(), {0, 2, 3, 1})).add("b", folded.folded_bias());
  const ProofResult result = prove(folded.before(), after);
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folds, 1);
  EXPECT_EQ(result.permutations, 1);
}

TEST(ProofOfFold, SharedWeightIsCopied) {
  const Array w = normal("w", {4, 4, 3, 3});
  const BatchNorm bn("bn", 4);
  Array folded = w;
  Array bias{DataType::float32, {4}, {}};
  for (std::size_t i = 0; i < folded.size(); ++i) folded[i] = rounded(bn.factor(i / 36) * w[i], w.type);
  for (std::size_t c = 0; c < 4; ++c) bias.values.push_back(rounded(bn.shift(c), w.type));
  Example before(
      "g (float[1,4,9,9] x) => (float[?,?,?,?] y) { c = Conv (x, w) d = BatchNormalization (c, bn_scale, bn_bias, bn_mean, bn_var) y = "
      "Conv (d, w) }");
  before.add("w", w).add("bn", bn);
  Example after("g (float[1,4,9,9] x) => (float[?,?,?,?] y) { d = Conv (x, w_folded, b) y = Conv (d, w) }");
  after.add("w", w).add("w_folded", folded).add("b", bias);
  const ProofResult result = prove(before, after);
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.tensors_equal, 1);
  // Changed in place, the weight is wrong for the second reader.
  Example wrong("g (float[1,4,9,9] x) => (float[?,?,?,?] y) { d = Conv (x, w, b) y = Conv (d, w) }");
  wrong.add("w", folded).add("b", bias);
  EXPECT_TRUE(names(prove(before, wrong), Kind::weight, "weight 'w' differs (144 values"));
}

/// Affines of a LayerNormalization folded through Reshapes to computed dims, with other nodes between.
TEST(ProofOfFolds, ThroughReshapesToComputedDims) {
  struct Case {
    std::string between, product;
    bool is_convolution = true;
  };
  const std::string target = "d = Shape (image) l = Slice (d, three, four) t = Concat <axis = 0> (zero, one, l, channels) ";
  const std::string image = "r = Reshape (s, t) p = Transpose <perm = [0, 3, 1, 2]> (r) ";
  const std::vector<Case> cases = {
      {target + image, "y = Conv (p, w$)"},
      {target + "q = Reshape (s, t) r = Identity (q) p = Transpose <perm = [0, 3, 1, 2]> (r) ", "y = Conv (p, w$)"},
      {target + "r = Reshape (s, t) u = Dropout (r) p = Transpose <perm = [0, 3, 1, 2]> (u) ", "y = Conv (p, w$)"},
      {target + "p = Reshape (s, t) ", "y = MatMul (p, m) ", false},
      {target + "r = Reshape (s, t) p = Squeeze (r, one) ", "y = MatMul (p, m) ", false}};
  const Array w = normal("w", {5, 6, 1, 1}), factor = uniform("f", {6}, 0.5, 2), shift = normal("c", {6});
  for (const Case& one : cases) {
    const auto model = [&](bool is_folded, double slip, const std::string& measured = "image") {
      std::string nodes = one.between + (is_folded ? "" : one.product);
      if (is_folded) nodes += one.is_convolution ? "y = Conv (p, w, bias)" : "z = MatMul (p, m) y = Add (z, bias)";
      while (nodes.find("w$") != std::string::npos) nodes.replace(nodes.find("w$"), 2, "w");
      if (is_folded) nodes.replace(nodes.find("(s, t)"), 6, "(x, t)");
      nodes.replace(nodes.find("(image)"), 7, "(" + measured + ")");
      Array folded = w, bias = Array{DataType::float32, {5}, std::vector<double>(5, 0)};
      for (std::size_t o = 0; o < 5; ++o) {
        for (std::size_t c = 0; c < 6; ++c) {
          if (is_folded) folded[o * 6 + c] = rounded(w[o * 6 + c] * factor[c], DataType::float32);
          bias[o] += w[o * 6 + c] * shift[c];
        }
        bias[o] = rounded(bias[o] + (o == 2 ? slip : 0), DataType::float32);
      }
      Array matrix = permuted(Array{DataType::float32, {5, 6}, folded.values}, {1, 0});
      Example out("g (float[N,W,6] x, float[N,3,32,W] image, float[N,3,32,V] other) => (y) { " +
                      std::string(is_folded ? "" : "k = Mul (x, f) s = Add (k, c) ") + nodes + " }",
                  13);
      return out.add(one.is_convolution ? "w" : "m", one.is_convolution ? folded : matrix)
          .add("f", factor)
          .add("c", shift)
          .add("bias", bias)
          .add("zero", std::vector<int64_t>{0})
          .add("one", std::vector<int64_t>{1})
          .add("three", std::vector<int64_t>{3})
          .add("four", std::vector<int64_t>{4})
          .add("channels", std::vector<int64_t>{6});
    };
    EXPECT_TRUE(is_proved(prove(model(false, 0), model(true, 0)))) << one.between << one.product;
    EXPECT_FALSE(prove(model(false, 0), model(true, 0.01)).proved) << "a wrong bias: " << one.between;
    EXPECT_FALSE(prove(model(false, 0), model(true, 0, "other")).proved) << "other dims: " << one.between;
  }
}

}  // namespace
}  // namespace relayout::test
