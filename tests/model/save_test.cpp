#include "model/save.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cctype>
#include <cstring>
#include <numeric>

#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "support/encodings.h"
#include "support/model_cache.h"
#include "support/temporary_folder.h"
#include "support/wire_writer.h"

namespace relayout {
namespace {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kForward[] = {0, 2, 3, 1}, kBack[] = {0, 3, 1, 2};

/// Changes a 4-D weight as the layout pass does: W becomes a Transpose of W.channels_last.
void to_channels_last(Model& model, const char* name) {
  Graph& graph = model.graph();
  Value& weight = *graph.find(name);
  Node& reader = *weight.uses().front().node;
  Value& source = graph.detach(weight, std::string(name) + ".channels_last");
  graph.set_data(*source.initializer(), source.initializer()->data->permuted(kForward));
  onnx::NodeProto transpose;
  transpose.set_op_type("Transpose");
  transpose.add_input(source.name());
  transpose.add_output(name);
  auto* const permutation = transpose.add_attribute();
  permutation->set_name("perm");
  permutation->set_type(onnx::AttributeProto::INTS);
  for (const int64_t axis : kBack) permutation->add_ints(axis);
  graph.insert_before(graph.position_of(reader), transpose);
}

void to_contiguous(Model& model, const char* name) {
  Graph& graph = model.graph();
  Node& transpose = *graph.find(name)->producer();
  Value& source = *transpose.input(0);
  Initializer& initializer = *source.initializer();
  graph.attach(source, transpose);
  graph.set_data(initializer, initializer.data->permuted(kBack));
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

TEST(Save, UntouchedModelsOfTheCacheAreTheirFile) {
  const auto models = test::cached_models();
  if (models.empty()) GTEST_SKIP() << test::kNoModels;
  const TemporaryFolder folder;
  for (const auto& path : models) {
    save(*Model::load(path), folder / "out.onnx");
    EXPECT_TRUE(read_file(path) == read_file(folder / "out.onnx")) << path;
  }
}

class SaveEncoding : public testing::TestWithParam<test::Encoding> {};

TEST_P(SaveEncoding, UntouchedIsTheFile) {
  const auto model = Model::from_bytes(GetParam().bytes);
  EXPECT_EQ(to_bytes(*model), GetParam().bytes);
}

TEST_P(SaveEncoding, ConvertedIsRightAndKeepsEverythingElse) {
  const auto model = Model::from_bytes(GetParam().bytes);
  const auto before = parsed(GetParam().bytes);
  to_channels_last(*model, "W");
  const auto after = parsed(to_bytes(*model));
  ASSERT_EQ(after.graph().initializer_size(), 1);
  const onnx::TensorProto& weight = after.graph().initializer(0);
  EXPECT_EQ(weight.name(), "W.channels_last");
  EXPECT_THAT(weight.dims(), ElementsAre(8, 3, 3, 4));
  const std::string& raw = weight.raw_data();
  std::vector<float> values(288);
  if (weight.float_data_size() > 0) {
    std::copy(weight.float_data().begin(), weight.float_data().end(), values.begin());
  } else {
    ASSERT_EQ(raw.size(), 1152U);
    std::memcpy(values.data(), raw.data(), raw.size());
  }
  for (int o = 0; o < 8; ++o) {
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < 9; ++k) {
        ASSERT_EQ(values[static_cast<std::size_t>((o * 9 + k) * 4 + i)], static_cast<float>((o * 4 + i) * 9 + k));
      }
    }
  }
  ASSERT_EQ(after.graph().node_size(), 2);
  EXPECT_EQ(after.graph().node(0).op_type(), "Transpose");
  // Nothing differs except the weight and the new node.
  onnx::ModelProto a = before, b = after;
  b.mutable_graph()->mutable_node()->DeleteSubrange(0, 1);
  for (auto* side : {&a, &b}) {
    auto& tensor = *side->mutable_graph()->mutable_initializer(0);
    tensor.clear_dims();
    tensor.clear_name();
    tensor.clear_raw_data();
    tensor.clear_float_data();
  }
  EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString());
}

