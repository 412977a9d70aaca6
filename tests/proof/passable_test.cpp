
#include <cstddef>
#include <utility>

#include "relayout/proof.h"
#include "relayout/types.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

/// Conv, operators between, BatchNormalization; folded by hand into the convolution.
struct Between {
  std::string between;  ///< nodes from c to d
  int64_t opset = 17;
  Array weight = normal("w", {4, 3, 1, 1});
  BatchNorm bn{"bn", 4};
  std::vector<std::pair<std::string, std::vector<int64_t>>> integers;
  std::string input = "float[2,3,4,4] x";

  explicit Between(std::string nodes) : between(std::move(nodes)) {}
  Between& no_shift() {
    for (std::size_t c = 0; c < 4; ++c) bn.mean[c] = bn.bias[c] = 0;
    return *this;
  }
  [[nodiscard]] Example make(const std::string& first, const std::string& last) const {
    Example out("g (" + input + ") => (float y) { " + first + " " + between + " " + last + " }", static_cast<int>(opset));
    out.edit([](onnx::ModelProto& message) {
      message.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    });
    for (const auto& [name, values] : integers) out.add(name, values);
    return out;
  }
  [[nodiscard]] Example before() const {
    return make("c = Conv (x, w)", "y = BatchNormalization (d, bn_scale, bn_bias, bn_mean, bn_var)").add("w", weight).add("bn", bn);
  }
  [[nodiscard]] Example after() const {
    Array scaled = weight, bias{weight.type, {4}, {}};
    for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i] = rounded(bn.factor(i / 3) * scaled[i], scaled.type);
    for (std::size_t o = 0; o < 4; ++o) bias.values.push_back(rounded(bn.shift(o), bias.type));
    Example out = make("c = Conv (x, w, b)", "");
    out.edit([](onnx::ModelProto& message) {
      for (onnx::NodeProto& node : *message.mutable_graph()->mutable_node()) {
        if (node.output(0) == "d") node.set_output(0, "y");
      }
    });
    return out.add("w", scaled).add("b", bias);
  }
  [[nodiscard]] ProofResult proof() const { return prove(before(), after()); }
};

TEST(ProofThrough, F82IdentityF83Dropout) {
  EXPECT_TRUE(is_proved(Between("i = Identity (c) d = Dropout (i)").proof()));
}

TEST(ProofThrough, F86Transpose) {
  EXPECT_TRUE(is_proved(Between("d = Transpose <perm = [0, 1, 3, 2]> (c)").proof()));
  EXPECT_TRUE(is_proved(Between("t = Transpose <perm = [0, 2, 3, 1]> (c) d = Transpose <perm = [0, 3, 1, 2]> (t)").proof()));
}

TEST(ProofThrough, F87ChannelMovedAmongEqualSizes) {
  // H = C = 4.
  EXPECT_FALSE(Between("d = Transpose <perm = [0, 2, 1, 3]> (c)").proof().proved);
}

TEST(ProofThrough, F88ReshapeThatKeepsTheChannels) {
  Between keeps("d = Reshape (c, s)");
  keeps.integers = {{"s", {0, 0, -1}}};
  EXPECT_TRUE(is_proved(keeps.proof()));
  keeps.integers = {{"s", {2, 4, 16}}};
  EXPECT_TRUE(is_proved(keeps.proof()));
  keeps.integers = {{"s", {-1, 4, 16}}};
  EXPECT_TRUE(is_proved(keeps.proof()));  // sizes downstream of the convolution are certain: the batch is 2
  keeps.integers = {{"s", {-1, 4, 8}}};
  EXPECT_FALSE(keeps.proof().proved);  // [4, 4, 8]: half a channel each
}

TEST(ProofThrough, F88Unsqueeze) {
  Between added("d = Unsqueeze (c, a)");
  added.integers = {{"a", {2}}};
  EXPECT_TRUE(is_proved(added.proof()));
  added.integers = {{"a", {-1, 3}}};
  EXPECT_TRUE(is_proved(added.proof()));
  added.integers = {{"a", {1}}};
  EXPECT_FALSE(added.proof().proved);
}

