
#include <cstddef>

#include "relayout/proof.h"
#include "relayout/types.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

/// A model of this graph and these functions of domain "own".
Example with_functions(const std::string& nodes, const std::string& functions) {
  return Example("g (float[1,3,6,6] x) => (float[1,4,?,?] y) { " + nodes + " } " + functions);
}

const Array kWeight = normal("w", {4, 3, 3, 3});
const BatchNorm kBatchNorm("bn", 4);

Array folded_weight(const BatchNorm& bn) {
  Array out = kWeight;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = rounded(bn.factor(i / 27) * out[i], out.type);
  return out;
}

Array folded_bias(const BatchNorm& bn) {
  Array out{DataType::float32, {4}, {}};
  for (std::size_t o = 0; o < 4; ++o) out.values.push_back(rounded(bn.shift(o), out.type));
  return out;
}

TEST(ProofOfFunctions, CalledAlike) {
  const auto model = [&](const std::string& op) {
    return with_functions("a = own.f (x, w) y = Neg (a)",
                          "<domain: \"own\", opset_import: [\"\" : 17]> f (p, q) => (r) { s = " + op + " (p) r = Conv (s, q) }")
        .add("w", kWeight);
  };
  EXPECT_TRUE(is_proved(prove(model("Relu"), model("Relu"))));
  EXPECT_TRUE(names(prove(model("Relu"), model("Abs")), Kind::node_changed, "output 's' (Abs) stands where output 's' (Relu) was"));
}

TEST(ProofOfFunctions, F58FoldedInside) {
  // The parameters are Constants of the function.
  const auto constants = [](onnx::ModelProto& message, const std::string& name, const Array& array) {
    onnx::NodeProto& node = *message.mutable_functions(0)->add_node();
    node.set_op_type("Constant");
    node.add_output(name);
    onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : array.dims) value.mutable_t()->add_dims(dim);
    for (const double element : array.values) value.mutable_t()->add_float_data(static_cast<float>(element));
  };
  const std::string call = "y = own.f (x)";
  const std::string function = "<domain: \"own\", opset_import: [\"\" : 17]> f (p) => (r) ";
  Example before = with_functions(call, function + "{ c = Conv (p, w) r = BatchNormalization (c, s, b, m, v) }");
  before.edit([&](onnx::ModelProto& message) {
    constants(message, "w", kWeight);
    constants(message, "s", kBatchNorm.scale);
    constants(message, "b", kBatchNorm.bias);
    constants(message, "m", kBatchNorm.mean);
    constants(message, "v", kBatchNorm.variance);
  });
  const auto after = [&](const Array& weight) {
    Example out = with_functions(call, function + "{ r = Conv (p, w, b) }");
    out.edit([&](onnx::ModelProto& message) {
      constants(message, "w", weight);
      constants(message, "b", folded_bias(kBatchNorm));
    });
    return out;
  };
  const ProofResult result = prove(before, after(folded_weight(kBatchNorm)));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folds, 1);
  EXPECT_FALSE(prove(before, after(kWeight)).proved);
}

TEST(ProofOfFunctions, F59InlinedAndFoldedTwice) {
  const BatchNorm other("other", 4);
  Example before =
      with_functions("a = own.f (x, w, bn_scale, bn_bias, bn_mean, bn_var) b = own.f (x, w, o_scale, o_bias, o_mean, o_var) y = Add (a, b)",
                     "<domain: \"own\", opset_import: [\"\" : 17]> f (p, w, s, b, m, v) => (r) { c = Conv (p, w) r = BatchNormalization "
                     "(c, s, b, m, v) }");
  before.add("w", kWeight).add("bn", kBatchNorm).add("o", other);
  const auto after = [&](const BatchNorm& first, const BatchNorm& second) {
    Example out = with_functions("a = Conv (x, u, s) b = Conv (x, v, t) y = Add (a, b)", "");
    return out.add("u", folded_weight(first)).add("v", folded_weight(second)).add("s", folded_bias(first)).add("t", folded_bias(second));
  };
  const ProofResult result = prove(before, after(kBatchNorm, other));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folds, 2);
  EXPECT_FALSE(prove(before, after(other, kBatchNorm)).proved);
}

