// Tests reproducers: a node at fault alone fails as the whole does, with the values that it had there.
#include "relayout/reproducer.h"

#include <gmock/gmock.h>

#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/verify.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class ReproducerTest : public testing::Test {
 protected:
  std::vector<Reproducer> reproduce(const std::string& a, const std::string& b, std::optional<uint64_t> scramble = {}) {
    write_file(folder_ / "a.onnx", TextModel(a).bytes());
    write_file(folder_ / "b.onnx", TextModel(b).bytes());
    VerifyOptions options;
    options.save_data = folder_ / "samples";
    std::filesystem::remove_all(options.save_data);
    return save_reproducers(verify(folder_ / "a.onnx", folder_ / "b.onnx", options), options, folder_ / "repro", scramble);
  }
  [[nodiscard]] std::string readme() const { return read_file(folder_ / "repro" / "1" / "README.txt"); }
  [[nodiscard]] std::unique_ptr<Model> part(const std::string& name) const { return Model::load(folder_ / "repro" / "1" / name); }
  static std::string net(const std::string& slope) {
    return "g (float[N,4] x) => (float[N,4] y) <float[4,4] w, float[4,4] u> { a = MatMul (x, w)  b = LeakyRelu <alpha = " + slope +
           "> (a)  c = MatMul (b, u)  y = Tanh (c) }";
  }
  TemporaryFolder folder_;
};

TEST_F(ReproducerTest, TheNodeAloneFails) {
  const auto made = reproduce(net("0.1"), net("0.2"));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].op_type, "LeakyRelu");
  EXPECT_EQ(made[0].reason, "");
  EXPECT_TRUE(made[0].differs);
  EXPECT_EQ(made[0].nodes_a, 1);
  EXPECT_EQ(made[0].nodes_b, 1);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "repro" / "1" / "test_data_set_0" / "output_0.pb"));
  EXPECT_THAT(
      read_file(folder_ / "repro" / "1" / "README.txt"),
      AllOf(HasSubstr("(LeakyRelu)"), HasSubstr("relayout verify a.onnx b.onnx --match position --input a=test_data_set_0/input_0.pb")));
  EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { return reproduce(net("0.1"), net("0.2")); }), HasSubstr("is there already"));
}

TEST_F(ReproducerTest, ARegionReachesToTheValuesThatBothHave) {
  const auto made = reproduce("g (float[2,4] x) => (float[2,4] y) <float[4] s> { a = Exp (x)  p = Mul (a, s)  q = Neg (p)  y = Tanh (q) }",
                              "g (float[2,4] x) => (float[2,4] y) <float[4] s> { a = Exp (x)  r = Neg (a)  q = Mul (s, a)  y = Tanh (q) }");
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made[0].differs) << made[0].reason;
  EXPECT_EQ(made[0].nodes_a, 2);
  EXPECT_EQ(made[0].nodes_b, 1);
}

TEST_F(ReproducerTest, DimsShrinkWhileTheFaultStays) {
  const auto net = [](const std::string& pads) {
    return "g (float[4,2,16,16] x) => (float[4,3,16,16] y) <float[3,2,3,3] w> { a = Relu (x)  c = Conv <pads = [" + pads +
           "]> (a, w)  y = Tanh (c) }";
  };
  const auto made = reproduce(net("1,1,1,1"), net("2,1,0,1"));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_TRUE(made[0].differs);
  EXPECT_EQ(part("a.onnx")->graph().inputs()[0]->declared()->dims, (Dims{1, 2, 1, 1}));
  EXPECT_EQ(part("b.onnx")->graph().inputs()[0]->declared()->dims, (Dims{1, 2, 1, 1}));
  EXPECT_THAT(readme(), HasSubstr("'pads'"));
}

TEST_F(ReproducerTest, WeightsAreScrambled) {
  const auto of_conv = [](const std::string& slope) {
    return "g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> { a = Relu (x)  b = Gemm <alpha "
           "= " +
           slope + "> (a, w)  y = Tanh (b) }";
  };
  const auto made = reproduce(of_conv("0.1"), of_conv("0.2"), 7);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_TRUE(made[0].differs) << made[0].reason;
  const auto weight = [this](const std::string& name) {
    const Tensor tensor = part(name)->graph().find("w")->initializer()->load();
    return std::vector<float>(tensor.data<float>(), tensor.data<float>() + tensor.element_count());
  };
  EXPECT_EQ(weight("a.onnx"), weight("b.onnx"));
  EXPECT_NE(weight("a.onnx")[0], 1);
  EXPECT_THAT(readme(), HasSubstr("random numbers like those"));
}

