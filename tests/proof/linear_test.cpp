
#include <cstddef>
#include <utility>

#include "relayout/proof.h"
#include "relayout/types.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

/// factor · x + shift per channel.
struct Affine {
  std::vector<double> factor, shift;
};

Affine affine_of(const BatchNorm& batch_norm) {
  Affine out;
  for (std::size_t c = 0; c < batch_norm.scale.size(); ++c) {
    out.factor.push_back(batch_norm.factor(c));
    out.shift.push_back(batch_norm.shift(c));
  }
  return out;
}

/// Multiplies every element by a factor that depends on its position.
Array scaled(const Array& array, const std::function<double(std::size_t)>& factor) {
  Array out = array;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = rounded(out[i] * factor(i), out.type);
  return out;
}

Array vector(const std::vector<double>& values, DataType type = DataType::float32) {
  Array out{type, {static_cast<int64_t>(values.size())}, {}};
  for (const double value : values) out.values.push_back(rounded(value, type));
  return out;
}

Array shaped(Array array, Dims dims) {
  array.dims = std::move(dims);
  return array;
}

Array scalar(double value, Dims dims = {}) {
  return {DataType::float32, std::move(dims), {value}};
}

/// Expects that a small change of any one element is noticed.
void expect_every_value_matters(const Example& before, const Example& after, const std::string& tensor) {
  Example wrong = after;
  for (const std::size_t at : {std::size_t{0}, wrong.tensor(tensor).raw_data().size() / 4 - 1}) {
    Example copy = after;
    auto* const values = reinterpret_cast<float*>(copy.tensor(tensor).mutable_raw_data()->data());
    values[at] *= 1.00001F;
    EXPECT_FALSE(prove(before, copy).proved) << tensor << " " << at;
  }
}

const Array kConv = normal("w", {4, 6, 3, 3});

TEST(ProofOfAffines, F110ChainDownstreamOfAConv) {
  // ((conv + p) · bn) · q − r) / s + t, composed.
  const Array p = normal("p", {1, 4, 1, 1}), q = normal("q", {4, 1, 1}), r = normal("r", {1, 4, 1, 1}), t = normal("t", {4, 1, 1});
  const Array s = uniform("s", {1, 4, 1, 1}, 1, 2);
  const BatchNorm bn("bn", 4);
  const auto make = [&](const std::string& text) { return Example("g (float[1,6,8,8] x) => (float[1,4,6,6] y) { " + text + " }"); };
  Example before = make(
      "c = Conv (x, w) d = Add (p, c) e = BatchNormalization (d, bn_scale, bn_bias, bn_mean, bn_var) f = Mul (e, q) h = Sub (f, r) "
      "i = Div (h, s) j = Neg (i) y = Add (j, t)");
  before.add("w", kConv).add("bn", bn).add("p", p).add("q", q).add("r", r).add("s", s).add("t", t);
  const auto factor = [&](std::size_t o) { return -bn.factor(o) * q[o] / s[o]; };
  std::vector<double> bias;
  for (std::size_t o = 0; o < 4; ++o) bias.push_back(-((bn.factor(o) * (p[o] - bn.mean[o]) + bn.bias[o]) * q[o] - r[o]) / s[o] + t[o]);
  Example after = make("y = Conv (x, w, b)");
  after.add("w", scaled(kConv, [&](std::size_t i) { return factor(i / 54); })).add("b", vector(bias));
  const ProofResult result = prove(before, after);
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folds, 1);
  EXPECT_EQ(result.folded_nodes, 7);
  expect_every_value_matters(before, after, "w");
  expect_every_value_matters(before, after, "b");
}