TEST(ProofOfFunctions, F60EpsilonByReference) {
  BatchNorm bn("bn", 4);
  bn.epsilon = static_cast<double>(0.25F);
  Example before = with_functions("c = Conv (x, w) y = own.f <e: float = 0.25> (c, bn_scale, bn_bias, bn_mean, bn_var)",
                                  "<domain: \"own\", opset_import: [\"\" : 17]> f <e> (p, s, b, m, v) => (r) { r = BatchNormalization "
                                  "<epsilon: float = @e> (p, s, b, m, v) }");
  before.add("w", kWeight).add("bn", bn);
  const auto after = [&](const BatchNorm& used) {
    return with_functions("y = Conv (x, w, b)", "").add("w", folded_weight(used)).add("b", folded_bias(used));
  };
  EXPECT_TRUE(is_proved(prove(before, after(bn))));
  EXPECT_FALSE(prove(before, after(BatchNorm("bn", 4))).proved);
}

TEST(ProofOfFunctions, ConvInsideBatchNormOutside) {
  Example before = with_functions("c = own.f (x, w) y = BatchNormalization (c, bn_scale, bn_bias, bn_mean, bn_var)",
                                  "<domain: \"own\", opset_import: [\"\" : 17]> f (p, q) => (r) { r = Conv (p, q) }");
  before.add("w", kWeight).add("bn", kBatchNorm);
  const Example after = with_functions("y = Conv (x, w, b)", "").add("w", folded_weight(kBatchNorm)).add("b", folded_bias(kBatchNorm));
  EXPECT_TRUE(is_proved(prove(before, after)));
}

// Malformed attributes, as no reader takes them.
TEST(ProofOfFunctions, AttributesOfAnotherTypeProveNothing) {
  const auto plain = [](const std::string& node) { return Example("g (float[N,4] x) => (float[?,?] y) { " + node + " }"); };
  for (const std::string name : {"Softmax <axis: float = ", "Flatten <axis: float = "}) {
    EXPECT_FALSE(is_proved(prove(plain("y = " + name + "0.0> (x)"), plain("y = " + name + "1.0> (x)")))) << name;
  }
  const auto called = [](const std::string& given) {
    return Example("g (float[N,4] x) => (float[N,4] y) { y = own.f <k: " + given +
                   "> (x) } <domain: \"own\", opset_import: [\"\" : 17]> f <k> (p) => (r) { c = Constant <value_float: float = @k> () r = "
                   "Min (p, c) }");
  };
  EXPECT_TRUE(is_proved(prove(called("float = 1000.0"), called("float = 1000.0"))));
  EXPECT_FALSE(is_proved(prove(called("int = 1000"), called("int = 2000"))));
  EXPECT_FALSE(is_proved(prove(called("floats = [1000.0]"), called("floats = [2000.0]"))));
}

TEST(ProofOfFunctions, ManyNestedCallsEnd) {
  // 2^40 nodes if all calls were expanded.
  std::string functions;
  for (int i = 0; i < 40; ++i) {
    const std::string inner = "own.f" + std::to_string(i + 1);
    functions += "<domain: \"own\", opset_import: [\"\" : 17, \"own\" : 1]> f" + std::to_string(i) + " (p) => (r) { a = " + inner +
                 " (p) b = " + inner + " (p) r = Add (a, b) } ";
  }
  functions += "<domain: \"own\", opset_import: [\"\" : 17]> f40 (p) => (r) { r = Relu (p) }";
  const Example before = with_functions("y = own.f0 (x)", functions);
  EXPECT_TRUE(is_proved(prove(before, before)));
  const Example after = with_functions("y = Relu (x)", "");
  EXPECT_FALSE(prove(before, after).proved);
}

}  // namespace
}  // namespace relayout::test