TEST_P(SaveEncoding, AChangeTakenBackLeavesTheFile) {
  const auto model = Model::from_bytes(GetParam().bytes);
  to_channels_last(*model, "W");
  const std::string converted = to_bytes(*model);
  to_contiguous(*model, "W");
  if (parsed(GetParam().bytes).graph().initializer(0).name() == "W" && GetParam().name.find("pieces") == std::string::npos) {
    EXPECT_EQ(to_bytes(*model), GetParam().bytes);
  }
  // And from the file that was written in between.
  const auto again = Model::from_bytes(converted);
  to_contiguous(*again, "W");
  if (GetParam().comes_back) {
    EXPECT_EQ(to_bytes(*again), GetParam().bytes);
  } else {
    const auto back = parsed(to_bytes(*again));
    EXPECT_EQ(back.graph().initializer(0).name(), "W");
    EXPECT_EQ(back.graph().node_size(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SaveEncoding, testing::ValuesIn(test::encodings()), [](const auto& instance) {
  std::string name = instance.param.name;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
});

// Changes that passes make to graphs.

std::unique_ptr<Model> from_text(const std::string& body, int ir_version = 8) {
  return Model::from_text("<ir_version: " + std::to_string(ir_version) + ", opset_import: [\"\" : 17]> " + body);
}

TensorData floats(const std::vector<float>& values) {
  return {DataType::float32, {static_cast<int64_t>(values.size())}, Bytes::owned(test::packed(values.data(), values.size()))};
}

std::vector<std::string> names(const google::protobuf::RepeatedPtrField<onnx::TensorProto>& tensors) {
  std::vector<std::string> out;
  for (const auto& tensor : tensors) out.push_back(tensor.name());
  return out;
}

std::vector<std::string> outputs_of_nodes(const onnx::GraphProto& graph) {
  std::vector<std::string> out;
  for (const auto& node : graph.node()) out.push_back(node.output(0));
  return out;
}

const char* const kThree = R"(g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}, float[2] c = {5, 6}> {
  p = Add (x, a)  q = Add (p, b)  y = Add (q, c) })";

TEST(Save, NewElementsAreWrittenInGraphOrder) {
  const auto model = from_text(kThree);
  Graph& graph = model->graph();
  Initializer& a = *graph.find("a")->initializer();
  Value& after_a = graph.add_initializer("after_a", floats({7, 8}), &a);
  Value& last = graph.add_initializer("last", floats({9, 10}));
  onnx::NodeProto negation;
  negation.set_op_type("Neg");
  negation.add_input(after_a.name());
  negation.add_output("n");
  Node& inserted = graph.insert_before(graph.position_of(*graph.find("q")->producer()), negation);
  graph.set_input(*graph.find("q")->producer(), 1, inserted.output(0));
  graph.set_input(*graph.find("y")->producer(), 1, &last);
  graph.erase_initializer(*graph.find("b")->initializer());
  const auto saved = parsed(to_bytes(*model)).graph();
  EXPECT_THAT(names(saved.initializer()), ElementsAre("a", "after_a", "c", "last"));
  EXPECT_THAT(outputs_of_nodes(saved), ElementsAre("p", "n", "q", "y"));
  EXPECT_EQ(saved.node(2).input(1), "n");
  EXPECT_EQ(saved.node(3).input(1), "last");
  EXPECT_EQ(saved.initializer(1).raw_data(), test::packed(std::vector<float>{7, 8}.data(), 2));
  EXPECT_THAT(saved.initializer(1).dims(), ElementsAre(2));
}

TEST(Save, ErasedElementsVanishWithTheirValueInfo) {
  const auto model = from_text(R"(g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] p, float[2] q> {
    p = Add (x, a)  q = Relu (p)  y = Neg (q) })");
  Graph& graph = model->graph();
  graph.replace_uses(*graph.find("q"), *graph.find("x"));
  graph.erase(*graph.find("q")->producer());
  graph.erase(*graph.find("p")->producer());
  graph.erase_initializer(*graph.find("a")->initializer());
  const auto saved = parsed(to_bytes(*model)).graph();
  EXPECT_THAT(outputs_of_nodes(saved), ElementsAre("y"));
  EXPECT_EQ(saved.initializer_size(), 0);
  EXPECT_EQ(saved.value_info_size(), 0);
  EXPECT_EQ(saved.node(0).input(0), "x");
}