/// The same weights with and without the upstream affine: one reading holds and must be distinguished from the others.
TEST(ProofOfAffines, ReadingsOfALargeWeightAreDistinguished) {
  constexpr std::size_t kChannels = 64, kTaps = 9;
  const auto make = [](const std::string& text) {
    return Example("g (float[1,3,9,9] x) => (float[1,64,5,5] y) { c = Conv (x, u) " + text + " }");
  };
  const Array u = normal("u", {64, 3, 3, 3}), w = normal("w", {64, 64, 3, 3});
  const BatchNorm m("m", kChannels), n("n", kChannels);
  Example before = make(
      "d = BatchNormalization (c, m_scale, m_bias, m_mean, m_var) e = Conv (d, w) "
      "y = BatchNormalization (e, n_scale, n_bias, n_mean, n_var)");
  before.add("u", u).add("w", w).add("m", m).add("n", n);
  std::vector<double> of_both, of_last;
  for (std::size_t o = 0; o < kChannels; ++o) {
    double sum = 0;
    for (std::size_t i = 0; i < w.row(); ++i) sum += w[o * w.row() + i] * m.shift(i / kTaps);
    of_both.push_back(n.factor(o) * sum + n.shift(o));
    of_last.push_back(n.shift(o));
  }
  const auto last = [&](std::size_t i) { return n.factor(i / w.row()); };
  const auto both = [&](std::size_t i) { return last(i) * m.factor(i / kTaps % kChannels); };
  const auto after = [&](const Array& weight, const std::vector<double>& bias) {
    Example out = make("y = Conv (c, w, b)");
    return out.add("u", u).add("w", weight).add("b", vector(bias));
  };
  const ProofResult result = prove(before, after(scaled(w, both), of_both));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folded_nodes, 2);
  expect_every_value_matters(before, after(scaled(w, both), of_both), "w");
  EXPECT_TRUE(names(prove(before, after(scaled(w, last), of_last)), Kind::node_removed, "'d' (BatchNormalization)"));
}

TEST(ProofOfAffines, ConstantsThatRoundTheirOperandDoNotCancel) {
  const auto chain = [](double number) {
    return Example("g (float[1,3,4,4] x) => (y) { c = Conv (x, W) a = Add (c, k) y = Sub (a, k) }")
        .add("W", normal("w", {2, 3, 1, 1}))
        .add("k", {DataType::float32, {}, {number}});
  };
  const Example bare = Example("g (float[1,3,4,4] x) => (y) { y = Conv (x, W) }").add("W", normal("w", {2, 3, 1, 1}));
  EXPECT_TRUE(prove(chain(0.5), bare).proved);
  EXPECT_FALSE(prove(chain(12582912), bare).proved);
  EXPECT_FALSE(prove(bare, chain(12582912)).proved);
  // Without an upstream operator the same numbers are arithmetic.
  const auto alone = [](double number) {
    return Example("g (float[2,3] x) => (y) { a = Add (x, k) y = Sub (a, k) }").add("k", {DataType::float32, {}, {number}});
  };
  EXPECT_FALSE(prove(alone(12582912), Example("g (float[2,3] x) => (y) { y = Identity (x) }")).proved);
}

TEST(ProofOfAffines, F105SubFromConstantAndScalars) {
  const auto make = [&](const std::string& text) { return Example("g (float[1,6,8,8] x) => (float[1,4,6,6] y) { " + text + " }"); };
  const Array b = normal("b", {4});
  Example before = make("c = Conv (x, w, b) d = Sub (k, c) y = Mul (d, m)");
  before.add("w", kConv).add("b", b).add("k", scalar(3, {1, 1, 1, 1})).add("m", scalar(0.75));
  std::vector<double> bias;
  for (const double value : b.values) bias.push_back((3 - value) * 0.75);
  Example after = make("y = Conv (x, w, b)");
  after.add("w", scaled(kConv, [](std::size_t) { return -0.75; })).add("b", vector(bias));
  EXPECT_TRUE(is_proved(prove(before, after)));
}

TEST(ProofOfAffines, F101NotAlongTheChannels) {
  // [4] against NCHW runs along W.
  const auto make = [&](const std::string& text) { return Example("g (float[1,6,8,6] x) => (float[1,4,6,4] y) { " + text + " }"); };
  const Array m = normal("m", {4});
  Example before = make("c = Conv (x, w) y = Mul (c, m)");
  before.add("w", kConv).add("m", m);
  Example after = make("y = Conv (x, w)");
  after.add("w", scaled(kConv, [&](std::size_t i) { return m[i / 54]; }));
  EXPECT_FALSE(prove(before, after).proved);
}

