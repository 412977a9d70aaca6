#include "relayout/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

#include "relayout/findings.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

using test::add_node;
using test::conv_batch_norm;
using test::float_tensor;
using test::save_model;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

InspectResult inspect_model(const onnx::ModelProto& model) {
  const test::TemporaryFolder folder;
  save_model(model, folder / "m.onnx");
  return inspect(folder / "m.onnx");
}

/// A model of one input and one convolution-like node whose weight the test adds.
onnx::ModelProto one_convolution(std::string_view op_type, const onnx::TensorProto& weight, int64_t group = 1) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("g");
  test::set_tensor_type(*graph.add_input(), "x", 1, {1, 4, 8, 8});
  test::set_tensor_type(*graph.add_output(), "y", 1, {1, 1, 1, 1});
  *graph.add_initializer() = weight;
  auto& node = add_node(graph, op_type, {"x", weight.name().c_str()}, {"y"}, "c");
  test::set_int(node, "group", group);
  return model;
}

/// Puts a Transpose between the weight and its convolution.
void put_transpose(onnx::ModelProto& model, std::initializer_list<int64_t> permutation) {
  auto& graph = *model.mutable_graph();
  auto& transpose = *graph.add_node();
  transpose.set_op_type("Transpose");
  transpose.add_input(graph.initializer(0).name());
  transpose.add_output("logical");
  test::set_ints(transpose, "perm", permutation);
  graph.mutable_node(0)->set_input(1, "logical");
  graph.mutable_node()->SwapElements(0, 1);
}

TEST(Inspect, DescribesTheModel) {
  const InspectResult result = inspect_model(conv_batch_norm());
  EXPECT_EQ(result.producer, "test");
  EXPECT_EQ(result.ir_version, 8);
  EXPECT_EQ(result.opset, 17);
  EXPECT_EQ(result.nodes, 3);
  EXPECT_EQ(result.parameters, 4 * 3 * 3 * 3 + 5 * 4);
  EXPECT_EQ(result.parameter_bytes, result.parameters * 4);
  EXPECT_THAT(result.op_counts, ElementsAre(Pair("BatchNormalization", 1), Pair("Conv", 1), Pair("Relu", 1)));
  ASSERT_EQ(result.inputs.size(), 1U);
  EXPECT_EQ(result.inputs[0].name, "x");
  EXPECT_EQ(result.inputs[0].type, "f32");
  EXPECT_EQ(result.inputs[0].shape, "[1, 3, 8, 8]");
  EXPECT_EQ(result.inputs[0].dims, (Dims{1, 3, 8, 8}));
  EXPECT_EQ(result.outputs[0].shape, "[1, 4, 8, 8]");
  EXPECT_THAT(result.unknown_ops, IsEmpty());
}

TEST(Inspect, ConvolutionsWithTheVerdictOfTheirBatchNorm) {
  const InspectResult result = inspect_model(conv_batch_norm());
  ASSERT_EQ(result.convolutions.size(), 1U);
  EXPECT_EQ(result.convolutions[0].node, "conv0");
  EXPECT_EQ(result.convolutions[0].weight_dims, (Dims{4, 3, 3, 3}));
  EXPECT_EQ(result.convolutions[0].groups, 1);
  EXPECT_EQ(result.convolutions[0].layout, "contiguous");
  EXPECT_EQ(result.convolutions[0].batch_norm, "folds");

  onnx::ModelProto shared = conv_batch_norm();
  add_node(*shared.mutable_graph(), "Relu", {"conv"}, {"z"});
  test::set_tensor_type(*shared.mutable_graph()->add_output(), "z", 1, {1, 4, 8, 8});
  EXPECT_EQ(inspect_model(shared).convolutions[0].batch_norm, "operator-output-shared");
}

