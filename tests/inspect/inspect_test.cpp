#include "relayout/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

/// What a Constant node stores counts like an initializer, in every form and place.
TEST(Inspect, ParametersOfConstantNodes) {
  const auto inspected = [](const std::string& text) {
    const test::TemporaryFolder folder;
    test::write_file(folder / "m.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]>\n" + text);
    return inspect(folder / "m.onnxtxt");
  };
  const InspectResult stored = inspected("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }");
  const InspectResult node = inspected("g (float[2] x) => (float[2] y) { w = Constant <value = float[2] {1, 2}> ()  y = Add (x, w) }");
  EXPECT_EQ(stored.parameters, 2);
  EXPECT_EQ(node.parameters, 2);
  EXPECT_EQ(node.parameter_bytes, stored.parameter_bytes);
  const InspectResult floats = inspected(
      "g (float[3] x) => (float[3] y, int64[2] z) { w = Constant <value_floats = [1.0, 2.0, 3.0]> ()  y = Add (x, w)\n"
      "z = Constant <value_ints = [4, 5]> () }");
  EXPECT_EQ(floats.parameters, 5);
  EXPECT_EQ(floats.parameter_bytes, 3 * 4 + 2 * 8);
  const InspectResult inner = inspected(R"(g (bool c, float[2] x) => (float[2] y) {
    z = If (c) <then_branch = t () => (float[2] p) { p = Constant <value = float[2] {1, 2}> () },
                else_branch = e () => (float[2] q) <float[2] q = {3, 4}> { r = Neg (q) }>
    y = f.add (x, z) })"
                                        "\n<domain: \"f\", opset_import: [\"\" : 17]>\n"
                                        "add (a, b) => (c) { k = Constant <value_float = 1.0> ()  s = Add (a, k)  c = Add (s, b) }");
  EXPECT_EQ(inner.parameters, 2 + 2 + 1);
  EXPECT_EQ(inner.parameter_bytes, 5 * 4);
}

InspectResult outlined(const std::string& graph) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "m.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph);
  return inspect(folder / "m.onnxtxt", {.outline = true});
}

TEST(Inspect, OutlineHasABoxPerNodeAndPort) {
  const InspectResult result = outlined(
      "g (float[1, 2] x) => (float[1, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { k = Constant <value = float[2] {1, 2}> ()\n"
      "m = MatMul (x, w)\n s = Add (m, k)\n y = Mul (s, m) }");
  EXPECT_THAT(result.node_list, IsEmpty());
  const GraphOutline& outline = result.outline.value();
  std::vector<std::string> contents;
  for (const GraphBox& box : outline.boxes) contents.push_back(box.kind == GraphBox::Kind::nodes ? box.content : box.name);
  EXPECT_THAT(contents, ElementsAre("x", "MatMul", "Add", "Mul", "y"));
  EXPECT_THAT(outline.links, testing::UnorderedElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 3), Pair(1, 3), Pair(3, 4)));
  EXPECT_EQ(outline.boxes[1].macs, 4);
  EXPECT_EQ(outline.boxes[1].parameters, 4);
  EXPECT_EQ(outline.depth, 0U);
}

/// What an If reads from outside links it; a body has no boxes of its own.
TEST(Inspect, OutlineLinksWhatBranchesRead) {
  const GraphOutline outline =
      outlined(
          "g (bool c, float[2] x) => (float[2] y) { n = Neg (x)\n y = If (c) <then_branch = t () => (float[2] p) { p = "
          "Abs (n) }, else_branch = e () => (float[2] q) { q = Exp (x) }> }")
          .outline.value();
  ASSERT_EQ(outline.boxes.size(), 5U);  // c, x, Neg, If, y
  EXPECT_THAT(outline.links, testing::UnorderedElementsAre(Pair(1, 2), Pair(0, 3), Pair(2, 3), Pair(1, 3), Pair(3, 4)));
}

TEST(Inspect, OutlineOfManyNodesHasScopes) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  constexpr int kLayers = 50, kOfLayer = 10;
  test::set_tensor_type(*graph.add_input(), "v0", 1, {1, 4});
  test::set_tensor_type(*graph.add_output(), "v" + std::to_string(kLayers * kOfLayer), 1, {1, 4});
  for (int i = 0; i < kLayers * kOfLayer; ++i) {
    const std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
    const std::string name = "/layer." + std::to_string(i / kOfLayer) + "/act/Relu_" + std::to_string(i);
    add_node(graph, "Relu", {from.c_str()}, {to.c_str()}, name);
  }
  const test::TemporaryFolder folder;
  save_model(model, folder / "m.onnx");
  GraphOutline outline = inspect(folder / "m.onnx", {.outline = true}).outline.value();
  ASSERT_EQ(outline.boxes.size(), kLayers + 2U);
  EXPECT_EQ(outline.boxes[1].name, "/layer.0/act");
  EXPECT_EQ(outline.boxes[1].content, "Relu 10");
  EXPECT_EQ(outline.boxes[1].nodes, kOfLayer);
  EXPECT_EQ(outline.links.size(), kLayers + 1U);

  for (auto& node : *graph.mutable_node()) node.clear_name();
  save_model(model, folder / "nameless.onnx");
  outline = inspect(folder / "nameless.onnx", {.outline = true}).outline.value();
  EXPECT_EQ(outline.boxes.size(), kLayers * kOfLayer / 2 + 2U) << "two nodes in a row share a box";
}

TEST(Inspect, ParametersOfSparseConstants) {
  onnx::ModelProto model = conv_batch_norm();
  const int64_t dense = inspect_model(model).parameters;
  onnx::SparseTensorProto sparse;
  *sparse.mutable_values() = float_tensor("s", {3}, 1);
  onnx::TensorProto& indices = *sparse.mutable_indices();
  indices.set_data_type(onnx::TensorProto::INT64);
  indices.add_dims(3);
  for (const int64_t index : {0, 5, 9}) indices.add_int64_data(index);
  sparse.add_dims(10);
  *model.mutable_graph()->add_sparse_initializer() = sparse;
  EXPECT_EQ(inspect_model(model).parameters, dense + 3);
  auto& node = add_node(*model.mutable_graph(), "Constant", {}, {"t"}, "constant");
  onnx::AttributeProto& value = *node.add_attribute();
  value.set_name("sparse_value");
  value.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  *value.mutable_sparse_tensor() = sparse;
  EXPECT_EQ(inspect_model(model).parameters, dense + 6);
}

TEST(Inspect, NamesOfSeveralNodes) {
  onnx::ModelProto model = conv_batch_norm();
  EXPECT_THAT(inspect_model(model).repeated_names, IsEmpty());
  for (auto& node : *model.mutable_graph()->mutable_node()) node.set_name("twin");
  EXPECT_THAT(inspect_model(model).repeated_names, ElementsAre(Pair("twin", 3)));
  for (auto& node : *model.mutable_graph()->mutable_node()) node.clear_name();
  EXPECT_THAT(inspect_model(model).repeated_names, IsEmpty()) << "a node without a name goes by its first output";
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
