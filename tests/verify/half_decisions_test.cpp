// Tests that decisions which a conversion to 16 bits makes by rounded operands are no differences, and that faults beside them are.
#include <gmock/gmock.h>

#include <cmath>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"
#include "verified.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/fed_values.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::TextModel;

TextModel text(const std::string& body) {
  return {body, R"(<ir_version: 10, opset_import: ["" : 21]>)"};
}

/// The model in f16, as convert makes it.
TextModel in_half(const TextModel& before, const std::vector<std::string>& passes = {"precision"}) {
  PassOptions options;
  options.precision = DataType::float16;
  const auto result = test::run(passes, before, options);
  onnx::ModelProto message;
  message.ParseFromString(result.bytes);
  TextModel out = before;
  return out.edit([&](onnx::ModelProto& model) { model = message; });
}

VerifyResult verified_in_half(const TextModel& a, const TextModel& b, VerifyOptions options = {}) {
  const Folder folder;
  options.threads = 1;
  options.precision = DataType::float16;
  return verify(folder.write("a.onnx", a.bytes()), folder.write("b.onnx", b.bytes()), options);
}

struct Case {
  std::string outputs, nodes;
  std::function<void(onnx::ModelProto&)> fault;
};

onnx::NodeProto& node_of(onnx::ModelProto& model, const std::string& op) {
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == op) return node;
  }
  throw std::runtime_error("no node " + op);
}

std::function<void(onnx::ModelProto&)> renamed(const std::string& op, const std::string& other) {
  return [=](onnx::ModelProto& model) { node_of(model, op).set_op_type(other); };
}

/// A threshold that is off by some percent.
void other_threshold(onnx::ModelProto& model) {
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "t") tensor.set_raw_data(std::string("\x00\x35", 2));  // 0.3125 in f16
  }
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"bool[1,4,64,96] z", "z = Greater (v, t)", renamed("Greater", "Less")},
      {"bool[1,4,64,96] z", "z = Greater (v, t)", other_threshold},
      {"bool[1,4,64,96] z", "g = GreaterOrEqual (v, t)  z = Not (g)", other_threshold},
      {"float[1,4,64,96] z", "g = Greater (v, t)  n = Not (g)  f = Cast <to = 1> (n)  z = Mul (v, f)", other_threshold},
      {"bool[1,4,64,96] z", "u = Mul (v, s)  w = Relu (v)  z = Less (u, w)", renamed("Less", "Greater")},
      {"int64[1,1,64,96] z", "z = ArgMax <axis = 1> (v)", renamed("ArgMax", "ArgMin")},
      {"float[1,2,64,96] q, int64[1,2,64,96] z", "q, z = TopK <axis = 1> (v, two)",
       [](onnx::ModelProto& model) {
         auto& attribute = *node_of(model, "TopK").add_attribute();
         attribute.set_name("largest"), attribute.set_type(onnx::AttributeProto::INT), attribute.set_i(0);
       }},
      {"float[1,4,64,96] z", "w = Mul (v, ten)  z = Floor (w)", renamed("Floor", "Ceil")},
      {"float[1,4,64,96] z", "w = Mul (v, ten)  z = Round (w)", renamed("Round", "Floor")},
      {"int32[1,4,64,96] z", "w = Mul (v, ten)  z = Cast <to = 6> (w)", nullptr},
      {"float[1,4,64,96] z", "g = GreaterOrEqual (v, t)  z = Where (g, v, t)", other_threshold},
      {"bool[1,4,64,96] z", "w = Relu (v)  z = Cast <to = 9> (w)", renamed("Relu", "Neg")},
  };
  return kCases;
}

TEST(HalfDecisions, ByRoundedOperandsAreNoDifferenceAndFaultsAre) {
  for (const Case& one : cases()) {
    for (const std::string& v : std::vector<std::string>{"v = Conv <pads = [1, 1, 1, 1]> (x, W, b)",
                                                         "c = Conv <pads = [1, 1, 1, 1]> (x, W)  r = Relu (c)  v = Add (r, a)"}) {
      for (const std::string& also : std::vector<std::string>{"", ", float[1,4,64,96] v"}) {
        SCOPED_TRACE(v + "  " + one.nodes + also);
        const TextModel a = text("g (float[1,3,64,96] x) => (" + one.outputs + also +
                                 ") <float[4,3,3,3] W, float[4] b, float[1,4,1,1] a, float t = {0.3}, float s = {0.37}, float ten = {10}, "
                                 "int64[1] two = {2}> { " +
                                 v + "  " + one.nodes + " }");
        TextModel b = in_half(a);
        const VerifyResult right = verified_in_half(a, b);
        EXPECT_NE(right.outcome, Outcome::different) << summary(right);
        if (!one.fault) continue;
        const VerifyResult wrong = verified_in_half(a, b.edit(one.fault));
        EXPECT_EQ(wrong.outcome, Outcome::different) << summary(wrong);
      }
    }
  }
}

