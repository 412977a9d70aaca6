#include "ops/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using ::testing::ElementsAre;

/// A model whose nodes compute constants; x is a run-time input.
class ConstantsTest : public ::testing::Test {
 protected:
  void parse(const std::string& body, const std::string& listed = "float[2,3] w = {1, 2, 3, 4, 5, 6}", const std::string& more = "") {
    model_ = TextModel("g (float[2,3] x" + more + ") => (y) <" + listed + "> { y = Relu (x)  " + body + " }").load();
  }
  const Value& value(const std::string& name) { return *model_->graph().find(name); }
  std::optional<Reason> reason(const std::string& name) {
    const auto found = constants_.find(value(name));
    const auto* const reason = std::get_if<Reason>(&found);
    return reason != nullptr ? std::optional(*reason) : std::nullopt;
  }
  template <class T>
  std::vector<T> contents(const std::string& name) {
    const auto tensor = constants_.value(value(name));
    if (!tensor) return {};
    const Tensor dense = contiguous(*tensor);
    return {dense.data<T>(), dense.data<T>() + dense.element_count()};
  }

  std::unique_ptr<Model> model_;
  Constants constants_;
};

TEST_F(ConstantsTest, InitializersAreNotRead) {
  parse("c = Identity (w)");
  const auto found = constants_.find(value("w"));
  const auto& constant = std::get<Constant>(found);
  EXPECT_EQ(constant.initializer, value("w").initializer());
  EXPECT_THAT(constant.dims, ElementsAre(2, 3));
  const auto downstream = constants_.find(value("c"));
  EXPECT_EQ(std::get<Constant>(downstream).initializer, nullptr) << "a node is between";
  EXPECT_THAT(contents<float>("c"), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(ConstantsTest, TransposeIsAPermutation) {
  parse("c = Transpose (w)  d = Transpose <perm = [1, 0]> (c)");
  const auto found = constants_.find(value("c"));
  EXPECT_THAT(std::get<Constant>(found).data.permutation(), ElementsAre(1, 0));
  EXPECT_THAT(contents<float>("c"), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(contents<float>("d"), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(ConstantsTest, F34EveryFormOfConstant) {
  parse(R"(a = Constant <value = float[2] {1, 2}> ()  b = Constant <value_float = 3.0> ()  c = Constant <value_floats = [4.0, 5.0]> ()
           d = Constant <value_int = 6> ()  e = Constant <value_ints = [7, 8]> ()  f = Constant <value_string = "s"> ()  g = Constant <value_strings = ["t", "u"]> ())");
  EXPECT_THAT(contents<float>("a"), ElementsAre(1, 2));
  EXPECT_THAT(contents<float>("b"), ElementsAre(3));
  EXPECT_THAT(contents<float>("c"), ElementsAre(4, 5));
  EXPECT_THAT(contents<int64_t>("d"), ElementsAre(6));
  EXPECT_THAT(contents<int64_t>("e"), ElementsAre(7, 8));
  EXPECT_THAT(contents<std::string>("f"), ElementsAre("s"));
  EXPECT_THAT(contents<std::string>("g"), ElementsAre("t", "u"));
  EXPECT_TRUE(constants_.value(value("b"))->dims().empty());
}

TEST_F(ConstantsTest, F36CastLikeNeedsTheTypeOnly) {
  parse("k = Constant <value_ints = [1, 2]> ()  r = Neg (x)  c = CastLike (k, r)");
  EXPECT_EQ(reason("r"), Reason::not_constant);
  EXPECT_THAT(contents<float>("c"), ElementsAre(1, 2));
}

TEST_F(ConstantsTest, F40ShapeNeedsTheDimsOnly) {
  parse("s = Shape <start = 1> (w)  n = Size (w)");
  EXPECT_THAT(contents<int64_t>("s"), ElementsAre(3));
  EXPECT_THAT(contents<int64_t>("n"), ElementsAre(6));
}

TEST_F(ConstantsTest, EyeLikeReadsDimsOnly) {
  parse("e = EyeLike <dtype = 7> (x)");
  EXPECT_THAT(contents<int64_t>("e"), ElementsAre(1, 0, 0, 0, 1, 0));
}

TEST_F(ConstantsTest, F40ShapesFollowFromTheInputsThatTheGraphDeclares) {
  parse("r = Relu (x)  t = MatMul (r, v)  a = Shape (x)  b = Shape (t)  c = Gather (b, one)",
        "float[3,5] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, int64 one = {1}");
  EXPECT_THAT(contents<int64_t>("a"), ElementsAre(2, 3));
  EXPECT_THAT(contents<int64_t>("b"), ElementsAre(2, 5));
  EXPECT_THAT(contents<int64_t>("c"), ElementsAre(5));
}

TEST_F(ConstantsTest, ShapesFollowThroughOperatorsOfSeveralActivations) {
  parse("r = Relu (x)  p = Concat <axis = 1> (x, r, u)  q = Add (r, u)  a = Shape (p)  b = Shape (q)", "", ", float[2,3] u");
  EXPECT_THAT(contents<int64_t>("a"), ElementsAre(2, 9));
  EXPECT_THAT(contents<int64_t>("b"), ElementsAre(2, 3));
}

TEST_F(ConstantsTest, F40ShapesThatMayDifferAtRunTimeAreNotConstant) {
  parse("a = Shape (z)  n = NonZero (x)  b = Shape (n)  p = Add (z, u)  c = Shape (p)  l = Reshape (x, to)  d = Shape (l)", "",
        ", float[N,3] z, float[N,3] u, int64[1] to");
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(reason(name), Reason::not_constant) << name;
  // value_info is not binding.
  model_ = TextModel("g (float[N,3] x) => (y) <float[2,3] r> { y = Relu (x)  r = Neg (x)  s = Shape (r) }").load();
  constants_.clear();
  EXPECT_EQ(reason("s"), Reason::not_constant);
}

/// A convolution whose batch and image are free: [N, 4, ?, ?].
const char* const kFreeInputs = ", float[N,3,H,L] z";
const std::string kFreeListed =
    "float[4,3,3,3] k, int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] second = {1}, int64[1] third = {2}, "
    "int64[1] fourth = {3}, int64[1] least = {-3}, int64[1] before_last = {-2}, int64[1] down = {-1}, int64[1] far = {-9}, float half = "
    "{0.5}";

TEST_F(ConstantsTest, ChannelsOfAFreeBatchAreCertain) {
  parse(
      "c = Conv (z, k)  s = Shape (c)  part = Slice (s, second, third)  negative = Slice (s, least, before_last)"
      "  backwards = Slice (s, second, far, first, down)  reversed = Slice (backwards, first, second)"
      "  channel = Gather (s, one)  row = Gather (s, second)  vector = Unsqueeze (channel, first)  scalar = Squeeze (part)"
      "  both = Concat <axis = 0> (vector, part)  as_float = Cast <to = 1> (s)  scaled = Mul (as_float, half)  back = Cast <to = 7> "
      "(scaled)"
      "  halved = Gather (back, one)  attribute = Shape <start = 1, end = 2> (c)  a, b, rest = Split <axis = 0> (s, lengths)"
      "  filled = ConstantOfShape (part)  grown = Expand (half, both)",
      kFreeListed + ", int64[3] lengths = {1, 1, 2}", kFreeInputs);
  for (const char* name : {"part", "negative", "channel", "row", "vector", "scalar", "attribute", "b", "reversed"}) {
    EXPECT_THAT(contents<int64_t>(name), ElementsAre(4)) << name;
  }
  EXPECT_THAT(contents<int64_t>("both"), ElementsAre(4, 4));
  EXPECT_THAT(contents<int64_t>("halved"), ElementsAre(2));
  EXPECT_THAT(contents<float>("filled"), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(contents<float>("grown").size(), 16U);
}

TEST_F(ConstantsTest, ValuesThatDependOnAFreeDimAreNotConstant) {
  parse(
      "c = Conv (z, k)  s = Shape (c)  leading = Slice (s, first, third)  trailing = Slice (s, second, fourth)  batch = Gather (s, zero)"
      "  half_known = Concat <axis = 0> (second, leading)  a, rest = Split <axis = 0> (s, lengths)  sum = Add (s, second)  n = Size (c)"
      "  where = Where (picked, s, second)  filled = ConstantOfShape (leading)  chosen = Gather (lengths, batch)  last = Shape <start = "
      "-1> "
      "(c)",
      kFreeListed + ", int64[2] lengths = {1, 3}, bool[4] picked = {1, 0, 0, 0}", kFreeInputs);
  for (const char* name :
       {"s", "leading", "trailing", "batch", "half_known", "a", "rest", "sum", "n", "where", "filled", "chosen", "last"}) {
    EXPECT_EQ(reason(name), Reason::not_constant) << name;
  }
}

TEST_F(ConstantsTest, CertainElementsPassThoseThatAreNot) {
  parse(
      "c = Conv (z, k)  s = Shape (c)  sum = Add (s, second)  channel = Gather (sum, one)  where = Where (picked, s, second)"
      "  chosen = Gather (where, fourth)  wanted = Concat <axis = 0> (first, second, down)  r = Reshape (c, request)  t = Shape (r)"
      "  groups = Gather (t, second)  request = Concat <axis = 0> (batch, two, two, down)  batch = Slice (s, first, second)",
      kFreeListed + ", int64[1] two = {2}, bool[4] picked = {1, 1, 1, 0}", kFreeInputs);
  EXPECT_THAT(contents<int64_t>("channel"), ElementsAre(5));
  EXPECT_THAT(contents<int64_t>("chosen"), ElementsAre(1));
  EXPECT_THAT(contents<int64_t>("groups"), ElementsAre(2));
  EXPECT_EQ(constants_.dims(value("r")), std::optional(Dims{-1, 2, 2, -1}));
}

TEST_F(ConstantsTest, ShapesFollowOneAnotherWithoutRecursion) {
  // Each Reshape takes the dims of the previous one's result; queried from the end.
  constexpr int kMany = 20'000;
  std::string body = "r0 = Relu (z)  ";
  for (int i = 0; i < kMany; ++i) {
    const std::string at = std::to_string(i), next = std::to_string(i + 1);
    body += "s" + at + " = Shape (r" + at + ")  r" + next + " = Reshape (r" + at + ", s" + at + ")  ";
  }
  parse(body + "s = Shape (r" + std::to_string(kMany) + ")  part = Slice (s, second, third)", kFreeListed, kFreeInputs);
  EXPECT_THAT(contents<int64_t>("part"), ElementsAre(3));
}

TEST_F(ConstantsTest, F41ChainsAreEvaluated) {
  parse("a = Mul (w, w)  b = Sqrt (a)  c = Sub (b, w)  p, q = Split <axis = 1> (w, n)",
        "float[2,3] w = {1, 2, 3, 4, 5, 6}, int64[2] n = {1, 2}");
  EXPECT_THAT(contents<float>("c"), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(contents<float>("q"), ElementsAre(2, 3, 5, 6));
}

TEST_F(ConstantsTest, F42NonConstantSources) {
  parse("a = Add (w, x)  r = RandomNormal <shape = [2], seed = 1.0> ()");
  EXPECT_EQ(reason("x"), Reason::not_constant);
  EXPECT_EQ(reason("a"), Reason::not_constant);
  EXPECT_EQ(reason("r"), Reason::not_constant);
}

TEST_F(ConstantsTest, F44OverridableIsPassedOn) {
  parse("a = Identity (w)  b = Neg (a)", "float[2,3] w = {1, 2, 3, 4, 5, 6}", ", float[2,3] w");
  for (const char* const name : {"w", "a", "b"}) EXPECT_EQ(reason(name), Reason::overridable) << name;
}

TEST_F(ConstantsTest, F47QuantizedStaysQuantized) {
  parse("d = DequantizeLinear (q, s)", "int8[2] q = {1, 2}, float s = {0.5}");
  EXPECT_EQ(reason("d"), Reason::quantized);
}

TEST_F(ConstantsTest, BudgetCountsOperandsAndResults) {
  parse("n = Constant <value_ints = [4096, 4096]> ()  k = Constant <value_float = 1.0> ()  big = Expand (k, n)  small = Neg (w)");
  constants_ = Constants({.budget = 1 << 20});
  EXPECT_EQ(reason("big"), Reason::too_large);
  EXPECT_EQ(reason("small"), std::nullopt);
}

TEST_F(ConstantsTest, OperandsThatDoNotFitAreNoConstant) {
  parse("a = Reshape (w, n)  b = Add (w, v)", "float[2,3] w = {1, 2, 3, 4, 5, 6}, int64[1] n = {4}, float[2] v = {1, 2}");
  EXPECT_EQ(reason("a"), Reason::not_constant);
  EXPECT_EQ(reason("b"), Reason::not_constant);
}

TEST_F(ConstantsTest, TypesFollowWithoutShapes) {
  parse(
      "a = Cast <to = 10> (x)  b = Neg (a)  c = Shape (b)  d = Equal (x, x)  e = CastLike (x, b)  f = Where (d, b, b)  h = Constant "
      "<value_ints = [1]> ()");
  EXPECT_EQ(constants_.type_of(value("x")), DataType::float32);
  EXPECT_EQ(constants_.type_of(value("b")), DataType::float16);
  EXPECT_EQ(constants_.type_of(value("c")), DataType::int64);
  EXPECT_EQ(constants_.type_of(value("d")), DataType::boolean);
  EXPECT_EQ(constants_.type_of(value("e")), DataType::float16);
  EXPECT_EQ(constants_.type_of(value("f")), DataType::float16);
  EXPECT_EQ(constants_.type_of(value("h")), DataType::int64);
}

TEST_F(ConstantsTest, ForgetsChangedValues) {
  parse("c = Neg (w)");
  EXPECT_THAT(contents<float>("w"), ElementsAre(1, 2, 3, 4, 5, 6));
  Initializer& w = *model_->graph().find("w")->initializer();
  model_->graph().set_data(w, TensorData(DataType::float32, {1}, Bytes::owned(std::string(4, '\0'))));
  constants_.forget(value("w"));
  EXPECT_THAT(contents<float>("w"), ElementsAre(0));
}

TEST_F(ConstantsTest, B48SparseIndicesAreChecked) {
  for (const auto& [first, second] : {std::pair{5, 1}, {0, 0}, {0, 6}, {-1, 2}}) {
    TextModel text("g (float[1] x) => (float[1] y) { y = Relu (x) }");
    text.edit([&](onnx::ModelProto& message) {
      auto& sparse = *message.mutable_graph()->add_sparse_initializer();
      sparse.add_dims(2);
      sparse.add_dims(3);
      sparse.mutable_values()->set_name("s");
      sparse.mutable_values()->set_data_type(1);
      sparse.mutable_values()->add_dims(2);
      sparse.mutable_values()->add_float_data(1);
      sparse.mutable_values()->add_float_data(2);
      sparse.mutable_indices()->set_data_type(7);
      sparse.mutable_indices()->add_dims(2);
      sparse.mutable_indices()->add_int64_data(first);
      sparse.mutable_indices()->add_int64_data(second);
    });
    EXPECT_THROW(
        {
          const auto model = text.load();
          Constants constants;
          static_cast<void>(constants.find(*model->graph().find("s")));
        },
        Error)
        << first << " " << second;
  }
}

}  // namespace
}  // namespace relayout::test