TEST(Save, NodesInAnotherOrderAreWrittenInOrderOnceSomethingChanges) {
  const std::string shuffled = R"(g (float[2] x) => (float[2] y) { y = Neg (q)  q = Relu (p)  p = Abs (x) })";
  const auto model = from_text(shuffled);
  const std::string before = to_bytes(*model);
  EXPECT_THAT(outputs_of_nodes(parsed(before).graph()), ElementsAre("y", "q", "p"));
  model->graph().edit(*model->graph().find("q")->producer()).set_doc_string("changed");
  EXPECT_THAT(outputs_of_nodes(parsed(to_bytes(*model)).graph()), ElementsAre("p", "q", "y"));
}

TEST(Save, InputsOfIr3FollowTheirInitializers) {
  const auto model = from_text(R"(g (float[2] x, float[2] a, float[2] b) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> {
    p = Add (x, a)  y = Add (p, b) })",
                               3);
  Graph& graph = model->graph();
  Value& made = graph.add_initializer("made", floats({5, 6, 7, 8}));
  graph.set_input(*graph.find("y")->producer(), 1, &made);
  graph.erase_initializer(*graph.find("b")->initializer());
  graph.set_data(*graph.find("a")->initializer(), floats({1, 2, 3}));
  const auto saved = parsed(to_bytes(*model)).graph();
  ASSERT_EQ(saved.input_size(), 3);
  EXPECT_EQ(saved.input(1).name(), "a");
  EXPECT_EQ(saved.input(1).type().tensor_type().shape().dim(0).dim_value(), 3);
  EXPECT_EQ(saved.input(2).name(), "made");
  EXPECT_EQ(saved.input(2).type().tensor_type().shape().dim(0).dim_value(), 4);
}

TEST(Save, SyncedMessagesChangeNothing) {
  const auto model = from_text(kThree);
  Graph& graph = model->graph();
  graph.add_initializer("new", floats({7, 8}), graph.find("a")->initializer());
  graph.set_input(*graph.find("p")->producer(), 1, graph.find("new"));
  graph.erase_initializer(*graph.find("a")->initializer());
  const std::string before = to_bytes(*model);
  graph.sync();
  EXPECT_EQ(to_bytes(*model), before);
}

/// Initializers with raw data, small and large, typed data and strings; each with its own doc string.
onnx::ModelProto initializers_of_all_kinds() {
  onnx::ModelProto message = parsed(to_bytes(*Model::from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1] x) => (float[1] y) <float[2] small = {1, 2}, float[2] large = {5, 6}, "
      "float[2] typed = {3, 4}, string[1] words = {\"a\"}> { y = Relu (x) }")));
  auto& tensors = *message.mutable_graph()->mutable_initializer();
  std::vector<float> many(100);
  std::iota(many.begin(), many.end(), 0.0F);
  for (int i = 2; i < 4; ++i) tensors[i].set_doc_string("about " + tensors[i].name());
  for (int i = 0; i < 2; ++i) tensors[i].clear_float_data();
  tensors[0].set_raw_data(test::packed(std::vector<float>{1, 2}.data(), 2));
  tensors[1].clear_dims();
  for (int i = 0; i < 2; ++i) tensors[1].add_dims(10);
  tensors[1].set_raw_data(test::packed(many.data(), many.size()));
  return message;
}

TEST(Save, InitializersWithoutAMessageOfTheirOwn) {
  const onnx::ModelProto before = initializers_of_all_kinds();
  const auto model = Model::from_bytes(before.SerializeAsString(), "model");
  Graph& graph = model->graph();
  std::vector<bool> has_message;
  for (const Initializer& initializer : graph.initializers()) has_message.push_back(initializer.message != nullptr);
  EXPECT_THAT(has_message, ElementsAre(false, false, true, true));
  EXPECT_EQ(to_bytes(*model), before.SerializeAsString());
  EXPECT_EQ(model->unique_name("small"), "small_2");

  graph.rename(*graph.find("small"), "renamed");
  Initializer& large = *graph.find("large")->initializer();
  graph.set_data(large, large.data->permuted(Dims{1, 0}));
  onnx::ModelProto expected = before;
  auto& tensors = *expected.mutable_graph()->mutable_initializer();
  tensors[0].set_name("renamed");
  std::vector<float> transposed;
  for (int row = 0; row < 10; ++row) {
    for (int column = 0; column < 10; ++column) transposed.push_back(static_cast<float>(column * 10 + row));
  }
  tensors[1].set_raw_data(test::packed(transposed.data(), transposed.size()));
  EXPECT_EQ(to_bytes(*model), expected.SerializeAsString());
  graph.sync();
  EXPECT_EQ(graph.message()->initializer(0).raw_data(), before.graph().initializer(0).raw_data());
  EXPECT_EQ(to_bytes(*model), expected.SerializeAsString());
}