TEST(Inspect, FindingsAreThoseOfConvert) {
  // The second BatchNormalization folds only when the first has been: matchers alone would not see it.
  onnx::ModelProto model = conv_batch_norm();
  auto& graph = *model.mutable_graph();
  graph.mutable_node(2)->set_input(0, "norm2");
  add_node(graph, "BatchNormalization", {"norm", "scale", "bias", "mean", "var"}, {"norm2"}, "norm2");
  graph.mutable_node()->SwapElements(2, 3);
  int folded = 0;
  for (const Finding& finding : inspect_model(model).findings) {
    folded += finding.op_type == "BatchNormalization" && finding.verdict == Verdict::done ? 1 : 0;
  }
  EXPECT_EQ(folded, 2);
}

TEST(Inspect, LayoutOfWeights) {
  const auto layout = [](const onnx::ModelProto& model) { return inspect_model(model).convolutions.at(0).layout; };
  EXPECT_EQ(layout(one_convolution("Conv", float_tensor("W", {8, 4, 3, 3}, 1))), "contiguous");
  EXPECT_EQ(layout(one_convolution("Conv", float_tensor("W", {8, 4, 1, 1}, 1))), "both");
  EXPECT_EQ(layout(one_convolution("Conv", float_tensor("W", {4, 1, 3, 3}, 1), 4)), "both");
  onnx::ModelProto channels_last = one_convolution("Conv", float_tensor("W", {8, 3, 3, 4}, 1));
  put_transpose(channels_last, {0, 3, 1, 2});
  EXPECT_EQ(layout(channels_last), "channels-last");
  onnx::ModelProto hwio = one_convolution("Conv", float_tensor("W", {3, 3, 4, 8}, 1));
  put_transpose(hwio, {3, 2, 0, 1});
  EXPECT_EQ(layout(hwio), "other");
  EXPECT_EQ(inspect_model(hwio).convolutions[0].weight_dims, (Dims{8, 4, 3, 3}));
  onnx::ModelProto computed = one_convolution("Conv", float_tensor("W", {8, 4, 3, 3}, 1));
  computed.mutable_graph()->clear_initializer();
  test::set_tensor_type(*computed.mutable_graph()->add_input(), "W", 1, {8, 4, 3, 3});
  EXPECT_EQ(layout(computed), "computed");
}

TEST(Inspect, GroupsAndOtherConvolutions) {
  const InspectResult grouped = inspect_model(one_convolution("Conv", float_tensor("W", {8, 2, 3, 3}, 1), 2));
  EXPECT_EQ(grouped.convolutions.at(0).groups, 2);
  const InspectResult transposed = inspect_model(one_convolution("ConvTranspose", float_tensor("W", {4, 8, 3, 3}, 1)));
  EXPECT_EQ(transposed.convolutions.at(0).op_type, "ConvTranspose");
}

TEST(Inspect, NestedGraphsFunctionsAndUnknownOps) {
  onnx::ModelProto model = conv_batch_norm();
  auto& import = *model.add_opset_import();
  import.set_domain("local");
  import.set_version(1);
  auto& function = *model.add_functions();
  function.set_domain("local");
  function.set_name("Twice");
  function.add_input("p");
  function.add_output("q");
  function.add_opset_import()->set_version(17);
  auto& inner = *function.add_node();
  inner.set_op_type("Add");
  for (int i = 0; i < 2; ++i) inner.add_input("p");
  inner.add_output("q");
  add_node(*model.mutable_graph(), "Twice", {"y"}, {"t"}).set_domain("local");
  add_node(*model.mutable_graph(), "Thrice", {"y"}, {"u"}).set_domain("local");
  add_node(*model.mutable_graph(), "Quux", {"y"}, {"v"});
  const InspectResult result = inspect_model(model);
  EXPECT_EQ(result.nodes, 7);
  EXPECT_EQ(result.functions, 1);
  EXPECT_EQ(result.op_counts.at("Add"), 1);
  EXPECT_EQ(result.op_counts.at("local:Twice"), 1);
  EXPECT_THAT(result.unknown_ops, ElementsAre("ai.onnx:Quux", "local:Thrice"));
  EXPECT_THAT(result.domains, ElementsAre(Pair("local", 1)));
}

}  // namespace
}  // namespace relayout