TEST(HalfDecisions, StepsFinerThanTheTypeAreSeveralApart) {
  const auto made = [](const std::string& scale) {
    return text("g (float[1,64] x) => (float[1,8] y) <float[64,8] W, float s = {" + scale +
                "}, int64 zw = {32768}> { z = Cast <to = 4> (zw)  m = MatMul (x, W)  t = Tanh (m)  q = QuantizeLinear (t, s, z)  y = "
                "DequantizeLinear (q, s, z) }");
  };
  const VerifyResult right = verified_in_half(made("0.00004"), in_half(made("0.00004")));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  const VerifyResult wrong = verified_in_half(made("0.00004"), in_half(made("0.0000408")));
  EXPECT_NE(wrong.outcome, Outcome::same) << summary(wrong);
}

/// A product in a branch of an If that no sample enters: the largest of 64 normal numbers would have to be 100.
std::string branched(const std::string& inner) {
  return "g (float[1,64] x) => (float[1,8] y) <float[64,8] W, float[8,8] V, float[8] b, float far = {100}> { m = MatMul (x, W)  top = "
         "ReduceMax <keepdims = 0> (x)  k = Greater (top, far)  y = If (k) <then_branch = t () => (float[1,8] p) { " +
         inner + " }, else_branch = e () => (float[1,8] q) { q = Relu (m) }> }";
}

TEST(HalfDecisions, AGraphThatNoSampleEntersIsThatOfAInOtherTypes) {
  const std::string nested =
      "n = Neg (m)  p = If (k) <then_branch = tt () => (float[1,8] pp) { pp = MatMul (n, V) }, else_branch = ee () => (float[1,8] qq) { qq "
      "= "
      "Mul (n, n) }>";
  for (const std::string& inner :
       std::vector<std::string>{"n = MatMul (m, V)  p = Add (n, b)", "p = Identity (m)", "e = Exp (m)  n = MatMul (e, V)  p = Relu (n)",
                                "n = Add (m, b)  o = MatMul (n, V)  r = Relu (o)  p = MatMul (r, V)", nested}) {
    SCOPED_TRACE(inner);
    const TextModel a = text(branched(inner));
    const VerifyResult right = verified_in_half(a, in_half(a));
    EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  }
}

TEST(HalfDecisions, AFaultInAGraphThatNoSampleEntersIsDoubted) {
  const TextModel a = text(branched("n = MatMul (m, V)  o = Add (n, b)  p = Relu (o)"));
  const auto in_branch = [](onnx::ModelProto& model) -> onnx::GraphProto& {
    auto& attributes = *node_of(model, "If").mutable_attribute();
    for (auto& attribute : attributes) {
      if (attribute.name() == "then_branch") return *attribute.mutable_g();
    }
    throw std::runtime_error("no branch");
  };
  const auto edit = [&](const std::string& op, const std::function<void(onnx::NodeProto&)>& change) {
    return in_half(a).edit([&](onnx::ModelProto& model) {
      for (auto& node : *in_branch(model).mutable_node()) {
        if (node.op_type() == op) change(node);
      }
    });
  };
  const std::vector<TextModel> wrong{
      edit("Relu", [](onnx::NodeProto& node) { node.set_op_type("Neg"); }),
      edit("MatMul", [](onnx::NodeProto& node) { node.set_input(1, "b"), node.set_op_type("Add"); }),
      edit("Add", [](onnx::NodeProto& node) { node.set_input(1, node.input(0)); }),
  };
  for (const TextModel& b : wrong) {
    const VerifyResult result = verified_in_half(a, b);
    EXPECT_NE(result.outcome, Outcome::same) << summary(result);
  }
}

TEST(HalfDecisions, NumbersBelowTheSmallestNormalOneAreRoundedToItsSteps) {
  const TextModel a = text(
      "g (float[4,64] x) => (float[4,8] y) <float[64,8] W, float small = {-18}> { m = MatMul (x, W)  t = Tanh (m)  s = Add (t, small)  y = "
      "Sigmoid (s) }");
  const VerifyResult result = verified_in_half(a, in_half(a));
  EXPECT_NE(result.outcome, Outcome::different) << summary(result);
}

/// A scale and a shift in front of a product with a summand: folded, they leave other values under the names between.
TextModel shifted_product() {
  return text(
      "g (float[4,16] x) => (float[4,16] y) <float[16,16] W, float[16,16] V, float[16] s, float[16] t, float[16] c> { e = Tanh (x)  d = "
      "Mul "
      "(e, s)  a = Add (d, t)  i = Identity (a)  m = MatMul (i, W)  p = Add (m, c)  q = Identity (p)  y = MatMul (q, V) }");
}