TEST(Save, AnEditedNodeIsWrittenAndOneEditedBackIsCopied) {
  const auto model = from_text(kThree);
  const std::string before = to_bytes(*model);
  Node& node = *model->graph().find("p")->producer();
  model->graph().edit(node).set_doc_string("doc");
  EXPECT_EQ(parsed(to_bytes(*model)).graph().node(0).doc_string(), "doc");
  model->graph().edit(node).clear_doc_string();
  EXPECT_EQ(to_bytes(*model), before);
}

TEST(Save, ARenamedInitializerAndItsInputEntry) {
  const auto model = from_text("g (float[2] x, float[2] a) => (float[2] y) <float[2] a = {1, 2}> { y = Add (x, a) }", 3);
  model->graph().rename(*model->graph().find("a"), "renamed");
  const auto saved = parsed(to_bytes(*model)).graph();
  EXPECT_EQ(saved.initializer(0).name(), "renamed");
  EXPECT_THAT(saved.initializer(0).float_data(), ElementsAre(1, 2));
  EXPECT_EQ(saved.input(1).name(), "renamed");
  EXPECT_EQ(saved.node(0).input(1), "renamed");
}

TEST(Save, MetadataOfTheModel) {
  const auto model = Model::from_bytes(test::encodings()[0].bytes);
  auto* const entry = model->message().add_metadata_props();
  entry->set_key("relayout.version");
  entry->set_value("1");
  model->message().set_producer_name("");
  const auto saved = parsed(to_bytes(*model));
  ASSERT_EQ(saved.metadata_props_size(), 1);
  EXPECT_EQ(saved.metadata_props(0).value(), "1");
  EXPECT_EQ(saved.producer_name(), "");
  EXPECT_EQ(saved.ir_version(), 8);
  EXPECT_EQ(saved.opset_import(0).version(), 17);
  EXPECT_EQ(saved.graph().SerializeAsString(), parsed(test::encodings()[0].bytes).graph().SerializeAsString());
  model->message().clear_metadata_props();
  model->message().set_producer_name("maker");
  EXPECT_EQ(to_bytes(*model), test::encodings()[0].bytes);
}

// Nested graphs and functions whose payloads are stored outside the messages.

std::string large(char letter) {
  return std::string(400, letter);
}

onnx::TensorProto large_tensor(const std::string& name, char letter) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(1);
  tensor.add_dims(100);
  tensor.set_raw_data(large(letter));
  return tensor;
}

onnx::NodeProto& add_node(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::string& op,
                          const std::vector<std::string>& inputs, const std::string& output) {
  auto& node = *nodes.Add();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name, onnx::AttributeProto::AttributeType type) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void add_constant(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::string& output, char letter) {
  auto& node = add_node(nodes, "Constant", {}, output);
  *add_attribute(node, "value", onnx::AttributeProto::TENSOR).mutable_t() = large_tensor("", letter);
}

/// A branch: `levels` further Ifs inside; each holds an initializer and a Constant of 400 bytes.
void fill_branch(onnx::GraphProto& graph, const std::string& prefix, int levels) {
  graph.set_name(prefix);
  *graph.add_initializer() = large_tensor(prefix + ".w", 'w');
  add_constant(*graph.mutable_node(), prefix + ".k", 'k');
  add_node(*graph.mutable_node(), "Add", {prefix + ".w", prefix + ".k"}, prefix + ".sum");
  auto& last = add_node(*graph.mutable_node(), levels > 0 ? "If" : "Relu", {levels > 0 ? "c" : prefix + ".sum"}, prefix + ".out");
  if (levels > 0) {
    for (const char* branch : {"then_branch", "else_branch"}) {
      fill_branch(*add_attribute(last, branch, onnx::AttributeProto::GRAPH).mutable_g(), prefix + "." + branch[0], levels - 1);
    }
  }
  graph.add_output()->set_name(prefix + ".out");
}

