// Tests sharing, visibility, scopes, and numbers that must not be computed.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

const char* const kBody = "c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)";

/// x [1,4,5,5], W and V [4,4,3,3], B [4], parameters twice.
TextModel two(const std::string& outputs, const std::string& body) {
  return "g (float[1,4,5,5] x) => (" + outputs + ") <float[4,4,3,3] W, float[4,4,3,3] V, float[4] B, " + parameters(4) + ", " +
         parameters(4, "2") + "> {" + body + "}";
}
const std::string kY = "float[1,4,3,3] y";
const std::string kYZ = "float[1,4,3,3] y, float[1,4,3,3] z";

TEST(FoldBatchNormSharing, F49ConvOutputShared) {
  const auto result = expect_skip(kFoldBatchNorm, two(kYZ, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  z = Relu (c)"),
                                  Reason::operator_output_shared);
  EXPECT_THAT(result.details(), HasSubstr("Relu"));
}

TEST(FoldBatchNormSharing, F50ConvOutputIsGraphOutput) {
  expect_skip(kFoldBatchNorm, two("float[1,4,3,3] c, " + kY, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)"),
              Reason::operator_output_visible);
}

TEST(FoldBatchNormSharing, F51ConvOutputCaptured) {
  expect_skip(kFoldBatchNorm,
              "g (bool k, float[1,4,5,5] x) => (" + kYZ + ") <float[4,4,3,3] W, " + parameters(4) +
                  R"(> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)
    z = If (k) <then_branch = t () => (float[1,4,3,3] p) { p = Relu (c) }, else_branch = e () => (float[1,4,3,3] q) { q = Abs (x) }> })",
              Reason::operator_output_captured);
}

TEST(FoldBatchNormSharing, F52TwoReadersOfOne) {
  expect_skip(kFoldBatchNorm,
              two(kYZ, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  z = BatchNormalization (c, s2, b2, m2, var2)"),
              Reason::operator_output_shared);
}

TEST(FoldBatchNormSharing, F53OneWeightOneFold) {
  const TextModel before = two(kYZ, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  z = Conv (x, W)");
  const auto result = expect_fold(before, 1);
  EXPECT_EQ(result.initializer("W"), old_values(before, "W"));
  EXPECT_EQ(result.initializer("W.folded").size(), 144U);
}

TEST(FoldBatchNormSharing, F53Siamese) {
  const auto result = expect_fold(two(kYZ,
                                      "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  n = Abs (x)  d = Conv (n, W)  z = "
                                      "BatchNormalization (d, s, b, m, var)"),
                                  2);
  int weights = 0;
  for (const Initializer& initializer : result.model->graph().initializers())
    weights += initializer.data->dims().size() == 4 && !initializer.value->uses().empty() ? 1 : 0;
  EXPECT_EQ(weights, 1) << to_text(*result.model);
}

TEST(FoldBatchNormSharing, F53OneWeightTwoFolds) {
  const auto result = expect_fold(
      two(kYZ, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  d = Conv (x, W)  z = BatchNormalization (d, s2, b2, m2, var2)"),
      2);
  EXPECT_EQ(result.count("Conv"), 2);
}

TEST(FoldBatchNormSharing, F53ConvAndConvTranspose) {
  expect_fold(two("float[1,4,3,3] y, float[1,4,7,7] z",
                  "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  d = ConvTranspose (x, W)  z = BatchNormalization (d, s2, b2, "
                  "m2, var2)"),
              2);
}

TEST(FoldBatchNormSharing, F54OneBias) {
  const TextModel before = two(kYZ, "c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)  z = Conv (x, V, B)");
  EXPECT_EQ(expect_fold(before, 1).initializer("B"), old_values(before, "B"));
}

TEST(FoldBatchNormSharing, F54BiasIsMeanAndShift) {
  expect_fold(two(kY, "c = Conv (x, W, B)  y = BatchNormalization (c, s, B, B, var)"), 1);
}

TEST(FoldBatchNormSharing, F55WeightReadByOthers) {
  const TextModel before =
      two("float[1,4,3,3] y, float[4,4,3,3] z", "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  z = Add (W, V)");
  EXPECT_EQ(expect_fold(before, 1).initializer("W"), old_values(before, "W"));
}

TEST(FoldBatchNormSharing, F55OneParameterSet) {
  const auto result = expect_fold(
      two(kYZ, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  d = Conv (x, V)  z = BatchNormalization (d, s, b, m, var)"), 2);
  EXPECT_EQ(result.model->graph().find("s"), nullptr);
}

TEST(FoldBatchNormSharing, F56InsideABranch) {
  const TextModel before("g (bool k, float[1,4,5,5] x) => (float[1,4,3,3] z) <float[4,4,3,3] W, " + parameters(4) + R"(> {
    z = If (k) <then_branch = t () => (float[1,4,3,3] p) { c = Conv (x, W)  p = BatchNormalization (c, s, b, m, var) },
                else_branch = e () => (float[1,4,3,3] q) { q = Conv (x, W) }> })");
  EXPECT_EQ(expect_fold(before, 1).initializer("W"), old_values(before, "W"));
}

TEST(FoldBatchNormSharing, F56OtherScope) {
  expect_skip(kFoldBatchNorm,
              "g (bool k, float[1,4,5,5] x) => (float[1,4,3,3] z) <float[4,4,3,3] W, " + parameters(4) + R"(> { c = Conv (x, W)
    z = If (k) <then_branch = t () => (float[1,4,3,3] p) { p = BatchNormalization (c, s, b, m, var) }, else_branch = e () => (float[1,4,3,3] q) { q = Neg (x) }> })",
              Reason::other_scope);
}

TEST(FoldBatchNormSharing, F56SiblingsWithTheSameNames) {
  expect_fold("g (bool k, float[1,4,5,5] x) => (float[1,4,3,3] z) <" + parameters(4) + R"(> {
    z = If (k) <then_branch = t () => (float[1,4,3,3] p) <float[4,4,3,3] W> { c = Conv (x, W)  p = BatchNormalization (c, s, b, m, var) },
                else_branch = e () => (float[1,4,3,3] p) <float[4,4,3,3] W> { n = Neg (W)  c = Conv (x, W)  p = BatchNormalization (c, b, s, m, var) }> })",
              2);
}