TEST(HalfDecisions, AFoldedScaleAndShiftLeaveOtherValuesUnderOldNames) {
  const TextModel a = shifted_product(), b = in_half(a, {"fold-affine", "precision"});
  const VerifyResult right = verified_in_half(a, b);
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
}

TEST(HalfDecisions, AFaultInAFoldedSummandIsFound) {
  const TextModel a = shifted_product();
  const TextModel b = in_half(a, {"fold-affine", "precision"}).edit([](onnx::ModelProto& model) {
    for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
      if (tensor.name() == "c") tensor.set_raw_data(std::string(tensor.raw_data().size(), '\x38'));  // 0.527 in f16
    }
  });
  const VerifyResult wrong = verified_in_half(a, b);
  EXPECT_EQ(wrong.outcome, Outcome::different) << summary(wrong);
}

TEST(Budget, WhatIsLeftOutIsSaidAndDoubted) {
  const TextModel a = shifted_product(), b = in_half(a);
  VerifyOptions options;
  options.budget = 1e-6;
  const VerifyResult hasty = verified_in_half(a, b, options);
  EXPECT_EQ(hasty.outcome, Outcome::inconclusive) << summary(hasty);
  EXPECT_THAT(hasty.left_out, ::testing::Contains("nodes over the second sample"));
  EXPECT_THAT(hasty.reason, ::testing::HasSubstr("nodes over the second sample"));
  ASSERT_EQ(hasty.doubts.size(), 1U);
  EXPECT_EQ(hasty.doubts.front().name, "out-of-budget");
  options.budget.reset();
  options.thorough = true;
  const VerifyResult thorough = verified_in_half(a, b, options);
  EXPECT_EQ(thorough.outcome, Outcome::same) << summary(thorough);
  EXPECT_THAT(thorough.left_out, ::testing::IsEmpty());
}

/// Moved from value to value, squares would grow beyond all numbers.
TEST(ValuesBeside, AreBesideThoseOfTheSample) {
  const TextModel model = text(
      "g (float[4,64] x) => (float[4,64] y) { a = Sign (x)  b = Mul (a, a)  c = Mul (b, b)  d = Mul (c, c)  e = Mul (d, d)  f = Mul (e, e) "
      " "
      "y = Mul (f, f) }");
  Side a{"a", Model::from_bytes(model.bytes(), "a", {}), {}}, b{"b", Model::from_bytes(model.bytes(), "b", {}), {}};
  const VerifyOptions options;
  Tensor x(DataType::float32, {4, 64});
  for (int64_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] = i % 3 == 0 ? -2.0F : 3.0F;
  double largest = 0;
  LayerTask task;
  task.a = &a;
  task.b = &b;
  task.options = &options;
  task.feeding = Feeding::shaken;
  task.inputs = [&] { return Inputs{{"x", Datum(x)}}; };
  task.watch = [&](const Value& value, const Datum& datum) {
    if (value.name() != "f") return;
    for (int64_t i = 0; i < datum.tensor.element_count(); ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(datum.tensor.data<float>()[i])));
    }
  };
  for (const LayerResult& layer : compare_layers(task, nullptr)) EXPECT_EQ(layer.outcome, Outcome::same) << layer.node;
  EXPECT_GT(largest, 1);
  EXPECT_LT(largest, 2);
}

/// The power of 64 complex products of each row, and what is made of it; with the products in f16 on request.
TextModel power(const std::string& made_of_it, bool in_half) {
  const std::string products = in_half ? "h = Cast <to = 10> (x)  F = Cast <to = 10> (W)  G = Cast <to = 10> (V)  rh = MatMul (h, F)  ih = "
                                         "MatMul (h, G)  re = Cast <to = 1> (rh)  im = Cast <to = 1> (ih)  "
                                       : "re = MatMul (x, W)  im = MatMul (x, V)  ";
  return text("g (float[1024,16] x) => (float[M,N] y) <float[16,64] W, float[16,64] V, float e = {0.00001}> { " + products +
              "a = Mul (re, re)  b = Mul (im, im)  p = Add (a, b)  u = Add (p, e)  y = " + made_of_it + " }");
}

// The smallest powers, which decide the reciprocals, are left with the rounding errors of large products. Smaller inputs, at which e
// prevails, say nothing about them.
TEST(HalfDecisions, AWideFloorOfUsualSamplesIsNotAcquittedBySmallerInputs) {
  const VerifyResult result = verified_in_half(power("Reciprocal (u)", false), power("Reciprocal (u)", true));
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_THAT(result.doubts, ::testing::Contains(::testing::Field(&Doubt::name, "wide-floor")));
  for (const char* const harmless : {"Sqrt (u)", "Log (u)", "Identity (u)"}) {
    const VerifyResult same = verified_in_half(power(harmless, false), power(harmless, true));
    EXPECT_EQ(same.outcome, Outcome::same) << harmless << '\n' << summary(same);
  }
}

}  // namespace
}  // namespace relayout