onnx::ModelProto nested_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& imported = *model.add_opset_import();
  imported.set_domain("f");
  imported.set_version(1);
  auto& graph = *model.mutable_graph();
  fill_branch(graph, "main", 2);
  auto& input = *graph.add_input();
  input.set_name("c");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(9);
  auto& function = *model.add_functions();
  function.set_domain("f");
  function.set_name("Called");
  function.add_input("p");
  function.add_output("q");
  function.add_opset_import()->set_version(17);
  add_constant(*function.mutable_node(), "fk", 'f');
  add_node(*function.mutable_node(), "Add", {"p", "fk"}, "q");
  return model;
}

/// The nodes of a graph and its nested graphs that produce an output of this name.
Node* find_node(const Graph& graph, const std::string& output) {
  for (const Node& node : graph.nodes()) {
    if (node.output(0) != nullptr && node.output(0)->name() == output) return const_cast<Node*>(&node);
    for (const auto& nested : node.subgraphs()) {
      if (Node* const found = find_node(*nested, output)) return found;
    }
  }
  return nullptr;
}

TEST(SaveNested, AChangeDeepInsideLeavesTheRest) {
  const std::string bytes = nested_model().SerializeAsString();
  const auto model = Model::from_bytes(bytes);
  ASSERT_LT(model->message().ByteSizeLong(), 4000U);  // 16 payloads of 400 bytes are elsewhere
  Node& sum = *find_node(model->graph(), "main.t.e.sum");
  Graph& inner = sum.graph();
  const std::vector<double> factors(100, 2.0);
  Initializer& weight = *inner.find("main.t.e.w")->initializer();
  inner.set_data(weight, weight.data->scaled({100, 1, factors}));
  auto expected = nested_model();
  auto& then = *expected.mutable_graph()->mutable_node(2)->mutable_attribute(0)->mutable_g();
  auto& deep = *then.mutable_node(2)->mutable_attribute(1)->mutable_g();
  std::string& raw = *deep.mutable_initializer(0)->mutable_raw_data();
  for (std::size_t i = 0; i < 100; ++i) {
    float value = 0;
    std::memcpy(&value, raw.data() + 4 * i, 4);
    value = static_cast<float>(static_cast<double>(value) * 2.0);
    std::memcpy(raw.data() + 4 * i, &value, 4);
  }
  EXPECT_EQ(to_bytes(*model), expected.SerializeAsString());
  inner.set_data(weight, weight.data->scaled({100, 1, std::vector<double>(100, 0.5)}));
}

TEST(SaveNested, ConstantsWithNewContents) {
  const auto model = Model::from_bytes(nested_model().SerializeAsString());
  Node& constant = *find_node(model->graph(), "main.e.k");
  constant.graph().set_constant(constant, floats({1, 2, 3}));
  Graph& function = *model->functions()[0];
  Node& in_function = *find_node(function, "fk");
  function.set_constant(in_function, floats({4, 5}));
  auto expected = nested_model();
  const auto set = [](onnx::TensorProto& tensor, const std::vector<float>& values) {
    tensor.clear_dims();
    tensor.add_dims(static_cast<int64_t>(values.size()));
    tensor.set_raw_data(test::packed(values.data(), values.size()));
  };
  set(*expected.mutable_graph()->mutable_node(2)->mutable_attribute(1)->mutable_g()->mutable_node(0)->mutable_attribute(0)->mutable_t(),
      {1, 2, 3});
  set(*expected.mutable_functions(0)->mutable_node(0)->mutable_attribute(0)->mutable_t(), {4, 5});
  EXPECT_EQ(to_bytes(*model), expected.SerializeAsString());
}

TEST(SaveNested, AnEditedNodeKeepsItsContents) {
  const auto model = Model::from_bytes(nested_model().SerializeAsString());
  Node& holder = *find_node(model->graph(), "main.out");
  model->graph().edit(holder).set_doc_string("edited");
  Node& constant = *find_node(model->graph(), "main.k");
  model->graph().edit(constant).set_doc_string("doc");
  auto expected = nested_model();
  expected.mutable_graph()->mutable_node(2)->set_doc_string("edited");
  expected.mutable_graph()->mutable_node(0)->set_doc_string("doc");
  EXPECT_EQ(parsed(to_bytes(*model)).SerializeAsString(), expected.SerializeAsString());
}