TEST(ProofOfAffines, F102TheOutputMustNotGrow) {
  const auto make = [&](const std::string& text) { return Example("g (float[1,6,8,8] x) => (float[?,?,?,?] y) { " + text + " }"); };
  Example rank = make("c = Conv (x, w) y = Mul (c, m)");
  rank.add("w", kConv).add("m", scalar(2, {1, 1, 1, 1, 1}));
  Example doubled = make("y = Conv (x, w)");
  doubled.add("w", scaled(kConv, [](std::size_t) { return 2; }));
  EXPECT_FALSE(prove(rank, doubled).proved);
  Example channels = make("c = Conv (x, w) y = Mul (c, m)");
  const Array one = normal("one", {1, 6, 3, 3});
  channels.add("w", one).add("m", normal("m", {1, 4, 1, 1}));
  Example same = make("y = Conv (x, w)");
  same.add("w", one);
  EXPECT_FALSE(prove(channels, same).proved);
}

TEST(ProofOfAffines, F112Opset6) {
  const auto make = [&](const std::string& text) { return Example("g (float[1,6,8,8] x) => (float[1,4,6,6] y) { " + text + " }", 6); };
  const Array m = normal("m", {4});
  Example before = make("c = Conv (x, w) y = Mul <broadcast = 1, axis = 1> (c, m)");
  before.add("w", kConv).add("m", m);
  Example after = make("y = Conv (x, w)");
  after.add("w", scaled(kConv, [&](std::size_t i) { return m[i / 54]; }));
  EXPECT_TRUE(is_proved(prove(before, after)));
  Example suffix = make("c = Conv (x, w) y = Mul <broadcast = 1> (c, m)");
  suffix.add("w", kConv).add("m", m);
  EXPECT_FALSE(prove(suffix, after).proved);
}

/// BatchNormalization upstream of a convolution.
struct UpstreamNorm {
  std::string operation = "Conv";
  Array weight = normal("w", {4, 3, 3, 3});
  int64_t group = 2;
  BatchNorm bn{"bn", 6};
  bool shift_counts = true;

  [[nodiscard]] std::size_t channel(std::size_t i) const { return i / 54 * 3 + i / 9 % 3; }
  [[nodiscard]] std::string node(const std::string& x, const std::string& operands) const {
    return "y = " + operation + " (" + x + ", " + operands + ")";
  }
  [[nodiscard]] Example before() const {
    Example out("g (float[1,6,8,8] x) => (float[1,4,?,?] y) { n = BatchNormalization (x, bn_scale, bn_bias, bn_mean, bn_var) " +
                node("n", "w, b") + " }");
    return out.add("w", weight).add("b", bias()).add("bn", bn);
  }
  [[nodiscard]] static Array bias() { return normal("b", {4}); }
  [[nodiscard]] Example after() const {
    Example out("g (float[1,6,8,8] x) => (float[1,4,?,?] y) { " + node("x", "w, b") + " }");
    std::vector<double> sums = bias().values;
    for (std::size_t i = 0; shift_counts && i < weight.size(); ++i) sums[i / 27] += weight[i] * bn.shift(channel(i));
    return out.add("w", scaled(weight, [&](std::size_t i) { return bn.factor(channel(i)); })).add("b", vector(sums));
  }
};

TEST(ProofOfAffines, F67UpstreamOfAnUnpaddedConvWithGroups) {
  UpstreamNorm upstream;
  upstream.operation = "Conv <group = 2>";
  const ProofResult result = prove(upstream.before(), upstream.after());
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folds, 1);
  EXPECT_EQ(result.folded_nodes, 1);
  expect_every_value_matters(upstream.before(), upstream.after(), "w");
  expect_every_value_matters(upstream.before(), upstream.after(), "b");
}

