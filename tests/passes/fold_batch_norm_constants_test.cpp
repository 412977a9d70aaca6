// Tests the spellings of constants.

#include <gmock/gmock.h>

#include "model/save.h"
#include "ops/operands.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/proof.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const char* const kBody = "c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)";

/// The conv_bn model with some of its initializers computed by these nodes instead.
TextModel spelled(const std::string& nodes, const std::vector<std::string>& made, const std::string& listed = "",
                  const std::string& model_head = head(17)) {
  return conv_bn(nodes + "  " + kBody, listed, model_head).edit([&](onnx::ModelProto& message) {
    auto& initializers = *message.mutable_graph()->mutable_initializer();
    for (int i = initializers.size(); i-- > 0;) {
      if (std::ranges::find(made, initializers[i].name()) != made.end()) initializers.DeleteSubrange(i, 1);
    }
  });
}

TEST(FoldBatchNormConstants, F34ConstantNodes) {
  // Every initializer as a Constant node.
  const auto result = expect_fold(conv_bn(kBody).edit([](onnx::ModelProto& message) {
    auto& graph = *message.mutable_graph();
    onnx::GraphProto nodes;
    for (auto& tensor : *graph.mutable_initializer()) {
      auto& node = *nodes.add_node();
      node.set_op_type("Constant");
      node.add_output(tensor.name());
      auto& attribute = *node.add_attribute();
      attribute.set_name("value");
      attribute.set_type(onnx::AttributeProto::TENSOR);
      *attribute.mutable_t() = tensor;
    }
    for (auto& node : graph.node()) *nodes.add_node() = node;
    graph.mutable_node()->Swap(nodes.mutable_node());
    graph.clear_initializer();
  }),
                                  1);
  EXPECT_EQ(result.count("Constant"), 0);
}

TEST(FoldBatchNormConstants, F34ValueFloats) {
  const auto result = expect_fold(
      spelled("s = Constant <value_floats = [1.5, -2.0, 0.5, 3.0]> ()  m = Constant <value_floats = [0.1, 0.2, 0.3, 0.4]> ()", {"s", "m"}),
      1);
  EXPECT_EQ(result.count("Constant"), 0);
}

TEST(FoldBatchNormConstants, ParametersOfAsManyElementsAsTheConvolutionHasChannels) {
  // Batch and image are free, the channels are those of the weight.
  const auto model = [](const std::string& channels) {
    return TextModel(
        "g (float[N,3,H,L] x) => (float[N,4,P,Q] y) <float[4,3,3,3] W, float[4] B, int64[1] first = {1}, int64[1] end = {2}, "
        "int64[1] least = {-3}, int64[1] last = {-2}, int64[1] none = {0}, int64 one = {1}, float two = {2}, float[4] m, "
        "float[4] var> { c = Conv (x, W, B)  " +
        channels +
        "  s = Expand (two, n)  b = ConstantOfShape <value = float[1] {0.5}> (n)"
        "  y = BatchNormalization (c, s, b, m, var) }");
  };
  for (const char* channels :
       {"d = Shape (c)  n = Slice (d, first, end)", "d = Shape (c)  n = Slice (d, least, last)",
        "d = Shape (c)  i = Gather (d, one)  n = Unsqueeze (i, none)",
        "d = Shape (c)  f = Cast <to = 1> (d)  g = Cast <to = 7> (f)  n = Slice (g, first, end)", "n = Shape <start = 1, end = 2> (c)"}) {
    SCOPED_TRACE(channels);
    const auto result = expect_fold(model(channels), 1);
    EXPECT_EQ(result.model->graph().nodes().size(), 1U) << to_text(*result.model);
  }
  // No element of the batch is certain.
  expect_skip("fold-batch-norm", model("d = Shape (c)  n = Slice (d, none, first)"), Reason::not_constant);
}

onnx::SparseTensorProto sparse(const std::string& name, const std::vector<int64_t>& dims, const std::vector<std::vector<int64_t>>& indices,
                               const std::vector<float>& values) {
  onnx::SparseTensorProto out;
  for (const int64_t dim : dims) out.add_dims(dim);
  out.mutable_values()->set_name(name);
  out.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  out.mutable_values()->add_dims(static_cast<int64_t>(values.size()));
  for (const float value : values) out.mutable_values()->add_float_data(value);
  out.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  out.mutable_indices()->add_dims(static_cast<int64_t>(indices.size()));
  if (dims.size() > 1) out.mutable_indices()->add_dims(static_cast<int64_t>(dims.size()));
  for (const auto& index : indices) {
    for (const int64_t i : index) out.mutable_indices()->add_int64_data(i);
  }
  return out;
}