TEST(SaveNested, ACopyOfANodeCarriesItsPayloads) {
  const auto model = Model::from_bytes(nested_model().SerializeAsString());
  Graph& graph = model->graph();
  Node& holder = *find_node(graph, "main.out");
  onnx::NodeProto copy = holder.whole_message();
  copy.set_output(0, "copied");
  // Names inside must differ from those of the original.
  const std::function<void(onnx::GraphProto&)> rename = [&](onnx::GraphProto& nested) {
    const auto renamed = [](const std::string& name) { return name == "c" ? name : "copy:" + name; };
    for (auto& tensor : *nested.mutable_initializer()) tensor.set_name(renamed(tensor.name()));
    for (auto& output : *nested.mutable_output()) output.set_name(renamed(output.name()));
    for (auto& node : *nested.mutable_node()) {
      for (auto& input : *node.mutable_input()) input = renamed(input);
      for (auto& output : *node.mutable_output()) output = renamed(output);
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) rename(*attribute.mutable_g());
      }
    }
  };
  for (auto& attribute : *copy.mutable_attribute()) rename(*attribute.mutable_g());
  graph.insert_before(graph.nodes().end(), copy);
  const auto saved = parsed(to_bytes(*model));
  ASSERT_EQ(saved.graph().node_size(), 4);
  auto expected = nested_model().graph().node(2);
  for (auto& attribute : *expected.mutable_attribute()) rename(*attribute.mutable_g());
  expected.set_output(0, "copied");
  EXPECT_EQ(saved.graph().node(3).SerializeAsString(), expected.SerializeAsString());
  EXPECT_EQ(saved.graph().node(2).SerializeAsString(), nested_model().graph().node(2).SerializeAsString());
}

TEST(SaveNested, SparseTensorsTrainingInfoAndListsStream) {
  auto original = nested_model();
  auto& graph = *original.mutable_graph();
  auto& sparse = *graph.add_sparse_initializer();
  *sparse.mutable_values() = large_tensor("s", 's');
  sparse.mutable_indices()->set_data_type(7);
  sparse.mutable_indices()->add_dims(100);
  std::vector<int64_t> indices(100);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(2 * i);
  sparse.mutable_indices()->set_raw_data(test::packed(indices.data(), indices.size()));
  sparse.add_dims(1000);
  auto& custom = add_node(*graph.mutable_node(), "Custom", {"s"}, "t");
  for (const char letter : {'1', '2'}) {
    *add_attribute(custom, std::string("sparse") + letter, onnx::AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor() = sparse;
    *add_attribute(custom, std::string("list") + letter, onnx::AttributeProto::TENSORS).add_tensors() = large_tensor("", letter);
  }
  *original.add_training_info()->mutable_initialization()->add_initializer() = large_tensor("train", 'x');
  const auto model = Model::from_bytes(original.SerializeAsString());
  EXPECT_EQ(to_bytes(*model), original.SerializeAsString());
  Node& node = *find_node(model->graph(), "t");
  model->graph().edit(node).set_doc_string("doc");
  graph.mutable_node(graph.node_size() - 1)->set_doc_string("doc");
  EXPECT_EQ(parsed(to_bytes(*model)).SerializeAsString(), original.SerializeAsString());
  model->graph().rename(*model->graph().find("s"), "renamed");
  graph.mutable_sparse_initializer(0)->mutable_values()->set_name("renamed");
  graph.mutable_node(graph.node_size() - 1)->set_input(0, "renamed");
  EXPECT_EQ(parsed(to_bytes(*model)).SerializeAsString(), original.SerializeAsString());
}

// Into files.

TEST(SaveFile, B53OutputIsTheInput) {
  const TemporaryFolder folder;
  const std::string bytes = test::encodings()[1].bytes;
  write_file(folder / "m.onnx", bytes);
  std::filesystem::create_hard_link(folder / "m.onnx", folder / "hard.onnx");
  std::filesystem::create_symlink("m.onnx", folder / "soft.onnx");
  const auto model = Model::load(folder / "m.onnx");
  for (const char* name : {"m.onnx", "hard.onnx", "soft.onnx", "./m.onnx"}) {
    try {
      save(*model, folder / name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << name;
      EXPECT_THAT(error.hint(), HasSubstr("--in-place"));
    }
  }
  EXPECT_EQ(read_file(folder / "m.onnx"), bytes);
  to_channels_last(*model, "W");
  save(*model, folder / "soft.onnx", {.in_place = true});
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "soft.onnx"));
  EXPECT_NE(read_file(folder / "m.onnx"), bytes);
  EXPECT_EQ(read_file(folder / "hard.onnx"), bytes);
}