TEST(ProofOfAffines, F68PaddingDoesNotTakeAShift) {
  UpstreamNorm upstream;
  for (const char* padding : {"pads = [0, 0, 0, 1]", "auto_pad = \"SAME_UPPER\"", "pads = [1, 1, 1, 1]"}) {
    upstream.operation = std::string("Conv <group = 2, ") + padding + ">";
    EXPECT_FALSE(prove(upstream.before(), upstream.after()).proved) << padding;
  }
  upstream.operation = "Conv <group = 2, auto_pad = \"VALID\">";
  EXPECT_TRUE(is_proved(prove(upstream.before(), upstream.after())));
}

TEST(ProofOfAffines, F69PaddingTakesAScale) {
  UpstreamNorm upstream;
  upstream.operation = "Conv <group = 2, pads = [1, 1, 1, 1]>";
  for (std::size_t c = 0; c < 6; ++c) upstream.bn.mean[c] = upstream.bn.bias[c] = 0;
  EXPECT_TRUE(is_proved(prove(upstream.before(), upstream.after())));
  upstream.bn.bias[4] = 1e-3;
  EXPECT_FALSE(prove(upstream.before(), upstream.after()).proved);
}

TEST(ProofOfAffines, F116OnlyTheScaleIsFolded) {
  const Array w = normal("w", {4, 3, 3, 3}), mean = normal("mean", {1, 3, 1, 1}), deviation = uniform("std", {1, 3, 1, 1}, 1, 2);
  const auto make = [&](const std::string& text) { return Example("g (float[N,3,8,8] x) => (float[N,4,8,8] y) { " + text + " }"); };
  Example before = make("a = Sub (x, mean) n = Div (a, std) y = Conv <pads = [1, 1, 1, 1]> (n, w)");
  before.add("w", w).add("mean", mean).add("std", deviation);
  Example after = make("a = Sub (x, mean) y = Conv <pads = [1, 1, 1, 1]> (a, w)");
  after.add("w", scaled(w, [&](std::size_t i) { return 1 / deviation[i / 9 % 3]; })).add("mean", mean);
  const ProofResult result = prove(before, after);
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folded_nodes, 1);
  Example wrong = after;
  (*wrong.tensor("mean").mutable_raw_data())[4] ^= 1;
  EXPECT_FALSE(prove(before, wrong).proved);
  // Without padding both are folded.
  Example unpadded = make("a = Sub (x, mean) n = Div (a, std) y = Conv (n, w)");
  unpadded.add("w", w).add("mean", mean).add("std", deviation);
  std::vector<double> bias(4);
  for (std::size_t i = 0; i < w.size(); ++i) bias[i / 27] -= w[i] * mean[i / 9 % 3] / deviation[i / 9 % 3];
  Example both = make("y = Conv (x, w, b)");
  both.add("w", scaled(w, [&](std::size_t i) { return 1 / deviation[i / 9 % 3]; })).add("b", vector(bias));
  EXPECT_TRUE(is_proved(prove(unpadded, both)));
}

TEST(ProofOfAffines, F117TheOperandMustNotGrow) {
  const Array w = normal("w", {6, 4, 3, 3}), m = normal("m", {1, 4, 1, 1});
  const auto make = [&](const std::string& channels, const std::string& text) {
    return Example("g (float[N," + channels + ",8,8] x) => (float[N,6,6,6] y) { " + text + " }");
  };
  const Array folded = scaled(w, [&](std::size_t i) { return m[i / 9 % 4]; });
  const auto proof = [&](const std::string& channels) {
    return prove(make(channels, "a = Mul (x, m) y = Conv (a, w)").add("w", w).add("m", m),
                 make(channels, "y = Conv (x, w)").add("w", folded));
  };
  EXPECT_TRUE(is_proved(proof("4")));
  EXPECT_FALSE(proof("C").proved);  // may be 1
}