TEST_F(ReproducerTest, WeightsOfOnePartAloneAreNotScrambled) {
  const std::string head = "g (float[2,4] x) => (float[2,4] y) <float[4] s = {1,2,3,4}", tail = "> { a = Exp (x)  ";
  const auto made = reproduce(head + tail + "p = Mul (a, s)  q = Neg (p)  y = Tanh (q) }",
                              head + ", float[4] t = {9,8,7,6}" + tail + "p = Mul (a, t)  q = Mul (s, p)  y = Tanh (q) }", 7);
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made[0].folder.empty());
  EXPECT_THAT(made[0].reason, HasSubstr("is in one of its parts alone"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "repro" / "1"));
}

/// A weight behind a DequantizeLinear is a value that both models have, but no input reaches it.
TEST_F(ReproducerTest, ConstantsAreWithinTheParts) {
  const auto net = [](const std::string& weight) {
    return "g (float[2,2] x) => (float[2,2] y) <int8[2,2] q = {" + weight +
           "}, float s = {0.5}> { a = Relu (x)  w = DequantizeLinear (q, s)  b = MatMul (a, w)  y = Tanh (b) }";
  };
  const auto made = reproduce(net("1,2,3,4"), net("1,2,3,9"));
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made[0].differs) << made[0].reason;
  EXPECT_EQ(made[0].nodes_b, 2);
  EXPECT_EQ(part("b.onnx")->graph().inputs().size(), 1U);
}

/// Without the sum, a value of b stands for it that has another name in a, upstream of the sum.
TEST_F(ReproducerTest, APartDoesNotBeginAtItsOwnEnd) {
  const auto net = [](const std::string& sum) {
    return "g (float[1,2,6,6] x) => (float[1,2,6,6] y) <float[2,2,3,3] w, float[2,2,3,3] u, float[2] s, float[2] t, float[2] mean, "
           "float[2] var> {"
           " r = Relu (x)  c = Conv <pads = [1,1,1,1]> (r, w)  n = BatchNormalization (c, s, t, mean, var) " +
           sum + " y = Conv <pads = [1,1,1,1]> (d, u) }";
  };
  const auto made = reproduce(net("a = Add (n, r)  d = Relu (a)"), net("d = Relu (n)"));
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made[0].differs) << made[0].reason;
}

/// The Transposes of both models have one name and other values: the fault is upstream of them, though the product is named.
TEST_F(ReproducerTest, ValuesUnderOldNamesAreWithinTheParts) {
  const auto net = [](const std::string& halved) {
    return "g (float[2,4] x) => (float[4,4] y) <float[4,4] w, float[2,4] v, float s = {1.4}, float half = {0.5}> {"
           " a = MatMul (x, w)  d = Div (a, s)  e = Erf (d)  t = Add (e, s)  m = Mul (a, t) " +
           halved + " z = MatMul (q, v)  y = Tanh (z) }";
  };
  const auto made = reproduce(net("n = Mul (m, half)  q = Transpose <perm = [1,0]> (n)"), net("q = Transpose <perm = [1,0]> (m)"));
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made[0].differs) << made[0].reason;
}

TEST_F(ReproducerTest, ANodeForWhichBDoesNotRun) {
  const auto net = [](const std::string& axis) {
    return "g (float[N,4] x) => (float[2,M] y) <float[4,4] w, int64[2] d = {2,-1}> { a = MatMul (x, w)  b = Relu (a)  c = Concat <axis = " +
           axis + "> (a, b)  e = Reshape (c, d)  y = Tanh (e) }";
  };
  const auto made = reproduce(net("0"), net("1"));
  ASSERT_FALSE(made.empty());
  EXPECT_EQ(made[0].op_type, "Concat");
  EXPECT_TRUE(made[0].differs) << made[0].reason;
}

