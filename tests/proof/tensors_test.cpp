
#include <cstring>

#include "relayout/proof.h"
#include "relayout/types.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

constexpr const char* kPlain = "g (float[1,3,9,9] x) => (float[?,?,?,?] y) { y = Conv (x, w) }";
constexpr const char* kPermuted =
    "g (float[1,3,9,9] x) => (float[?,?,?,?] y) { w = Transpose <perm = [0, 3, 1, 2]> (stored) y = Conv (x, w) }";

TEST(ProofOfLayout, L1WeightIsABytePermutation) {
  const Array w = normal("w", {5, 3, 3, 2});
  const Example before = Example(kPlain).add("w", w);
  const Example after = Example(kPermuted).add("stored", permuted(w, {0, 2, 3, 1}));
  const ProofResult result = prove(before, after);
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.permutations, 1);
  EXPECT_EQ(result.tensors_equal, 0);
  EXPECT_EQ(result.nodes_equal, 1);
  // And back to contiguous.
  const ProofResult back = prove(after, before);
  EXPECT_TRUE(is_proved(back));
  EXPECT_EQ(back.permutations, 1);
  // The channels-last form against itself.
  const ProofResult same = prove(after, after);
  EXPECT_TRUE(is_proved(same));
  EXPECT_EQ(same.permutations, 0);
  EXPECT_EQ(same.tensors_equal, 1);
  EXPECT_EQ(same.nodes_equal, 2);
}

TEST(ProofOfLayout, L65WrongPermutationOfEqualDims) {
  const Array w = normal("w", {3, 3, 3, 3});
  const Example before = Example(kPlain).add("w", w);
  EXPECT_TRUE(is_proved(prove(before, Example(kPermuted).add("stored", permuted(w, {0, 2, 3, 1})))));
  EXPECT_TRUE(
      names(prove(before, Example(kPermuted).add("stored", permuted(w, {0, 3, 2, 1}))), Kind::weight, "weight 'w' differs (54 values"));
  EXPECT_FALSE(prove(before, Example(kPermuted).add("stored", w)).proved);
}

TEST(ProofOfLayout, OneByteOfAPermutedWeight) {
  const Array w = normal("w", {5, 3, 3, 2});
  Example after = Example(kPermuted).add("stored", permuted(w, {0, 2, 3, 1}));
  (*after.tensor("stored").mutable_raw_data())[41] ^= 1;
  EXPECT_TRUE(names(prove(Example(kPlain).add("w", w), after), Kind::weight, "weight 'w' differs (1 value"));
}

TEST(ProofOfLayout, L59MadeByHandAndComposed) {
  const Array w = normal("w", {5, 3, 3, 2});
  const Example before = Example(kPlain).add("w", w);
  Example after(
      "g (float[1,3,9,9] x) => (float[?,?,?,?] y) { a = Transpose (stored) b = Identity (a) c = Transpose <perm = [3, 2, 0, 1]> (b) y = "
      "Conv (x, c) }");
  // [5,3,3,2] = c's dims; c = b permuted by 3,2,0,1; b reverses the stored one.
  after.add("stored", permuted(permuted(w, {2, 3, 1, 0}), {3, 2, 1, 0}));
  EXPECT_TRUE(is_proved(prove(before, after)));
}