TEST(ProofThrough, F89PoolAndFlatten) {
  EXPECT_TRUE(is_proved(Between("p = GlobalAveragePool (c) d = Flatten (p)").proof()));
  Between squeezed("p = GlobalAveragePool (c) d = Squeeze (p, a)");
  squeezed.integers = {{"a", {2, 3}}};
  EXPECT_TRUE(is_proved(squeezed.proof()));
  Between merged("d = Reshape (c, s)");
  merged.integers = {{"s", {1, 8, 4, 4}}};  // batch and channels become one
  EXPECT_FALSE(merged.proof().proved);
}

TEST(ProofThrough, F90Concat) {
  const Array u = normal("u", {2, 3, 1, 1}), v = normal("v", {3, 3, 1, 1});
  const BatchNorm bn("bn", 5);
  const auto make = [&](const std::string& text) { return Example("g (float[2,3,4,4] x) => (float[2,5,4,4] y) { " + text + " }"); };
  for (const std::string axis : {"1", "-3"}) {
    const std::string join = " = Concat <axis = " + axis + "> (a, b) ";
    Example before = make("a = Conv (x, u) b = Conv (x, v) c" + join + "y = BatchNormalization (c, bn_scale, bn_bias, bn_mean, bn_var)");
    before.add("u", u).add("v", v).add("bn", bn);
    const auto scaled = [&](Array w, std::size_t first) {
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = rounded(bn.factor(first + i / 3) * w[i], w.type);
      return w;
    };
    const auto shifts = [&](std::size_t first, std::size_t count) {
      Array out{DataType::float32, {static_cast<int64_t>(count)}, {}};
      for (std::size_t i = 0; i < count; ++i) out.values.push_back(rounded(bn.shift(first + i), out.type));
      return out;
    };
    Example after = make("a = Conv (x, u, s) b = Conv (x, v, t) y" + join);
    after.add("u", scaled(u, 0)).add("v", scaled(v, 2)).add("s", shifts(0, 2)).add("t", shifts(2, 3));
    const ProofResult result = prove(before, after);
    EXPECT_TRUE(is_proved(result));
    EXPECT_EQ(result.folds, 2);
    EXPECT_EQ(result.folded_nodes, 1);
    Example wrong = make("a = Conv (x, u, s) b = Conv (x, v, t) y" + join);
    wrong.add("u", scaled(u, 3)).add("v", scaled(v, 0)).add("s", shifts(3, 2)).add("t", shifts(0, 3));
    EXPECT_FALSE(prove(before, wrong).proved);
  }
}

TEST(ProofThrough, F90OneBranchCannotAbsorbIt) {
  const Array u = normal("u", {2, 3, 1, 1});
  const BatchNorm bn("bn", 5);
  const auto make = [&](const std::string& text) { return Example("g (float[2,3,4,4] x) => (float[2,5,4,4] y) { " + text + " }"); };
  Example before = make("a = Conv (x, u) c = Concat <axis = 1> (a, x) y = BatchNormalization (c, bn_scale, bn_bias, bn_mean, bn_var)");
  before.add("u", u).add("bn", bn);
  Array scaled = u, bias{u.type, {2}, {}};
  for (std::size_t i = 0; i < u.size(); ++i) scaled[i] = rounded(bn.factor(i / 3) * u[i], u.type);
  for (std::size_t o = 0; o < 2; ++o) bias.values.push_back(rounded(bn.shift(o), u.type));
  Example after = make("a = Conv (x, u, b) y = Concat <axis = 1> (a, x)");
  after.add("u", scaled).add("b", bias);
  EXPECT_TRUE(names(prove(before, after), Kind::node_removed, "output 'y' (BatchNormalization) is gone"));
}