TEST(FoldBatchNormSharing, F57LoopBody) {
  expect_fold("g (int64 n, bool k, float[1,4,5,5] x) => (float[1,4,5,5] z) <float[4,4,1,1] W, " + parameters(4) + R"(> {
    z = Loop (n, k, x) <body = l (int64 i, bool ki, float[1,4,5,5] a) => (bool ko, float[1,4,5,5] r) { ko = Identity (ki)  c = Conv (a, W)  r = BatchNormalization (c, s, b, m, var) }> })",
              1);
}

TEST(FoldBatchNormSharing, F57LoopState) {
  expect_skip(kFoldBatchNorm, "g (int64 n, bool k, float[1,4,5,5] x) => (float[1,4,5,5] z) <float[4,4,1,1] W, " + parameters(4) + R"(> {
    z, v = Loop (n, k, x, W) <body = l (int64 i, bool ki, float[1,4,5,5] a, float[4,4,1,1] w) => (bool ko, float[1,4,5,5] r, float[4,4,1,1] w2) {
      ko = Identity (ki)  w2 = Neg (w)  c = Conv (a, w)  r = BatchNormalization (c, s, b, m, var) }> })",
              Reason::not_constant);
}

TEST(FoldBatchNormSharing, F58Function) {
  const TextModel before(R"(g (float[1,4,5,5] x) => (float[1,4,1,1] y) { a = local.block (x)  y = local.block (a) }
    <opset_import: ["" : 17], domain: "local"> block (u) => (v) {
      W = Constant <value = float[4,4,3,3] {0.5}> ()
      s = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()
      c = Conv (u, W)
      v = BatchNormalization (c, s, s, s, s) })",
                         R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)");
  const TextModel filled = TextModel(before).edit([](onnx::ModelProto& message) {
    auto& tensor = *message.mutable_functions(0)->mutable_node(0)->mutable_attribute(0)->mutable_t();
    std::string bytes;
    for (int i = 0; i < 144; ++i) {
      const float value = 0.25F * static_cast<float>(i % 7 - 3);
      bytes.append(reinterpret_cast<const char*>(&value), 4);
    }
    tensor.set_raw_data(bytes);
  });
  const auto result = run(kFolds, filled);
  EXPECT_EQ(result.count("BatchNormalization"), 0) << result.details();
  EXPECT_EQ(result.count("Constant"), 2) << to_text(*result.model);
  EXPECT_EQ(result.findings.size(), 1U);
}