TEST(ProofOfAffines, F71UpstreamOfConvTranspose) {
  const Array w = normal("w", {6, 2, 3, 3});
  BatchNorm bn("bn", 6);
  const auto make = [&](const std::string& text) { return Example("g (float[1,6,8,8] x) => (float[1,4,?,?] y) { " + text + " }"); };
  const auto before = [&](const std::string& attributes, const Array& weight) {
    return make("n = BatchNormalization (x, bn_scale, bn_bias, bn_mean, bn_var) y = ConvTranspose <group = 2" + attributes + "> (n, w)")
        .add("w", weight)
        .add("bn", bn);
  };
  const auto after = [&](const std::string& attributes, const Array& weight) {
    const std::size_t row = weight.row(), kernel = row / 2;
    std::vector<double> sums(4);
    for (std::size_t i = 0; i < weight.size(); ++i) sums[i / row / 3 * 2 + i / kernel % 2] += weight[i] * bn.shift(i / row);
    return make("y = ConvTranspose <group = 2" + attributes + "> (x, w, b)")
        .add("w", scaled(weight, [&](std::size_t i) { return bn.factor(i / row); }))
        .add("b", vector(sums));
  };
  EXPECT_FALSE(prove(before("", w), after("", w)).proved);
  const Array point = normal("w", {6, 2, 1, 1});
  EXPECT_TRUE(is_proved(prove(before("", point), after("", point))));
  EXPECT_FALSE(prove(before(", strides = [2, 2]", point), after(", strides = [2, 2]", point)).proved);
  for (std::size_t c = 0; c < 6; ++c) bn.mean[c] = bn.bias[c] = 0;
  EXPECT_TRUE(is_proved(prove(before("", w), after("", w))));
}

TEST(ProofOfAffines, F75BetweenTwoConvsEitherAbsorbsIt) {
  const Array u = normal("u", {4, 4, 1, 1}), v = normal("v", {4, 4, 1, 1});
  const BatchNorm bn("bn", 4);
  const Affine affine = affine_of(bn);
  const auto make = [&](const std::string& text) { return Example("g (float[1,4,8,8] x) => (float[1,4,8,8] y) { " + text + " }"); };
  Example before = make("c = Conv (x, u) n = BatchNormalization (c, bn_scale, bn_bias, bn_mean, bn_var) y = Conv (n, v)");
  before.add("u", u).add("v", v).add("bn", bn);
  const Array scaled_u = scaled(u, [&](std::size_t i) { return affine.factor[i / 4]; });
  const Array scaled_v = scaled(v, [&](std::size_t i) { return affine.factor[i % 4]; });
  std::vector<double> sums(4);
  for (std::size_t i = 0; i < v.size(); ++i) sums[i / 4] += v[i] * affine.shift[i % 4];
  for (const std::string name : {"n", "c", "k"}) {  // whatever the name of the value between
    Example backward = make(name + " = Conv (x, u, b) y = Conv (" + name + ", v)");
    EXPECT_TRUE(is_proved(prove(before, backward.add("u", scaled_u).add("v", v).add("b", vector(affine.shift))))) << name;
    Example forward = make(name + " = Conv (x, u) y = Conv (" + name + ", v, b)");
    EXPECT_TRUE(is_proved(prove(before, forward.add("u", u).add("v", scaled_v).add("b", vector(sums))))) << name;
    Example both = make(name + " = Conv (x, u, b) y = Conv (" + name + ", v)");
    EXPECT_FALSE(prove(before, both.add("u", scaled_u).add("v", scaled_v).add("b", vector(affine.shift))).proved) << name;
  }
}