TEST(FoldBatchNormConstants, F34SparseValueAsParameter) {
  expect_fold(spelled("m = Constant <value_float = 0.0> ()", {"m"}).edit([](onnx::ModelProto& message) {
    auto& attribute = *message.mutable_graph()->mutable_node(0)->mutable_attribute(0);
    attribute.Clear();
    attribute.set_name("sparse_value");
    attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
    *attribute.mutable_sparse_tensor() = sparse("", {4}, {{1}, {3}}, {0.5F, -2.0F});
  }),
              1);
}

TEST(FoldBatchNormConstants, F34SparseInitializerAsWeight) {
  const auto result = expect_fold(conv_bn(kBody).edit([](onnx::ModelProto& message) {
    message.mutable_graph()->mutable_initializer()->DeleteSubrange(0, 1);
    *message.mutable_graph()->add_sparse_initializer() =
        sparse("W", {4, 3, 3, 3}, {{0, 0, 0, 1}, {1, 2, 1, 0}, {2, 0, 2, 2}, {3, 1, 1, 1}}, {1.0F, -2.0F, 0.5F, 3.0F});
  }),
                                  1);
  EXPECT_EQ(result.initializer("W").size(), 108U);
}

TEST(FoldBatchNormConstants, F35IdentityChain) {
  const auto result = expect_fold(
      spelled("i = Identity (s0)  j = Identity (i)  s = Identity (j)  W = Identity (W0)", {"s", "W"}, "float[4] s0, float[4,3,3,3] W0"), 1);
  EXPECT_EQ(result.count("Identity"), 0);
}

TEST(FoldBatchNormConstants, F35IdentitiesOfOneInitializer) {
  const TextModel before("g (float[1,4,5,5] x) => (float[1,4,3,3] y, float[1,4,3,3] z) <float[4,4,3,3] W0, " + parameters(4) + R"(> {
    W = Identity (W0)  V = Identity (W0)  c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  z = Conv (x, V) })");
  const auto result = expect_fold(before, 1);
  EXPECT_EQ(result.initializer("W0"), old_values(before, "W0"));
}

TEST(FoldBatchNormConstants, F36Cast) {
  expect_fold(spelled("s = Cast <to = 1> (s0)  W = Cast <to = 1> (W0)", {"s", "W"}, "double[4] s0, float16[4,3,3,3] W0"), 1);
}

TEST(FoldBatchNormConstants, F36CastLikeOfAnActivation) {
  const auto result = expect_fold(spelled("r = Relu (x)  s = CastLike (s0, r)  h = Constant <value_float = 0.25> ()  h2 = CastLike (h, x)  "
                                          "n = Constant <value_ints = [4]> ()  m = Expand (h2, n)",
                                          {"s", "m"}, "double[4] s0"),
                                  1);
  EXPECT_EQ(result.count("CastLike"), 0);
  EXPECT_EQ(result.count("Expand"), 0);
}

TEST(FoldBatchNormConstants, F37Reshape) {
  expect_fold(spelled("s = Reshape (s0, t)  m = Reshape (m0, u)", {"s", "m"},
                      "float[1,4,1,1] s0, int64[1] t = {-1}, float[4,1] m0, int64[1] u = {0}"),
              1);
  expect_fold(spelled("s0 = Reshape (s1, t)  s = Reshape (s0, u)", {"s"}, "float[2,2] s1, int64[2] t = {0, -1}, int64[1] u = {-1}"), 1);
}

TEST(FoldBatchNormConstants, F37SqueezeUnsqueezeByAttribute) {
  expect_fold(spelled("s = Squeeze <axes = [0, 2]> (s0)  i = Unsqueeze <axes = [1]> (m0)  m = Squeeze <axes = [1]> (i)", {"s", "m"},
                      "float[1,4,1] s0, float[4] m0", head(11)),
              1);
}

TEST(FoldBatchNormConstants, F37SqueezeUnsqueezeByInput) {
  expect_fold(spelled("s = Squeeze (s0, a)  i = Unsqueeze (m0, u)  m = Squeeze (i)", {"s", "m"},
                      "float[1,4,1] s0, float[4] m0, int64[2] a = {0, -1}, int64[1] u = {-1}"),
              1);
}

TEST(FoldBatchNormConstants, F38WeightThroughTranspose) {
  const TextModel before = spelled("W = Transpose <perm = [3, 2, 0, 1]> (W0)", {"W"}, "float[3,3,3,4] W0");
  expect_fold(before, 1);
}

TEST(FoldBatchNormConstants, F38TransposeSharedByTwo) {
  const TextModel before("g (float[1,4,5,5] x) => (float[1,4,3,3] y, float[1,4,3,3] z) <float[3,3,4,4] W0, " + parameters(4) + R"(> {
    W = Transpose <perm = [3, 2, 0, 1]> (W0)  c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  z = Conv (x, W) })");
  const auto result = expect_fold(before, 1);
  EXPECT_EQ(result.initializer("W0"), old_values(before, "W0"));
  EXPECT_EQ(result.count("Transpose"), 1);
}