TEST(FoldBatchNormSharing, F59ParametersFromTheCallerStay) {
  expect_skip(kFoldBatchNorm,
              TextModel("g (float[1,4,5,5] x) => (float[1,4,3,3] y) <float[4,4,3,3] W, " + parameters(4) +
                            R"(> { y = local.block (x, W, s, b, m, var) }
    <opset_import: ["" : 17], domain: "local"> block (u, w, s, b, m, v) => (o) { c = Conv (u, w)  o = BatchNormalization (c, s, b, m, v) })",
                        R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)"),
              Reason::not_constant);
}

TEST(FoldBatchNormSharing, F61TrainingInfo) {
  expect_skip(kFoldBatchNorm, conv_bn(kBody).edit([](onnx::ModelProto& message) {
    auto& binding = *message.add_training_info()->add_update_binding();
    binding.set_key("W");
    binding.set_value("W_new");
  }),
              Reason::training_info);
}

TEST(FoldBatchNormNumbers, F62NonFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_skip(kFoldBatchNorm, conv_bn(kBody).set("var", {1, -1, 1, 1}), Reason::non_finite);
  // A node in the way to another operator on the other side is not the reason.
  const std::string relu = "c = Conv (x, W, B)  n = BatchNormalization (c, s, b, m, var)  d = Relu (n)  y = Conv (d, V)";
  expect_skip(kFoldBatchNorm, conv_bn(relu, "float[4,4,1,1] V").set("var", {1, -1, 1, 1}), Reason::non_finite);
  const std::string sum = "c = Conv (x, W, B)  n = BatchNormalization (c, s, b, m, var)  e = Conv (x, W)  d = Add (n, e)  y = Conv (d, V)";
  expect_skip(kFoldBatchNorm, conv_bn(sum, "float[4,4,1,1] V").set("s", {1, 3e38F, 1, 1}).set("var", {1, 1e-30F, 1, 1}), Reason::overflow);
  expect_skip(kFoldBatchNorm,
              conv_bn("c = Conv (x, W, B)  y = BatchNormalization <epsilon = 0.0> (c, s, b, m, var)").set("var", {1, 1, 0, 1}),
              Reason::non_finite);
  expect_skip(kFoldBatchNorm, conv_bn(kBody).set("s", {1, nan, 1, 1}), Reason::non_finite);
  expect_skip(kFoldBatchNorm, conv_bn(kBody).set("m", {1, inf, 1, 1}), Reason::non_finite);
  expect_skip(kFoldBatchNorm, conv_bn(kBody).set("B", {1, nan, 1, 1}), Reason::non_finite);
}

std::vector<double> all(std::size_t count, double value) {
  return std::vector<double>(count, value);
}

TEST(FoldBatchNormNumbers, F63Overflow) {
  expect_skip(kFoldBatchNorm,
              conv_bn(kBody).set("W", all(108, 1000)).set("s", {1, 1, 1, 100}).set("var", all(4, 1)).cast(DataType::float16),
              Reason::overflow);
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float32}) {
    const double most = type == DataType::float16 ? 60000 : 3e38;
    expect_skip(kFoldBatchNorm, conv_bn(kBody).set("W", all(108, -most)).set("s", {1, 1, 1, 2}).set("var", all(4, 1)).cast(type),
                Reason::overflow);
  }
  expect_skip(kFoldBatchNorm, conv_bn(kBody).set("W", all(108, 1e30)).set("s", {1, 1, 1e10, 1}).set("var", all(4, 1)), Reason::overflow);
  expect_skip(kFoldBatchNorm,
              conv_bn(kBody)
                  .set("b", {1, 1, 1, 60000})
                  .set("m", {0, 0, 0, -60000})
                  .set("var", all(4, 1))
                  .set("s", all(4, 1))
                  .cast(DataType::float16),
              Reason::overflow);
}