/// The files differ in the operator's rounding, too, which alone is no fault of numbers: results of the least dims still differ.
TEST_F(ReproducerTest, ResultsOfTheLeastDimsDiffer) {
  const auto net = [](const std::string& activation) {
    return "g (float16[2,4] x) => (float16[2,4] y) <float16[4] s> { a = Mul (x, s)  b = " + activation + " (a)  y = Tanh (b) }";
  };
  const auto made = reproduce(net("Relu"), net("Elu"));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_TRUE(made[0].differs) << made[0].reason;
  const VerifyResult again = verify(folder_ / "repro" / "1" / "a.onnx", folder_ / "repro" / "1" / "b.onnx", [&] {
    VerifyOptions options;
    options.inputs["a"] = folder_ / "repro" / "1" / "test_data_set_0" / "input_0.pb";
    return options;
  }());
  ASSERT_EQ(again.outputs.size(), 1U);
  EXPECT_EQ(again.outputs[0].outcome, Outcome::different);
}

TEST_F(ReproducerTest, PartsOfConstantsAlone) {
  const auto net = [](const std::string& operands) {
    return "g (float[2,4] x) => (float[N,M] y) <int64[2] s = {4,3}, int64[2] t = {2,1}> { a = Relu (x)  d = Sub (" + operands +
           ")  z = ConstantOfShape (d)  y = Concat <axis = 1> (a, z) }";
  };
  const auto made = reproduce(net("s, t"), net("t, s"));
  ASSERT_FALSE(made.empty());
  EXPECT_EQ(made[0].op_type, "Sub");
  EXPECT_TRUE(made[0].differs) << made[0].reason;
}

/// ONNX Runtime reflects no more values than there are.
TEST_F(ReproducerTest, WhatIsReflectedKeepsItsDims) {
  const auto net = [](const std::string& pads) {
    return "g (float[2,8] x) => (float[N,M] y) <int64[4] p = {" + pads +
           "}> { a = Relu (x)  b = Pad <mode = \"reflect\"> (a, p)  y = Tanh (b) }";
  };
  const auto made = reproduce(net("0,2,0,1"), net("0,1,0,2"));
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made[0].differs) << made[0].reason;
  EXPECT_EQ(part("a.onnx")->graph().inputs()[0]->declared()->dims, (Dims{2, 8}));
}

/// A value of other dims is judged by its readers: those are named, and differ with what is upstream of it alone.
TEST_F(ReproducerTest, PartsReachUpstreamUntilTheyDiffer) {
  const auto net = [](const std::string& pads) {
    return "g (float[2,8] x) => (float[N,M] y) <int64[4] p = {" + pads +
           "}, float s = {0.01}, uint8 z = {128}> { a = Relu (x)  b = Pad (a, p)  q = QuantizeLinear (b, s, z)  d = DequantizeLinear (q, "
           "s, z)  y = Tanh (d) }";
  };
  const auto made = reproduce(net("0,2,0,1"), net("0,1,0,4"));
  ASSERT_GE(made.size(), 2U);
  for (const Reproducer& one : made) EXPECT_TRUE(one.differs) << one.op_type << ": " << one.reason;
}

TEST_F(ReproducerTest, InputsHaveOneNameInBothParts) {
  const auto made =
      reproduce("g (float[2,4] x) => (float[2,4] y) <float[4,4] w> { a = MatMul (x, w)  b = LeakyRelu <alpha = 0.1> (a)  y = Tanh (b) }",
                "g (float[2,4] x) => (float[2,4] y) <float[4,4] w> { k = MatMul (x, w)  b = LeakyRelu <alpha = 0.3> (k)  y = Tanh (b) }");
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made[0].differs) << made[0].reason;
  EXPECT_EQ(made[0].nodes_b, 1);
  EXPECT_EQ(part("b.onnx")->graph().inputs()[0]->name(), part("a.onnx")->graph().inputs()[0]->name());
  EXPECT_THAT(readme(), HasSubstr("Input 'a' of b.onnx is 'k' in the whole"));
}

TEST_F(ReproducerTest, NothingIsWrittenForModelsThatAgree) {
  EXPECT_THAT(reproduce(net("0.1"), net("0.1")), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "repro"));
}

}  // namespace
}  // namespace relayout::test