TEST(ProofThrough, F91ConcatAlongAnotherAxis) {
  const Array u = normal("u", {4, 3, 1, 1}), v = normal("v", {4, 3, 1, 1});
  const BatchNorm bn("bn", 4);
  const auto make = [&](const std::string& text) { return Example("g (float[2,3,4,4] x) => (float[2,4,8,4] y) { " + text + " }"); };
  Example before =
      make("a = Conv (x, u) b = Conv (x, v) c = Concat <axis = 2> (a, b) y = BatchNormalization (c, bn_scale, bn_bias, bn_mean, bn_var)");
  before.add("u", u).add("v", v).add("bn", bn);
  Array shift{DataType::float32, {4}, {}};
  for (std::size_t o = 0; o < 4; ++o) shift.values.push_back(rounded(bn.shift(o), shift.type));
  const auto scaled = [&](Array w) {
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = rounded(bn.factor(i / 3) * w[i], w.type);
    return w;
  };
  Example after = make("a = Conv (x, u, s) b = Conv (x, v, s) y = Concat <axis = 2> (a, b)");
  EXPECT_TRUE(is_proved(prove(before, after.add("u", scaled(u)).add("v", scaled(v)).add("s", shift))));
}

TEST(ProofThrough, F92ReluF93MaxPool) {
  EXPECT_FALSE(Between("d = Relu (c)").proof().proved);
  EXPECT_TRUE(is_proved(Between("d = Relu (c)").no_shift().proof()));
  EXPECT_FALSE(Between("d = Sigmoid (c)").no_shift().proof().proved);
  EXPECT_TRUE(is_proved(Between("d = MaxPool <kernel_shape = [2, 2]> (c)").proof()));
  Between negative("d = MaxPool <kernel_shape = [2, 2]> (c)");
  negative.bn.scale[2] = -1;
  EXPECT_FALSE(negative.proof().proved);
  // Operators that let a factor pass by their formulas: |a·x| is a·|x|; the global maximum is the maximum of a window.
  EXPECT_TRUE(is_proved(Between("d = Abs (c)").no_shift().proof()));
  EXPECT_FALSE(Between("d = Abs (c)").proof().proved);
  EXPECT_TRUE(is_proved(Between("d = GlobalMaxPool (c)").proof()));
  negative.between = "d = GlobalMaxPool (c)";
  EXPECT_FALSE(negative.proof().proved);
  EXPECT_FALSE(Between("d = LpPool <kernel_shape = [2, 2]> (c)").proof().proved);
}

TEST(ProofThrough, F94AveragePool) {
  EXPECT_TRUE(is_proved(Between("d = AveragePool <kernel_shape = [2, 2]> (c)").proof()));
  EXPECT_TRUE(is_proved(Between("d = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (c)").proof()));
  const std::string padded = "d = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1> (c)";
  EXPECT_FALSE(Between(padded).proof().proved);
  EXPECT_TRUE(is_proved(Between(padded).no_shift().proof()));
  // Only whole windows: no element beyond the borders is counted.
  EXPECT_TRUE(is_proved(Between("d = AveragePool <kernel_shape = [3, 3], auto_pad = \"VALID\", count_include_pad = 1> (c)").proof()));
  EXPECT_FALSE(Between("d = AveragePool <kernel_shape = [3, 3], auto_pad = \"SAME_UPPER\", count_include_pad = 1> (c)").proof().proved);
}

TEST(ProofThrough, F95Pad) {
  Between zeros("d = Pad (c, p)");
  zeros.integers = {{"p", {0, 0, 1, 1, 0, 0, 1, 1}}};
  EXPECT_FALSE(zeros.proof().proved);
  EXPECT_TRUE(is_proved(zeros.no_shift().proof()));
  Between reflected("d = Pad <mode = \"reflect\"> (c, p)");
  reflected.integers = zeros.integers;
  EXPECT_TRUE(is_proved(reflected.proof()));
}

TEST(ProofThrough, F98UnknownOperator) {
  EXPECT_FALSE(Between("d = own.Thing (c)").no_shift().proof().proved);
}

}  // namespace
}  // namespace relayout::test