TEST(FoldBatchNormNumbers, F63OneWeightInTheMiddle) {
  std::vector<double> w = all(108, 1);
  w[50] = 3e38;
  expect_skip(kFoldBatchNorm, conv_bn(kBody).set("W", w).set("s", all(4, 1.5)).set("var", all(4, 1)), Reason::overflow);
  expect_fold(conv_bn(kBody).set("W", w).set("s", all(4, 0.5)).set("var", all(4, 1)), 1);
}

TEST(FoldBatchNormNumbers, F63ConvTransposeGroups) {
  std::vector<double> w(48, 0.5);
  w[47] = 3e38;  // input channel 3, so group 1; column 2 of it: output channel 5
  TextModel before("g (float[1,4,3,3] x) => (float[1,6,4,4] y) <float[4,3,2,2] W, float[6] B, " + parameters(6) +
                   "> { c = ConvTranspose <group = 2> (x, W, B)  y = BatchNormalization (c, s, b, m, var) }");
  before.set("W", w).set("var", all(6, 1)).set("s", {1, 1, 1, 1, 1, 2});
  EXPECT_THAT(expect_skip(kFoldBatchNorm, before, Reason::overflow).details(), HasSubstr("channel 5"));
  EXPECT_EQ(run(kFolds, before.set("s", {2, 2, 2, 2, 2, 1})).count("BatchNormalization"), 0);
}

TEST(FoldBatchNormNumbers, F64Underflow) {
  std::vector<double> w = all(108, 1);
  for (std::size_t i = 27; i < 54; ++i) w[i] = 1e-4;
  expect_skip(kFoldBatchNorm, conv_bn(kBody).set("W", w).set("s", {1, 1e-3, 1, 1}).set("var", all(4, 1)).cast(DataType::float16),
              Reason::underflow);
  w[30] = 1;
  expect_fold(conv_bn(kBody).set("W", w).set("s", {1, 1e-3, 1, 1}).set("var", all(4, 1)).cast(DataType::float16), 1);
}

TEST(FoldBatchNormNumbers, F65LargeMeans) {
  const TextModel before = conv_bn(kBody).set("B", {1e4, -1e4, 12345, 1}).set("m", {1e4, -1e4, 12344, 1}).set("var", all(4, 0.1));
  const auto result = run(kFolds, before);
  for (std::size_t c = 0; c < 4; ++c) {
    const double expected = factor_of(before, c) * (old_values(before, "B")[c] - old_values(before, "m")[c]) + old_values(before, "b")[c];
    EXPECT_EQ(result.initializer("B")[c], static_cast<double>(static_cast<float>(expected)));
  }
}

TEST(FoldBatchNormNumbers, F66WrongLengthsAreInvalid) {
  EXPECT_THROW(static_cast<void>(run(kFolds, "g (float[1,4,5,5] x) => (float[1,4,3,3] y) <float[4,4,3,3] W, " + parameters(3) +
                                                 "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var) }")),
               Error);
  EXPECT_THROW(static_cast<void>(run(kFolds,
                                     "g (float[1,4,5,5] x) => (float[1,4,3,3] y) <float[4,4,3,3] W, float[4] s, float[4] b, float[3] m, "
                                     "float[4] var> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var) }")),
               Error);
  EXPECT_THROW(static_cast<void>(run(kFolds, "g (float[1,4,5,5] x) => (float[1,4,3,3] y) <float[4,4,3,3] W, float[3] B, " + parameters(4) +
                                                 "> { c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var) }")),
               Error);
}

// Other operators between the convolution and the BatchNormalization

TEST(FoldBatchNormThrough, F82Identity) {
  const auto result =
      expect_fold(two(kY, "c = Conv (x, W)  i = Identity (c)  d = BatchNormalization (i, s, b, m, var)  y = Identity (d)"), 1);
  EXPECT_EQ(result.count("Identity"), 1);
}