TEST(ProofOfAffines, F122DownstreamOfGemmWithAlphaAndBeta) {
  const BatchNorm bn("bn", 4);
  for (const bool transposed : {false, true}) {
    const Array w = normal("w", transposed ? Dims{4, 5} : Dims{5, 4}), c = normal("c", {1, 4});
    const std::string attributes = transposed ? "alpha = 0.5, transB = 1" : "alpha = 0.5";
    const auto make = [&](const std::string& text) { return Example("g (float[N,5] x) => (float[N,4] y) { " + text + " }"); };
    Example before =
        make("n = Gemm <" + attributes + ", beta = 2.0> (x, w, c) y = BatchNormalization (n, bn_scale, bn_bias, bn_mean, bn_var)");
    before.add("w", w).add("c", c).add("bn", bn);
    std::vector<double> bias;
    for (std::size_t o = 0; o < 4; ++o) bias.push_back(bn.factor(o) * (2 * c[o] - bn.mean[o]) + bn.bias[o]);
    Example after = make("y = Gemm <" + attributes + "> (x, w, c)");
    after.add("w", scaled(w, [&](std::size_t i) { return bn.factor(transposed ? i / 5 : i % 4); })).add("c", vector(bias));
    EXPECT_TRUE(is_proved(prove(before, after))) << transposed;
    expect_every_value_matters(before, after, "w");
    Example alpha = make("y = Gemm <transB = " + std::string(transposed ? "1" : "0") + "> (x, w, c)");
    alpha.add("w", scaled(w, [&](std::size_t i) { return bn.factor(transposed ? i / 5 : i % 4); })).add("c", vector(bias));
    EXPECT_FALSE(prove(before, alpha).proved);
  }
}

TEST(ProofOfAffines, F123GemmWithAMatrixToAdd) {
  const Array w = normal("w", {5, 4}), c = normal("c", {3, 4}), m = normal("m", {4});
  const auto make = [&](const std::string& text) { return Example("g (float[3,5] x) => (float[3,4] y) { " + text + " }"); };
  const Example before = make("n = Gemm (x, w, c) y = Mul (n, m)").add("w", w).add("c", c).add("m", m);
  const auto by_column = [&](std::size_t i) { return m[i % 4]; };
  EXPECT_TRUE(is_proved(prove(before, make("y = Gemm (x, w, c)").add("w", scaled(w, by_column)).add("c", scaled(c, by_column)))));
  const Array one_row = shaped(Array{c.type, {}, {c.values.begin(), c.values.begin() + 4}}, {4});
  EXPECT_FALSE(prove(before, make("y = Gemm (x, w, c)").add("w", scaled(w, by_column)).add("c", scaled(one_row, by_column))).proved);
}

TEST(ProofOfAffines, F77UpstreamOfGemmAndThroughFlatten) {
  const BatchNorm bn("bn", 3);
  const Array w = normal("w", {4, 12});  // transB; 3 channels of 4 positions
  const auto make = [&](const std::string& text) { return Example("g (float[N,3,2,2] x) => (float[N,4] y) { " + text + " }"); };
  Example before =
      make("n = BatchNormalization (x, bn_scale, bn_bias, bn_mean, bn_var) f = Flatten (n) y = Gemm <alpha = 0.5, transB = 1> (f, w)");
  before.add("w", w).add("bn", bn);
  std::vector<double> bias(4);
  for (std::size_t i = 0; i < w.size(); ++i) bias[i / 12] += 0.5 * w[i] * bn.shift(i % 12 / 4);
  Example after = make("f = Flatten (x) y = Gemm <alpha = 0.5, transB = 1> (f, w, c)");
  after.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i % 12 / 4); })).add("c", vector(bias));
  EXPECT_TRUE(is_proved(prove(before, after)));
  Example wrong = make("f = Flatten (x) y = Gemm <alpha = 0.5, transB = 1> (f, w, c)");
  wrong.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i % 12 % 3); })).add("c", vector(bias));
  EXPECT_FALSE(prove(before, wrong).proved);
  Example reshaped =
      make("n = BatchNormalization (x, bn_scale, bn_bias, bn_mean, bn_var) f = Reshape (n, s) y = Gemm <alpha = 0.5, transB = 1> (f, w)");
  reshaped.add("w", w).add("bn", bn).add("s", std::vector<int64_t>{0, -1});
  Example folded = make("f = Reshape (x, s) y = Gemm <alpha = 0.5, transB = 1> (f, w, c)");
  folded.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i % 12 / 4); }))
      .add("c", vector(bias))
      .add("s", std::vector<int64_t>{0, -1});
  EXPECT_TRUE(is_proved(prove(reshaped, folded)));
}