TEST(FoldBatchNormConstants, F39ExpandAndConstantOfShape) {
  const auto result = expect_fold(spelled("s = Expand (s0, n)  m = ConstantOfShape (n)  var = ConstantOfShape <value = float[1] {1}> (n)",
                                          {"s", "m", "var"}, "float s0, int64[1] n = {4}"),
                                  1);
  EXPECT_EQ(result.count("ConstantOfShape"), 0);
}

TEST(FoldBatchNormConstants, F40ShapeOfTheWeight) {
  const auto result = expect_fold(
      spelled("d = Shape <start = 0, end = 1> (W)  h = Constant <value_float = 0.5> ()  h2 = CastLike (h, x)  B = Expand (h2, d)", {"B"}),
      1);
  EXPECT_EQ(result.count("Shape"), 0);
  EXPECT_EQ(result.model->graph().initializers().size(), 2U) << "the weight keeps its name: " << to_text(*result.model);
}

TEST(FoldBatchNormConstants, F40ShapeGatherOfTheWeight) {
  const auto result = expect_fold(
      spelled(
          "d = Shape (W)  i = Constant <value_ints = [0]> ()  n = Gather (d, i)  h = Constant <value_float = 0.5> ()  m = Expand (h, n)",
          {"m"}),
      1);
  EXPECT_EQ(result.count("Gather"), 0);
}

/// Conv and BatchNormalization whose scale has as many elements as the convolution's result has channels.
TextModel scaled_by_own_shape(const std::string& outputs, const std::string& more) {
  return "g (float[1,3,8,8] x, float[4,36] z) => (float[1,4,6,6] y" + outputs +
         ") <float[4,3,3,3] W, float[1] s0, float[4] b, float[4] m, float[4] var, int64[1] i1 = {1}, int64[1] i2 = {2}> {"
         " c = Conv (x, W) d = Shape (c) n = Slice (d, i1, i2) s = Expand (s0, n) y = BatchNormalization (c, s, b, m, var) " +
         more + "}";
}

TEST(FoldBatchNormConstants, ShapeOfTheConvolutionsOwnResult) {
  const auto result = expect_fold(scaled_by_own_shape("", ""), 1);
  EXPECT_EQ(result.count("Shape"), 0);
  // Dims with a second reader: they are the same in the folded convolution's result.
  EXPECT_EQ(expect_fold(scaled_by_own_shape(", float[1,4,6,6] u", "u = Reshape (z, d) "), 1).count("Shape"), 1);
  // The result's elements are not, nor is a shape that a caller reads.
  expect_skip("fold-batch-norm", scaled_by_own_shape(", float[1,4,6,6] u", "u = Relu (c) "), Reason::operator_output_shared);
}

TEST(FoldBatchNormConstants, F41Arithmetic) {
  expect_fold(
      spelled("e = Constant <value_float = 0.001> ()  s1 = Mul (s0, s0)  s2 = Add (s1, e)  s = Sqrt (s2)  m = Concat <axis = 0> (m0, m1)",
              {"s", "m"}, "float[4] s0, float[1] m0, float[3] m1"),
      1);
}

TEST(FoldBatchNormConstants, F41WeightNormalization) {
  expect_fold(spelled("n = ReduceL2 <axes = [1, 2, 3], keepdims = 1> (v)  q = Div (v, n)  W = Mul (q, g)", {"W"},
                      "float[4,3,3,3] v, float[4,1,1,1] g"),
              1);
}

TEST(FoldBatchNormConstants, F42RunTimeOperands) {
  expect_skip(kFoldBatchNorm,
              "g (float[1,3,5,5] x, float[4,3,3,3] w) => (float[1,4,3,3] y) <" + parameters(4) +
                  "> { v = Neg (w)  c = Conv (x, v)  y = BatchNormalization (c, s, b, m, var) }",
              Reason::not_constant);
  expect_skip(kFoldBatchNorm, spelled("", {"s"}).edit([](onnx::ModelProto& message) {
    auto& input = *message.mutable_graph()->add_input();
    input = message.graph().input(0);
    input.set_name("s");
  }),
              Reason::not_constant);
}

TEST(FoldBatchNormConstants, F42Random) {
  expect_skip(kFoldBatchNorm, spelled("m = RandomNormal <shape = [4], seed = 1.0> ()", {"m"}), Reason::not_constant);
}

TEST(FoldBatchNormConstants, F43Ir3) {
  const auto result = expect_fold(with_initializers_as_inputs(conv_bn(kBody, "", head(8))), 1);
  EXPECT_EQ(result.model->graph().inputs().size(), 3U) << "x, W and B";
}