TEST(FoldBatchNormThrough, F83InferenceDropout) {
  const auto model = [](int opset, const std::string& dropout, const std::string& listed = "") {
    return conv_bn("c = Conv (x, W, B)  d = " + dropout + "  y = BatchNormalization (d, s, b, m, var)", listed, head(opset));
  };
  expect_fold(model(7, "Dropout (c)"), 1);
  expect_fold(model(10, "Dropout <ratio = 0.5> (c)"), 1);
  expect_fold(model(12, "Dropout (c)"), 1);
  expect_fold(model(13, "Dropout (c, r, t)", "float r, bool t = {0}"), 1);
}

TEST(FoldBatchNormThrough, F84TrainingDropout) {
  const auto result = expect_skip(
      kFoldBatchNorm,
      conv_bn("c = Conv (x, W, B)  d = Dropout (c, r, t)  y = BatchNormalization (d, s, b, m, var)", "float r, bool t = {1}", head(13)),
      Reason::training_mode);
  expect_skip(kFoldBatchNorm,
              conv_bn("c = Conv (x, W, B)  d = Dropout (c)  y = BatchNormalization <is_test = 1> (d, s, b, m, var)", "", head(6)),
              Reason::training_mode);
}

TEST(FoldBatchNormThrough, F81NoLinearNeighbour) {
  expect_skip(
      kFoldBatchNorm,
      "g (float[1,4,5,5] x) => (float[1,4,5,5] y) <" + parameters(4) + "> { c = BatchNormalization (x, s, b, m, var)  y = Relu (c) }",
      Reason::no_linear_neighbour);
  expect_skip(kFoldBatchNorm,
              "g (float[1,4,5,5] x) => (float[1,4,4,4] y) <" + parameters(4) +
                  "> { c = MaxPool <kernel_shape = [2, 2]> (x)  d = BatchNormalization (c, s, b, m, var)  y = Relu (d) }",
              Reason::no_linear_neighbour);
}

TEST(FoldBatchNormThrough, F74BeforeRelu) {
  expect_skip(kFoldBatchNorm,
              "g (float[1,4,5,5] x) => (float[1,4,3,3] y) <float[4,4,3,3] W, " + parameters(4) +
                  "> { c = BatchNormalization (x, s, b, m, var)  d = Relu (c)  y = Conv (d, W) }",
              Reason::nonlinear_between);
}

TEST(FoldBatchNormThrough, F92Nonlinear) {
  for (const std::string op : {"Relu", "Sigmoid", "Clip"}) {
    const auto result =
        expect_skip(kFoldBatchNorm, conv_bn("c = Conv (x, W, B)  d = " + op + " (c)  y = BatchNormalization (d, s, b, m, var)"),
                    Reason::nonlinear_between);
    EXPECT_THAT(result.details(), HasSubstr(op));
  }
}

TEST(FoldBatchNormThrough, F98UnknownDomain) {
  expect_skip(kFoldBatchNorm,
              conv_bn("c = Conv (x, W, B)  d = other.Thing (c)  y = BatchNormalization (d, s, b, m, var)", "",
                      R"(<ir_version: 8, opset_import: ["" : 17, "other" : 1]>)"),
              Reason::unknown_op_between);
}