TEST(SaveFile, B6ASourceThatChangedMeanwhile) {
  const TemporaryFolder folder;
  write_file(folder / "m.onnx", test::encodings()[0].bytes);
  const auto model = Model::load(folder / "m.onnx");
  write_file(folder / "m.onnx", test::encodings()[0].bytes + test::WireWriter().bytes(999, "more").str());
  try {
    save(*model, folder / "out.onnx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.what(), HasSubstr("changed"));
  }
  EXPECT_THAT(folder.entries(), ElementsAre("m.onnx"));
}

TEST(SaveFile, ThreadsAndBlocksMakeNoDifference) {
  const TemporaryFolder folder;
  // Weights of 5 MiB in rows of 20 KiB, one of a single row of 17 MiB, and one that is scaled as well.
  onnx::ModelProto source;
  source.set_ir_version(8);
  source.add_opset_import()->set_version(17);
  const std::vector<std::vector<int64_t>> shapes{{256, 512, 3, 3}, {1, int64_t{512} * 1024, 3, 3}, {7, 300, 5, 5}};
  for (const auto& shape : shapes) {
    auto& tensor = *source.mutable_graph()->add_initializer();
    const std::string name = "W" + std::to_string(source.graph().initializer_size());
    tensor.set_name(name);
    tensor.set_data_type(1);
    int64_t count = 1;
    for (const int64_t dim : shape) {
      tensor.add_dims(dim);
      count *= dim;
    }
    std::string& raw = *tensor.mutable_raw_data();
    raw.resize(static_cast<std::size_t>(count) * 4);
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(i % 100'003);
      std::memcpy(raw.data() + 4 * i, &value, 4);
    }
    add_node(*source.mutable_graph()->mutable_node(), "Conv", {"x", name}, name + ".y");
    source.mutable_graph()->add_output()->set_name(name + ".y");
  }
  source.mutable_graph()->add_input()->set_name("x");
  write_file(folder / "m.onnx", source.SerializeAsString());
  std::vector<std::string> results;
  for (const int threads : {1, 2, 5}) {
    const auto model = Model::load(folder / "m.onnx");
    to_channels_last(*model, "W1");
    to_channels_last(*model, "W2");
    Initializer& third = *model->graph().find("W3")->initializer();
    model->graph().set_data(third, third.data->scaled({7, 1, std::vector<double>(7, 3.0)}));
    save(*model, folder / "out.onnx", {.threads = threads});
    results.push_back(read_file(folder / "out.onnx"));
    EXPECT_TRUE(results.back() == results.front());
    EXPECT_TRUE(results.back() == to_bytes(*model));
  }
  const auto saved = parsed(results.front());
  const std::string& raw = saved.graph().initializer(1).raw_data();
  for (int64_t i = 0; i < int64_t{512} * 1024; i += 997) {
    for (int64_t k = 0; k < 9; ++k) {
      float value = 0;
      std::memcpy(&value, raw.data() + 4 * (k * 512 * 1024 + i), 4);
      ASSERT_EQ(value, static_cast<float>((i * 9 + k) % 100'003));
    }
  }
}

TEST(SaveFile, ProgressEndsAtTheSize) {
  const TemporaryFolder folder;
  const auto model = Model::from_bytes(test::encodings()[0].bytes);
  int64_t last = 0, total = 0;
  const SaveResult result = save(*model, folder / "out.onnx", {.progress = [&](int64_t done, int64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
  }});
  EXPECT_EQ(last, total);
  EXPECT_EQ(result.bytes, total);
  EXPECT_EQ(total, static_cast<int64_t>(test::encodings()[0].bytes.size()));
}

}  // namespace
}  // namespace relayout