TEST(ProofOfAffines, F128MatMulLeavesOneAdd) {
  const BatchNorm bn("bn", 4);
  const Array w = normal("w", {5, 4}), b = normal("b", {4});
  const auto make = [&](const std::string& text) { return Example("g (float[N,5] x) => (float[N,4] y) { " + text + " }"); };
  Example before = make("m = MatMul (x, w) a = Add (m, b) y = BatchNormalization (a, bn_scale, bn_bias, bn_mean, bn_var)");
  before.add("w", w).add("b", b).add("bn", bn);
  std::vector<double> bias;
  for (std::size_t o = 0; o < 4; ++o) bias.push_back(bn.factor(o) * (b[o] - bn.mean[o]) + bn.bias[o]);
  Example after = make("m = MatMul (x, w) y = Add (m, b)");
  after.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i % 4); })).add("b", vector(bias));
  EXPECT_TRUE(is_proved(prove(before, after)));
  expect_every_value_matters(before, after, "w");
  expect_every_value_matters(before, after, "b");
}

TEST(ProofOfAffines, F129MatMulOfRank3KeepsItsBatchNorm) {
  const BatchNorm bn("bn", 4);
  const Array w = normal("w", {5, 4});
  const auto make = [&](const std::string& text) { return Example("g (float[N,4,5] x) => (float[N,4,4] y) { " + text + " }"); };
  Example before = make("m = MatMul (x, w) y = BatchNormalization (m, bn_scale, bn_bias, bn_mean, bn_var)");
  before.add("w", w).add("bn", bn);
  Example after = make("m = MatMul (x, w) y = Add (m, b)");
  after.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i % 4); })).add("b", vector(affine_of(bn).shift));
  EXPECT_FALSE(prove(before, after).proved);
}

TEST(ProofOfAffines, F130MatMulThenTranspose) {
  const BatchNorm bn("bn", 4);
  const Array w = normal("w", {5, 4}), b = normal("b", {4});
  const auto make = [&](const std::string& text) { return Example("g (float[N,7,5] x) => (float[N,4,7] y) { " + text + " }"); };
  Example before = make(
      "m = MatMul (x, w) a = Add (m, b) t = Transpose <perm = [0, 2, 1]> (a) y = BatchNormalization (t, bn_scale, bn_bias, bn_mean, "
      "bn_var)");
  before.add("w", w).add("b", b).add("bn", bn);
  std::vector<double> bias;
  for (std::size_t o = 0; o < 4; ++o) bias.push_back(bn.factor(o) * (b[o] - bn.mean[o]) + bn.bias[o]);
  Example after = make("m = MatMul (x, w) a = Add (m, b) y = Transpose <perm = [0, 2, 1]> (a)");
  after.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i % 4); })).add("b", vector(bias));
  EXPECT_TRUE(is_proved(prove(before, after)));
}

TEST(ProofOfAffines, F131ConstantOnTheLeft) {
  const BatchNorm bn("bn", 4);
  const Array w = normal("w", {4, 5});
  const auto make = [&](const std::string& text) { return Example("g (float[N,5,7] x) => (float[N,4,7] y) { " + text + " }"); };
  Example before = make("m = MatMul (w, x) y = BatchNormalization (m, bn_scale, bn_bias, bn_mean, bn_var)");
  before.add("w", w).add("bn", bn);
  Example after = make("m = MatMul (w, x) y = Add (m, b)");
  after.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i / 5); })).add("b", shaped(vector(affine_of(bn).shift), {4, 1}));
  EXPECT_TRUE(is_proved(prove(before, after)));
  Example wrong = make("m = MatMul (w, x) y = Add (m, b)");
  wrong.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i % 4); })).add("b", shaped(vector(affine_of(bn).shift), {4, 1}));
  EXPECT_FALSE(prove(before, wrong).proved);
}