TEST(FoldBatchNormForm, F135DynamicDims) {
  expect_fold("g (float[N,3,H,H] x) => (float[N,4,P,Q] y) <float[4,3,3,3] W, " + parameters(4) +
                  "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNormForm, F137ValueInfo) {
  const auto result =
      expect_fold(TextModel("g (float[1,4,5,5] x) => (float[1,4,3,3] z) <float[4,4,3,3] W, float[1,4,3,3] c, float[1,4,3,3] y, " +
                            parameters(4) + "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  z = Relu (y) }"),
                  1);
  ASSERT_EQ(result.model->message().graph().value_info_size(), 1);
  EXPECT_EQ(result.model->message().graph().value_info(0).name(), "y");
}

TEST(FoldBatchNormForm, F138Metadata) {
  const auto result = expect_fold(conv_bn(kBody, "", head(21, 10)).edit([](onnx::ModelProto& message) {
    message.set_doc_string("model");
    auto& node = *message.mutable_graph()->mutable_node(0);
    node.set_name("block/conv");
    node.set_doc_string("convolution");
    auto& entry = *node.add_metadata_props();
    entry.set_key("k");
    entry.set_value("v");
    message.mutable_graph()->mutable_node(1)->set_doc_string("normalization");
  }),
                                  1);
  EXPECT_EQ(result.model->graph().nodes().front().name(), "block/conv");
  const auto& node = result.model->graph().nodes().front().message();
  EXPECT_EQ(node.doc_string(), "convolution");
  ASSERT_EQ(node.metadata_props_size(), 1);
  EXPECT_EQ(result.model->message().doc_string(), "model");
}

TEST(FoldBatchNormForm, F139NamesInFindings) {
  EXPECT_EQ(run(kFolds, conv_bn(kBody)).findings.at(0).node, "y");
  EXPECT_EQ(run(kFolds, conv_bn(kBody).name_nodes()).findings.at(0).node, "BatchNormalization_1");
}

TEST(FoldBatchNormForm, F140NamesAreTaken) {
  TextModel before("g (bool k, float[1,4,5,5] x) => (float[1,4,3,3] z) <float[4,4,3,3] W, " + parameters(4) +
                   R"(> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)
    z = If (k) <then_branch = t () => (float[1,4,3,3] p) { q = Relu (y)  p = Abs (q) }, else_branch = e () => (float[1,4,3,3] r) { r = Abs (y) }> })");
  const auto result = expect_fold(before.rename("q", "W.bias"), 1);
  EXPECT_NE(result.model->graph().find("W.bias_2"), nullptr);
}

TEST(FoldBatchNormForm, F141TwiceIsOnce) {
  // Copies of one weight, their names and biases: the same bytes from the same model, and no work left for a second run.
  const TextModel before =
      two(kYZ, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  d = Conv (x, W)  z = BatchNormalization (d, s2, b2, m2, var2)");
  const PassResult once = run(kFolds, before);
  EXPECT_EQ(once.count("BatchNormalization"), 0);
  EXPECT_TRUE(run(kFolds, before).bytes == once.bytes);
  EXPECT_TRUE(run(kFolds, TextModel::of(once.bytes)).bytes == once.bytes);
}

TEST(FoldBatchNormForm, F142OnlyAndExclude) {
  const TextModel before =
      two(kYZ, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  d = Conv (x, V)  z = BatchNormalization (d, s2, b2, m2, var2)")
          .name_nodes();
  PassOptions options;
  options.exclude = {"*_1"};
  auto result = run(kFolds, before, options);
  EXPECT_EQ(result.count("BatchNormalization"), 1);
  EXPECT_THAT(result.details(), HasSubstr("BatchNormalization_1: skipped excluded"));
  options.exclude.clear();
  options.only = {"BatchNormalization_1"};
  result = run(kFolds, before, options);
  EXPECT_EQ(result.count("BatchNormalization"), 1);
  EXPECT_THAT(result.details(), HasSubstr("BatchNormalization_3: skipped excluded"));
}

TEST(FoldBatchNormForm, F142ExcludedInTheMiddleOfAChain) {
  PassOptions options;
  options.exclude = {"BatchNormalization_1"};
  const TextModel before =
      two(kY, "c = Conv (x, W)  d = BatchNormalization (c, s, b, m, var)  y = BatchNormalization (d, s2, b2, m2, var2)").name_nodes();
  expect_skip(kFoldBatchNorm, before, Reason::excluded, options);
}

TEST(FoldBatchNormForm, F143NoChannels) {
  expect_fold("g (float[1,3,5,5] x) => (float[1,0,3,3] y) <float[0,3,3,3] W, " + parameters(0) +
                  "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNormForm, StopAfter) {
  PassOptions options;
  options.stop_after = 1;
  const auto result = run(
      kFolds,
      two(kYZ, "c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  d = Conv (x, V)  z = BatchNormalization (d, s2, b2, m2, var2)"),
      options);
  EXPECT_EQ(result.count("BatchNormalization"), 1);
}

}  // namespace
}  // namespace relayout::test