TEST(FoldBatchNormConstants, F43Ir3NewBias) {
  const auto result =
      expect_fold(with_initializers_as_inputs(conv_bn(
                      "c = Conv (x, W)  d = Conv (x, W, B)  e = BatchNormalization (c, s, b, m, var)  y = Add (d, e)", "", head(8))),
                  1);
  EXPECT_EQ(result.model->graph().inputs().size(), 5U) << "x, W, B, the copy of W, its bias";
}

/// A graph input for an initializer: a caller may replace it.
TextModel overridable(TextModel model, const std::string& name) {
  return model.edit([&](onnx::ModelProto& message) {
    for (const auto& tensor : message.graph().initializer()) {
      if (tensor.name() != name) continue;
      auto& input = *message.mutable_graph()->add_input();
      input.set_name(name);
      input.mutable_type()->mutable_tensor_type()->set_elem_type(tensor.data_type());
      for (const int64_t dim : tensor.dims()) input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
    }
  });
}

TEST(FoldBatchNormConstants, F44Overridable) {
  for (const char* const name : {"s", "W", "B"}) {
    expect_skip(kFoldBatchNorm, overridable(conv_bn(kBody), name), Reason::overridable);
  }
  expect_skip(kFoldBatchNorm, overridable(spelled("W = Identity (W0)", {"W"}, "float[4,3,3,3] W0"), "W0"), Reason::overridable);
}

TEST(FoldBatchNormConstants, F44FreezeIsProved) {
  PassOptions options;
  options.freeze = true;
  for (const char* const name : {"s", "W", "B"}) {
    const TextModel before = overridable(conv_bn(kBody), name);
    const auto result = run(kFolds, before, options);
    const ProofResult proof = prove(*before.load(), *result.model, {.digests = false});
    for (const Unexplained& entry : proof.unexplained) ADD_FAILURE() << name << ": " << entry.text;
    EXPECT_EQ(proof.folds, 1);
  }
}

TEST(FoldBatchNormConstants, F46ExternalData) {
  const TemporaryFolder folder;
  const TextModel before = conv_bn(kBody);
  onnx::ModelProto message = before.message();
  onnx::TensorProto& weight = *message.mutable_graph()->mutable_initializer(0);
  const std::string data = weight.raw_data();
  write_file(folder / "weights.bin", data);
  make_external(weight, "weights.bin");
  write_file(folder / "model.onnx", message.SerializeAsString());
  const auto model = Model::load(folder / "model.onnx");
  std::vector<const passes::Pass*> passes;
  for (const std::string& name : kFolds) passes.push_back(passes::find_pass(name));
  passes::PassContext context;
  passes::run_passes(*model, passes, context);
  EXPECT_EQ(model->graph().nodes().size(), 1U);
  std::filesystem::create_directory(folder / "folded");
  (void)save(*model, folder / "folded" / "model.onnx", {});
  EXPECT_EQ(read_file(folder / "weights.bin"), data) << "the original data file was touched";
  const PassResult inside = run(kFolds, before);
  const auto saved = Model::load(folder / "folded" / "model.onnx");
  EXPECT_EQ(reals_of(saved->graph().find("W")->initializer()->data->load()), inside.initializer("W"));
}

TEST(FoldBatchNormConstants, F44Freeze) {
  PassOptions options;
  options.freeze = true;
  const auto result = run(kFolds, overridable(conv_bn(kBody), "W"), options);
  EXPECT_EQ(result.count("BatchNormalization"), 0);
  EXPECT_EQ(result.model->graph().inputs().size(), 1U);
  ASSERT_EQ(result.findings.size(), 2U);
  EXPECT_EQ(result.findings[0].pass, "freeze");
  EXPECT_EQ(result.findings[0].node, "W");
}

TEST(FoldBatchNormConstants, F45OperandIsGraphOutput) {
  const TextModel weight("g (float[1,4,5,5] x) => (float[1,4,3,3] y, float[4,4,3,3] W) <float[4,4,3,3] W, " + parameters(4) +
                         "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var) }");
  EXPECT_EQ(expect_fold(weight, 1).initializer("W"), old_values(weight, "W"));
  const TextModel shift("g (float[1,4,5,5] x) => (float[1,4,3,3] y, float[4] b) <float[4,4,3,3] W, " + parameters(4) +
                        "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var) }");
  EXPECT_EQ(expect_fold(shift, 1).initializer("b"), old_values(shift, "b"));
}

TEST(FoldBatchNormConstants, F47QuantizedWeight) {
  const auto result = expect_skip(kFoldBatchNorm, spelled("W = DequantizeLinear <axis = 0> (q, z)", {"W"}, "int8[4,3,3,3] q, float[4] z"),
                                  Reason::quantized);
  EXPECT_EQ(result.count("DequantizeLinear"), 1);
}

}  // namespace
}  // namespace relayout::test