TEST(ProofOfAffines, F77dUpstreamOfMatMul) {
  const BatchNorm bn("bn", 5);
  const Array w = normal("w", {5, 4});
  const auto make = [&](const std::string& text) { return Example("g (float[N,5] x) => (float[N,4] y) { " + text + " }"); };
  Example before = make("n = BatchNormalization (x, bn_scale, bn_bias, bn_mean, bn_var) y = MatMul (n, w)");
  before.add("w", w).add("bn", bn);
  std::vector<double> bias(4);
  for (std::size_t i = 0; i < w.size(); ++i) bias[i % 4] += w[i] * bn.shift(i / 4);
  Example after = make("m = MatMul (x, w) y = Add (m, b)");
  after.add("w", scaled(w, [&](std::size_t i) { return bn.factor(i / 4); })).add("b", vector(bias));
  EXPECT_TRUE(is_proved(prove(before, after)));
}

TEST(ProofOfAffines, BatchedWeights) {
  const Array w = normal("w", {2, 5, 4}), m = normal("m", {4});
  const auto make = [&](const std::string& text) { return Example("g (float[2,3,5] x) => (float[2,3,4] y) { " + text + " }"); };
  const Example before = make("p = MatMul (x, w) y = Mul (p, m)").add("w", w).add("m", m);
  const Example after = make("y = MatMul (x, w)").add("w", scaled(w, [&](std::size_t i) { return m[i % 4]; }));
  EXPECT_TRUE(is_proved(prove(before, after)));
  expect_every_value_matters(before, after, "w");
  const Array k = normal("k", {5});
  const Example upstream = make("p = Mul (x, k) y = MatMul (p, w)").add("w", w).add("k", k);
  const Example folded = make("y = MatMul (x, w)").add("w", scaled(w, [&](std::size_t i) { return k[i / 4 % 5]; }));
  EXPECT_TRUE(is_proved(prove(upstream, folded)));
  expect_every_value_matters(upstream, folded, "w");
}

TEST(ProofOfAffines, F38WeightsThroughATranspose) {
  const Array w = normal("w", {4, 5}), m = normal("m", {4});
  const auto make = [&](const std::string& text) { return Example("g (float[N,5] x) => (float[N,4] y) { " + text + " }"); };
  const Example before = make("t = Transpose (w) p = MatMul (x, t) y = Mul (p, m)").add("w", w).add("m", m);
  const Array folded = scaled(w, [&](std::size_t i) { return m[i / 5]; });
  EXPECT_TRUE(is_proved(prove(before, make("t = Transpose (w) y = MatMul (x, t)").add("w", folded))));
  const Array stored = permuted(folded, {1, 0});
  const ProofResult result = prove(before, make("y = MatMul (x, t)").add("t", stored));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.permutations, 1);
  expect_every_value_matters(before, make("y = MatMul (x, t)").add("t", stored), "t");
}

TEST(ProofOfAffines, WeightsOfManyPieces) {
  // Three pieces of 1 MiB; also batches of one long row.
  const Array m = normal("m", {300});
  for (const Dims& dims : {Dims{2000, 300}, Dims{1, 2000, 300}}) {
    const Array w = normal("w", dims);
    const std::string head =
        dims.size() == 2 ? "g (float[3,2000] x) => (float[3,300] y) { " : "g (float[1,3,2000] x) => (float[1,3,300] y) { ";
    const Example before = Example(head + "p = MatMul (x, w) y = Mul (p, m) }").add("w", w).add("m", m);
    const Example after = Example(head + "y = MatMul (x, w) }").add("w", scaled(w, [&](std::size_t i) { return m[i % 300]; }));
    EXPECT_TRUE(is_proved(prove(before, after)));
    expect_every_value_matters(before, after, "w");
  }
}

TEST(ProofOfAffines, F143WithoutElements) {
  const auto make = [&](const std::string& text) { return Example("g (float[1,2,5,5] x) => (float[1,0,3,3] y) { " + text + " }"); };
  const Example before = make("c = Conv (x, w) y = Mul (c, m)").add("w", normal("w", {0, 2, 3, 3})).add("m", normal("m", {0, 1, 1}));
  EXPECT_TRUE(is_proved(prove(before, make("y = Conv (x, w)").add("w", normal("w", {0, 2, 3, 3})))));
}

}  // namespace
}  // namespace relayout::test