TEST(ProofOfLayout, L18QuantizedWeightThroughDequantizeLinear) {
  const auto model = [](const std::string& weight, const std::string& stored) {
    Example out("g (float[1,2,9,9] x) => (float[?,?,?,?] y) <float s = {0.5}, int8 z = {0}> { " + weight +
                " f = DequantizeLinear (w, s, z) y = Conv (x, f) }");
    out.edit([&](onnx::ModelProto& message) {
      onnx::TensorProto& tensor = *message.mutable_graph()->add_initializer();
      tensor.set_data_type(onnx::TensorProto::INT8);
      tensor.set_name(weight.empty() ? "w" : "stored");
      for (const int64_t dim : weight.empty() ? Dims{1, 2, 1, 3} : Dims{1, 1, 3, 2}) tensor.add_dims(dim);
      tensor.set_raw_data(stored);
    });
    return out;
  };
  const Example before = model("", "abcdef");
  const std::string transpose = "w = Transpose <perm = [0, 3, 1, 2]> (stored)";
  const ProofResult result = prove(before, model(transpose, "adbecf"));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.permutations, 1);
  EXPECT_TRUE(names(prove(before, model(transpose, "abcdef")), Kind::tensor, "'w' differs (4 values"));
}

TEST(ProofOfTensors, AnyByteOfAnUnrelatedTensor) {
  Example before("g (float[2,3] x) => (float[2,3] y, int64[2] n) <int64[2] k = {1, 2}> { a = Relu (x) y = Add (a, c) n = Identity (k) }");
  before.add("c", normal("c", {3}));
  EXPECT_TRUE(is_proved(prove(before, before)));
  EXPECT_EQ(prove(before, before).tensors_equal, 2);
  for (const std::size_t byte : {0U, 5U, 11U}) {
    Example after = before;
    (*after.tensor("c").mutable_raw_data())[byte] ^= 1;
    EXPECT_TRUE(names(prove(before, after), Kind::tensor, "constant 'c' differs (1 value"));
  }
  Example after = before;
  after.tensor("k").set_int64_data(1, 3);
  EXPECT_TRUE(names(prove(before, after), Kind::tensor, "constant 'k' differs (1 value, up to 5.0e-01 relative)"));
}

TEST(ProofOfTensors, SpellingDoesNotMatter) {
  const Array c{DataType::float32, {2}, {1, 2}};
  const Example before = Example("g (float[2] x) => (float[2] y) { y = Max (x, c) }").add("c", c);
  const Example typed("g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Max (x, c) }");
  const Example node("g (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1, 2}> () y = Max (x, c) }");
  const Example floats("g (float[2] x) => (float[2] y) { c = Constant <value_floats = [1.0, 2.0]> () y = Max (x, c) }");
  for (const Example* after : {&typed, &node, &floats}) EXPECT_TRUE(is_proved(prove(before, *after)));
  const Example other("g (float[2] x) => (float[2] y) { c = Constant <value_floats = [1.0, 2.5]> () y = Max (x, c) }");
  EXPECT_TRUE(names(prove(before, other), Kind::tensor, "constant 'c' differs"));
  const Example wider("g (float[2] x) => (float[2] y) <float[1,2] c = {1, 2}> { y = Max (x, c) }");
  EXPECT_TRUE(names(prove(before, wider), Kind::tensor, "constant 'c' is f32[1, 2], was f32[2]"));
}

TEST(ProofOfTensors, SparseAndStrings) {
  const Example strings("g (string[2] x) => (bool[2] y) <string[2] c = {\"a\", \"b\"}> { y = Equal (x, c) }", 19);
  const Example others("g (string[2] x) => (bool[2] y) <string[2] c = {\"a\", \"c\"}> { y = Equal (x, c) }", 19);
  EXPECT_TRUE(is_proved(prove(strings, strings)));
  EXPECT_TRUE(names(prove(strings, others), Kind::tensor, "constant 'c' differs (1 value)"));
}

TEST(ProofOfTensors, LargerThanAPiece) {
  Array table = normal("t", {5000, 100});  // 2 MB
  const char* text = "g (int64[2] i) => (float[2,100] y) { y = Gather (t, i) }";
  const Example before = Example(text).add("t", table);
  EXPECT_TRUE(is_proved(prove(before, before)));
  table[499999] = 7;
  EXPECT_TRUE(names(prove(before, Example(text).add("t", table)), Kind::tensor, "'t' differs (1 value"));
}

}  // namespace
}  // namespace relayout::test
