#include "relayout/graph.h"

#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <set>

#include "base/log.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/many.h"
#include "support/refusal.h"
#include "support/wire_writer.h"

namespace relayout {
namespace {

using test::kMany;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Model> parse(const std::string& body, const std::string& head = "<ir_version: 8, opset_import: [\"\" : 17]>") {
  return Model::from_text(head + "\n" + body);
}

/// The message of the Error{invalid} that loading throws.
std::string refusal(const std::string& body, ErrorKind kind = ErrorKind::invalid) {
  return test::refusal_of(kind, [&] { return parse(body); });
}

std::vector<std::string> order_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes()) out.push_back(node.output(0)->name());
  return out;
}

std::multiset<std::string> readers_of(const Value& value) {
  std::multiset<std::string> out;
  for (const Use& use : value.uses()) out.insert(use.node->output(0)->name() + ":" + std::to_string(use.index));
  return out;
}

Node& maker(Graph& graph, const char* output) {
  return *graph.find(output)->producer();
}

TensorData floats(const Dims& dims) {
  return {DataType::float32, dims, Bytes::owned(std::string(static_cast<std::size_t>(element_count(dims)) * 4, '\0'))};
}

const char* const kIf = R"(g (bool c, float[2] x) => (float[2] y) {
  a = Relu (x)
  y = If (c) <then_branch = t () => (float[2] p) { p = Add (a, x) },
              else_branch = e () => (float[2] q) { q = Neg (a) }>
})";

TEST(Graph, IndexesNodesValuesAndUses) {
  const auto model = parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Add (x, w)  b = Mul (a, a)  y = Clip (b, , w) }");
  Graph& graph = model->graph();
  EXPECT_THAT(order_of(graph), ElementsAre("a", "b", "y"));
  EXPECT_EQ(readers_of(*graph.find("a")), (std::multiset<std::string>{"b:0", "b:1"}));
  EXPECT_EQ(readers_of(*graph.find("w")), (std::multiset<std::string>{"a:1", "y:2"}));
  EXPECT_EQ(graph.find("w")->initializer(), &graph.initializers().front());
  EXPECT_EQ(maker(graph, "y").input(1), nullptr);
  EXPECT_EQ(maker(graph, "y").input(7), nullptr);
  EXPECT_TRUE(graph.find("y")->is_output());
  EXPECT_TRUE(graph.find("x")->is_input());
  EXPECT_EQ(graph.find("nothing"), nullptr);
  EXPECT_FALSE(graph.modified());
  graph.validate();
}

TEST(Graph, CapturedValuesAreTheOuterOnes) {
  const auto model = parse(kIf);
  Graph& graph = model->graph();
  const Value& a = *graph.find("a");
  EXPECT_EQ(a.uses().size(), 2U);
  EXPECT_TRUE(a.is_captured());
  EXPECT_TRUE(graph.find("x")->is_captured());
  EXPECT_FALSE(graph.find("c")->is_captured());
  const auto& nested = maker(graph, "y").subgraphs();
  ASSERT_EQ(nested.size(), 2U);
  EXPECT_EQ(nested[0]->find("a"), &a);
  EXPECT_EQ(nested[0]->find("q"), nullptr);
  EXPECT_EQ(nested[0]->outer(), &graph);
  EXPECT_EQ(nested[0]->owner(), &maker(graph, "y"));
  EXPECT_EQ(&nested[0]->top(), &graph);
  EXPECT_EQ(&graph.top(), &graph);
  graph.validate();
}

TEST(Graph, SubgraphsByTheirAttributes) {
  const auto model = parse(kIf);
  Graph& graph = model->graph();
  Node& node = maker(graph, "y");
  const auto expect_branches = [&] {
    EXPECT_THAT(node.subgraph_attributes(), ElementsAre("then_branch", "else_branch"));
    EXPECT_EQ(node.subgraph("then_branch"), node.subgraphs()[0].get());
    EXPECT_EQ(node.subgraph("else_branch"), node.subgraphs()[1].get());
    EXPECT_EQ(node.subgraph("body"), nullptr);
    EXPECT_EQ(maker(graph, "a").subgraph("then_branch"), nullptr);
  };
  expect_branches();
  graph.edit(node).set_doc_string("of both signs");
  expect_branches();
}

TEST(Graph, SoleUse) {
  const auto model = parse("g (float[2] x) => (float[2] y, float[2] z) { a = Relu (x)  y = Add (a, a)  z = Neg (y) }");
  const Graph& graph = model->graph();
  ASSERT_NE(graph.find("x")->sole_use(), nullptr);
  EXPECT_EQ(graph.find("x")->sole_use()->node->op_type(), "Relu");
  EXPECT_EQ(graph.find("a")->sole_use(), nullptr);  // two uses by one node
  EXPECT_EQ(graph.find("y")->sole_use(), nullptr);  // also an output
  EXPECT_EQ(graph.find("z")->sole_use(), nullptr);  // never used
}

TEST(Graph, NestedOutputMayNameAnOuterValue) {
  const auto model = parse(R"(g (bool c, float[2] x) => (float[2] y) { a = Relu (x)
    y = If (c) <then_branch = t () => (float[2] a) { }, else_branch = e () => (float[2] q) { q = Neg (x) }> })");
  EXPECT_TRUE(model->graph().find("a")->is_captured());
  EXPECT_EQ(model->graph().find("a")->output_count(), 1);
  model->graph().validate();
}

TEST(Graph, DeclaredShapes) {
  const auto model = parse("g (float[N,3,?] x) => (y) { y = Relu (x) }");
  const auto shape = model->graph().find("x")->declared();
  ASSERT_TRUE(shape && shape->has_shape);
  EXPECT_EQ(shape->type, DataType::float32);
  EXPECT_THAT(shape->dims, ElementsAre(-1, 3, -1));
  EXPECT_THAT(shape->symbols, ElementsAre("N", "", ""));
}

TEST(Graph, DeclarationsInWords) {
  const auto model = parse("g (float[N,3,?] x, seq(int64[]) s, optional(bool) o) => (float y, z) { y = Relu (x)  z = Neg (x) }");
  const auto text = [&](const char* name) { return declared_text(model->graph().find(name)->info()); };
  EXPECT_EQ(text("x"), "f32 [N, 3, ?]");
  EXPECT_EQ(text("s"), "a sequence of i64 of any shape");
  EXPECT_EQ(text("o"), "an optional bool []");
  EXPECT_EQ(text("z"), "undeclared");
}

TEST(Graph, OpsetOfModelAndOfFunction) {
  const auto model = parse(R"(g (float[2] x) => (float[2] y) { y = local.f (x) }
    <opset_import: ["" : 13], domain: "local"> f (a) => (b) { b = Relu (a) })",
                           R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)");
  EXPECT_EQ(model->graph().opset(""), 17);
  EXPECT_EQ(model->graph().opset("ai.onnx"), 17);
  EXPECT_EQ(model->graph().opset("other"), 0);
  ASSERT_EQ(model->functions().size(), 1U);
  const Graph& function = *model->functions()[0];
  EXPECT_TRUE(function.is_function());
  EXPECT_EQ(function.opset(""), 13);
  EXPECT_EQ(function.nodes().front().opset(), 13);
  EXPECT_TRUE(function.nodes().front().is("Relu"));
  EXPECT_EQ(model->graph().nodes().front().domain(), "local");
  EXPECT_FALSE(model->graph().nodes().front().is("f"));
  function.validate();
}

// B31–B37

TEST(Graph, B31Cycle) {
  EXPECT_THAT(refusal("g (float[2] x) => (float[2] y) { a = Add (x, c)  b = Relu (a)  c = Neg (b)  y = Relu (a) }"), HasSubstr("cycle"));
}

TEST(Graph, B31CycleThroughANestedGraph) {
  EXPECT_THAT(refusal(R"(g (bool k, float[2] x) => (float[2] y) {
    a = If (k) <then_branch = t () => (float[2] p) { p = Relu (y) }, else_branch = e () => (float[2] q) { q = Neg (x) }>
    y = Relu (a) })"),
              HasSubstr("cycle"));
}

TEST(Graph, B32SelfLoop) {
  EXPECT_THAT(refusal("g (float[2] x) => (float[2] y) { y = Add (x, y) }"), HasSubstr("reads its own output"));
}

TEST(Graph, B33UseBeforeDefinitionIsSorted) {
  set_log_level(LogLevel::quiet);
  const auto model = parse("g (float[2] x) => (float[2] y) { y = Add (b, a)  d = Relu (x)  b = Relu (a)  a = Neg (x) }");
  set_log_level(LogLevel::normal);
  EXPECT_THAT(order_of(model->graph()), ElementsAre("a", "b", "y", "d"));
  EXPECT_FALSE(model->graph().modified());
  model->graph().validate();
}

TEST(Graph, B33CapturedUseBeforeDefinitionIsSorted) {
  set_log_level(LogLevel::quiet);
  const auto model = parse(R"(g (bool c, float[2] x) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] p) { p = If (c) <then_branch = t2 () => (float[2] r) { r = Add (a, b) },
                                                                 else_branch = e2 () => (float[2] s) { s = Neg (x) }> },
                else_branch = e () => (float[2] q) { q = Neg (x) }>
    a = Relu (b)
    b = Relu (x) })");
  set_log_level(LogLevel::normal);
  EXPECT_THAT(order_of(model->graph()), ElementsAre("b", "a", "y"));
  model->graph().validate();
}

TEST(Graph, B34DuplicateOutput) {
  EXPECT_THAT(refusal("g (float[2] x) => (float[2] y) { y = Relu (x)  y = Neg (x) }"),
              HasSubstr("'y' of node output 'y' (Neg) is already made by node"));
  EXPECT_THAT(refusal("g (float[2] x) => (y) { y, y = Split <axis = 0> (x) }"), HasSubstr("already"));
}

TEST(Graph, AnOutputMayBeListedSeveralTimes) {
  const auto model = parse("g (float[2] x) => (float[2] y, float[2] z, float[N] y) { y = Relu (x)  z = Neg (x) }");
  const auto& outputs = model->graph().outputs();
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0], outputs[2]);
  EXPECT_EQ(outputs[0]->output_count(), 2);
  model->graph().validate();
  // If the entries contradict each other, none of them can be chosen.
  for (const char* const other : {"int64[2]", "float[3]", "float[2,1]", "seq(float[2])"}) {
    EXPECT_THAT(refusal("g (float[2] x) => (float[2] y, " + std::string(other) + " y) { y = Relu (x) }"),
                HasSubstr("output 'y' is there twice, with types or shapes that contradict each other"));
  }
}

TEST(Graph, B34DuplicateInitializerOrInput) {
  onnx::ModelProto message;
  message.set_ir_version(8);
  message.add_opset_import()->set_version(17);
  for (int i = 0; i < 2; ++i) {
    auto& tensor = *message.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(1);
    tensor.set_raw_data(std::string(4, '\0'));
  }
  EXPECT_THROW(static_cast<void>(Model::from_bytes(message.SerializeAsString())), Error);
  EXPECT_THAT(refusal("g (float[2] x, float[2] x) => (float[2] y) { y = Relu (x) }"), HasSubstr("already an input"));
}

TEST(Graph, B35OutputNamedAsInputOrInitializer) {
  EXPECT_THAT(refusal("g (float[2] x) => (float[2] x) { x = Relu (x) }"), HasSubstr("already an input"));
  EXPECT_THAT(refusal("g (float[2] x) => (float[2] w) <float[2] w = {1, 2}> { w = Relu (x) }"), HasSubstr("already an initializer"));
}

TEST(Graph, B35GraphOutputMayBeInputOrInitializer) {
  EXPECT_EQ(refusal("g (float[2] x) => (float[2] x, float[2] w) <float[2] w = {1, 2}> { y = Relu (x) }"), "accepted");
}

TEST(Graph, B36DanglingInputAndOutput) {
  EXPECT_THAT(refusal("g (float[2] x) => (float[2] y) { y = Add (x, nobody) }"), HasSubstr("reads 'nobody', which nothing makes"));
  EXPECT_THAT(refusal("g (float[2] x) => (float[2] z) { y = Relu (x) }"), HasSubstr("output 'z' is made by nothing"));
}

TEST(Graph, B36InnerNamesAreNotVisibleOutside) {
  EXPECT_THAT(refusal(R"(g (bool c, float[2] x) => (float[2] y) { z = Relu (p)
    y = If (c) <then_branch = t () => (float[2] p) { p = Neg (x) }, else_branch = e () => (float[2] q) { q = Neg (x) }> })"),
              HasSubstr("'p'"));
}

TEST(Graph, B36HiddenOuterNames) {
  EXPECT_THAT(refusal(R"(g (bool c, float[2] x) => (float[2] y) { a = Relu (x)
    y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) }, else_branch = e () => (float[2] q) { q = Neg (x) }> })"),
              HasSubstr("'a', made by node output 'a' (Neg), hides a value of the same name outside, made by node output 'a' (Relu)"));
  EXPECT_THAT(refusal(R"(g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    y = If (c) <then_branch = t () => (float[2] p) <float[2] w = {3, 4}> { p = Neg (w) }, else_branch = e () => (float[2] q) { q = Neg (w) }> })"),
              HasSubstr("ONNX Runtime takes the outer value"));
  EXPECT_THAT(refusal(R"(g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    y = If (c) <then_branch = t () => (float[2] p) { w = Neg (x)  p = Neg (w) }, else_branch = e () => (float[2] q) { q = Neg (x) }> })"),
              HasSubstr("hides"));
}

/// ONNX Runtime takes initializers and inputs of nested graphs that hide an outer value. Each gets a name of its own.
TEST(Graph, HidingInitializersAndInputsGetNamesOfTheirOwn) {
  const auto model = Model::from_text(
      R"(<ir_version: 8, opset_import: ["": 17]> g (bool c, float[2] x, int64 n) => (float[2] y, float[2] z) <float[2] w = {3, 5}> {
    y0 = Mul (x, w)
    r = If (c) <then_branch = t () => (float[2] p) <float[2] w = {1, 2}, float[2] x = {7, 8}> {
                  p = If (c) <then_branch = t2 () => (float[2] w) {}, else_branch = e2 () => (float[2] q2) { q2 = Neg (w) }> },
                else_branch = e () => (float[2] q) { q = Neg (y0) }>
    z = Loop (n, , x) <body = b (int64 i, bool k, float[2] w) => (bool k2, float[2] s) { k2 = Identity (k)  s = Add (w, x) }>
    y = Add (r, w) })");
  model->graph().validate();
  const Graph& then = *std::next(model->graph().nodes().begin())->subgraph("then_branch");
  std::vector<std::string> names;
  for (const Initializer& initializer : then.initializers()) names.push_back(initializer.value->name());
  EXPECT_THAT(names, testing::UnorderedElementsAre("w_2", "x_2"));
  const Node& inner = then.nodes().front();
  EXPECT_EQ(&inner.subgraph("then_branch")->outputs()[0]->graph(), &then) << "the output is the value of the branch around it";
  EXPECT_EQ(inner.subgraph("else_branch")->nodes().front().input(0)->name(), "w_2");
  for (const Node& node : model->graph().nodes()) {
    if (!node.is("Loop")) continue;
    EXPECT_EQ(node.subgraph("body")->inputs()[2]->name(), "w_3");
  }
}

TEST(Graph, B36NamesOfSiblingsAndOfTheHoldersOutputsAreFree) {
  EXPECT_EQ(refusal(R"(g (bool c, float[2] x) => (float[2] z) {
    y = If (c) <then_branch = t () => (float[2] y) { y = Neg (x) }, else_branch = e () => (float[2] y) { z = Relu (x)  y = Neg (z) }>
    z = Relu (y) })"),
            "accepted");
}

TEST(Graph, B43TooManyLevels) {
  onnx::ModelProto message;
  message.set_ir_version(8);
  message.add_opset_import()->set_version(17);
  onnx::GraphProto* graph = message.mutable_graph();
  for (int level = 0; level < 201; ++level) {
    onnx::NodeProto& node = *graph->add_node();
    node.set_op_type("Foo");
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("body");
    attribute.set_type(onnx::AttributeProto::GRAPH);
    graph = attribute.mutable_g();
  }
  try {
    static_cast<void>(Model::from_bytes(message.SerializeAsString()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("200 levels"));
  }
}

// Mutators

TEST(Graph, SetInputGrowsAndTrims) {
  const auto model = parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Clip (x, w) }");
  Graph& graph = model->graph();
  Node& clip = maker(graph, "y");
  graph.set_input(clip, 2, graph.find("w"));
  EXPECT_EQ(clip.whole_message().input_size(), 3);
  graph.set_input(clip, 1, nullptr);
  EXPECT_EQ(clip.whole_message().input(1), "");
  EXPECT_EQ(readers_of(*graph.find("w")), (std::multiset<std::string>{"y:2"}));
  graph.set_input(clip, 2, nullptr);
  EXPECT_EQ(clip.inputs().size(), 1U);
  EXPECT_EQ(clip.whole_message().input_size(), 1);
  EXPECT_TRUE(clip.modified());
  EXPECT_TRUE(graph.modified());
  graph.validate();
}

TEST(Graph, TakeOutputThenErase) {
  const auto model = parse("g (float[2] x) => (float[2] y) <float[2] a> { a = Neg (x)  y = Relu (a) }");
  Graph& graph = model->graph();
  Node& relu = maker(graph, "y");
  Node& negate = maker(graph, "a");
  graph.set_input(relu, 0, nullptr);
  graph.take_output(negate, 0, *graph.find("y"));
  graph.erase(relu);
  EXPECT_TRUE(relu.erased());
  EXPECT_EQ(graph.find("a"), nullptr);
  EXPECT_EQ(graph.find("y")->producer(), &negate);
  EXPECT_EQ(negate.whole_message().output(0), "y");
  EXPECT_THAT(order_of(graph), ElementsAre("y"));
  ASSERT_EQ(graph.message()->value_info_size(), 1);
  EXPECT_TRUE(graph.is_stale(graph.message()->value_info(0)));
  graph.validate();
  graph.sync();
  EXPECT_EQ(graph.message()->node_size(), 1);
  EXPECT_EQ(graph.message()->value_info_size(), 0);
}

TEST(Graph, EraseRefusesNodesThatAreStillRead) {
  const auto model = parse("g (float[2] x) => (float[2] y) { a = Neg (x)  y = Relu (a) }");
  EXPECT_THROW(model->graph().erase(maker(model->graph(), "a")), Error);
}

TEST(Graph, EraseReleasesCaptures) {
  const auto model = parse(R"(g (bool c, float[2] x) => (float[2] z) { a = Relu (x)
    y = If (c) <then_branch = t () => (float[2] p) { p = Add (a, x) }, else_branch = e () => (float[2] a) { }>
    z = Neg (x) })");
  Graph& graph = model->graph();
  graph.erase(maker(graph, "y"));
  EXPECT_FALSE(graph.find("a")->is_captured());
  EXPECT_FALSE(graph.find("a")->is_output());
  graph.erase(maker(graph, "a"));
  EXPECT_THAT(order_of(graph), ElementsAre("z"));
  graph.validate();
}

TEST(Graph, ReplaceUsesInNestedGraphsToo) {
  const auto model = parse(kIf);
  Graph& graph = model->graph();
  graph.replace_uses(*graph.find("a"), *graph.find("x"));
  EXPECT_TRUE(graph.find("a")->uses().empty());
  EXPECT_FALSE(graph.find("a")->is_captured());
  EXPECT_EQ(graph.find("x")->uses().size(), 4U);
  EXPECT_TRUE(maker(graph, "y").modified());
  EXPECT_EQ(maker(graph, "y").subgraphs()[1]->nodes().front().input(0)->name(), "x");
  graph.validate();
}

TEST(Graph, InsertInitializerAndNode) {
  const auto model = parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}> { a = Add (x, w)  y = Add (a, v) }");
  Graph& graph = model->graph();
  Value& added = graph.add_initializer("w.more", floats({2}), &graph.initializers().front());
  EXPECT_EQ(std::next(graph.initializers().begin())->value, &added);
  onnx::NodeProto message;
  message.set_op_type("Mul");
  message.add_input("w");
  message.add_input("w.more");
  message.add_output("wm");
  Node& node = graph.insert_before(graph.nodes().begin(), message);
  graph.set_input(maker(graph, "a"), 1, node.output(0));
  EXPECT_THAT(order_of(graph), ElementsAre("wm", "a", "y"));
  graph.validate();
  graph.sync();
  graph.validate();
  ASSERT_EQ(graph.message()->initializer_size(), 3);
  EXPECT_EQ(graph.message()->initializer(1).name(), "w.more");
  EXPECT_EQ(graph.message()->node(0).op_type(), "Mul");
  EXPECT_EQ(graph.message()->input_size(), 1);
}

TEST(Graph, Ir3InitializersAreInputs) {
  const auto model = parse(
      "g (float[2] x, float[2] w, float[2] v) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}> { a = Add (x, w)  y = Add (a, v) "
      "}",
      "<ir_version: 3, opset_import: [\"\" : 8]>");
  Graph& graph = model->graph();
  EXPECT_FALSE(graph.find("w")->is_overridable());
  Value& added = graph.add_initializer("w.new", floats({2, 1}));
  EXPECT_TRUE(added.is_input());
  graph.set_input(maker(graph, "a"), 1, &added);
  graph.erase_initializer(*graph.find("w")->initializer());
  graph.set_data(*graph.find("v")->initializer(), floats({1, 2}));
  graph.validate();
  graph.sync();
  std::vector<std::string> names;
  for (const auto& input : graph.message()->input()) names.push_back(input.name());
  EXPECT_THAT(names, ElementsAre("x", "v", "w.new"));
  EXPECT_EQ(graph.message()->input(1).type().tensor_type().shape().dim_size(), 2);
  EXPECT_TRUE(graph.is_modified(graph.message()->input(1)));
  EXPECT_EQ(graph.message()->input(2).type().tensor_type().shape().dim(0).dim_value(), 2);
}

TEST(Graph, OverridableInitializersAndFreeze) {
  const auto model = parse("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }");
  Graph& graph = model->graph();
  Value& w = *graph.find("w");
  EXPECT_TRUE(w.is_overridable());
  EXPECT_THROW(graph.erase_initializer(*w.initializer()), Error);
  graph.freeze(*w.initializer());
  EXPECT_FALSE(w.is_overridable());
  EXPECT_EQ(graph.inputs().size(), 1U);
  graph.validate();
}

TEST(Graph, DetachAndAttachAreInverse) {
  for (const char* const head : {"<ir_version: 3, opset_import: [\"\" : 8]>", "<ir_version: 8, opset_import: [\"\" : 17]>"}) {
    const bool ir3 = std::string(head).find("ir_version: 3") != std::string::npos;
    const auto model = parse(std::string("g (") + (ir3 ? "float[1,2] w, " : "") +
                                 "float[1,2] x) => (float[1,2] y, float[1,2] w) <float[1,2] w = {1, 2}> { y = Add (x, w) }",
                             head);
    Graph& graph = model->graph();
    graph.sync();
    const std::string before = model->message().SerializeAsString();
    Value& w = *graph.find("w");
    Value& stored = graph.detach(w, "w.stored");
    onnx::NodeProto message;
    message.set_op_type("Transpose");
    message.add_input("w.stored");
    message.add_output("w");
    Node& transpose = graph.insert_before(graph.nodes().begin(), message);
    graph.set_data(*stored.initializer(), stored.initializer()->data->permuted(Dims{1, 0}));
    EXPECT_EQ(graph.find("w"), &w);
    EXPECT_EQ(w.producer(), &transpose);
    EXPECT_TRUE(w.is_output());
    EXPECT_EQ(stored.is_input(), ir3);
    graph.validate();
    graph.sync();
    graph.validate();
    graph.set_data(*stored.initializer(), stored.initializer()->data->permuted(Dims{1, 0}));
    graph.attach(stored, transpose);
    EXPECT_EQ(w.producer(), nullptr);
    EXPECT_EQ(w.is_input(), ir3);
    graph.validate();
    graph.sync();
    EXPECT_EQ(model->message().SerializeAsString(), before);
  }
}

TEST(Graph, DetachAndAttachOfANodesOutput) {
  const auto model = parse("g (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1, 2}> ()  y = Add (x, c) }");
  Graph& graph = model->graph();
  graph.sync();
  const std::string before = model->message().SerializeAsString();
  Node& constant = maker(graph, "c");
  Value& stored = graph.detach(*graph.find("c"), "c.stored");
  EXPECT_EQ(stored.producer(), &constant);
  onnx::NodeProto message;
  message.set_op_type("Identity");
  message.add_input("c.stored");
  message.add_output("c");
  Node& identity = graph.insert_before(std::next(graph.position_of(constant)), message);
  graph.validate();
  graph.attach(stored, identity);
  graph.validate();
  graph.sync();
  EXPECT_EQ(model->message().SerializeAsString(), before);
}

TEST(Graph, RenameReachesReadersAndNestedGraphs) {
  const auto model = parse(kIf);
  Graph& graph = model->graph();
  graph.rename(*graph.find("a"), "layer.1/a");
  EXPECT_EQ(graph.find("a"), nullptr);
  graph.validate();
  graph.sync();
  EXPECT_EQ(graph.nodes().front().message().output(0), "layer.1/a");
  EXPECT_EQ(maker(graph, "y").attribute("then_branch")->g().node(0).input(0), "layer.1/a");
}

TEST(Graph, RenameReachesInputsAndOutputs) {
  const auto model = parse("g (float[2] x) => (float[2] y, float[2] z) { y = Relu (x) z = Neg (y) }");
  Graph& graph = model->graph();
  graph.rename(*graph.find("x"), "image");
  graph.rename(*graph.find("y"), "scores");
  graph.validate();
  ASSERT_NE(graph.find("scores")->declared(), std::nullopt);
  EXPECT_EQ(graph.find("scores")->declared()->dims, Dims{2});
  graph.sync();
  const onnx::GraphProto& message = model->message().graph();
  EXPECT_EQ(message.input(0).name(), "image");
  EXPECT_EQ(message.node(0).input(0), "image");
  EXPECT_EQ(message.output(0).name(), "scores");
  EXPECT_EQ(message.node(1).input(0), "scores");
}

TEST(Graph, ValidateFindsAChangedOutputOfTheGraph) {
  const auto model = parse("g (float[2] x) => (float[2] y) { y = Relu (x) }");
  model->graph().message()->mutable_output(0)->set_name("other");
  EXPECT_THROW(model->graph().validate(), Error);
}

// Messages of nodes

TEST(Graph, NodesOfOneKindShareAMessageUntilOneIsEdited) {
  const auto model =
      parse("g (float[2] x) => (float[2] y) { a = LeakyRelu <alpha: float = 0.5> (x)  y = LeakyRelu <alpha: float = 0.5> (a) }");
  Graph& graph = model->graph();
  Node& first = graph.nodes().front();
  Node& last = graph.nodes().back();
  EXPECT_EQ(&first.message(), &last.message());
  EXPECT_EQ(first.whole_message().input(0), "x");
  EXPECT_EQ(last.whole_message().input(0), "a");
  graph.edit(last).mutable_attribute(0)->set_f(0.25F);
  EXPECT_EQ(first.attribute("alpha")->f(), 0.5F);
  EXPECT_EQ(last.attribute("alpha")->f(), 0.25F);
  graph.sync();
  EXPECT_EQ(graph.message()->node(0).output(0), "a");
  EXPECT_EQ(graph.message()->node(1).attribute(0).f(), 0.25F);
  EXPECT_NE(&first.message(), &last.message());
}

/// The parts of a node in unusual encodings: operands among the attributes, a name given twice, an unknown group.
TEST(Graph, NodesReadAsProtobufReadsThem) {
  const test::WireWriter one = test::WireWriter().bytes(2, "a").bytes(3, "old").bytes(4, "Relu").bytes(1, "x").bytes(3, "new");
  const test::WireWriter group =
      test::WireWriter().bytes(1, "a").bytes(2, "b").bytes(4, "Relu").group(99, test::WireWriter().varint(1, 7)).bytes(3, "grouped");
  const test::WireWriter unnamed = test::WireWriter().bytes(1, "b").bytes(2, "y").bytes(3, "lost").bytes(4, "Relu").bytes(3, "");
  onnx::ModelProto head = parse("g (float[2] x) => (float[2] y) { y = Relu (x) }")->message();
  head.mutable_graph()->clear_node();
  const test::WireWriter nodes = test::WireWriter().message(1, one).message(1, group).message(1, unnamed);
  const std::string bytes = head.SerializeAsString() + test::WireWriter().message(7, nodes).str();
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  const auto model = Model::from_bytes(bytes);
  ASSERT_EQ(model->graph().nodes().size(), 3U);
  int i = 0;
  for (const Node& node : model->graph().nodes()) {
    EXPECT_EQ(node.whole_message().SerializeAsString(), parsed.graph().node(i++).SerializeAsString());
  }
  EXPECT_EQ(model->graph().nodes().front().name(), "new");
  EXPECT_EQ(model->graph().nodes().back().name(), "");
}

// Cost

onnx::ModelProto wide_model(int readers) {
  onnx::ModelProto message;
  message.set_ir_version(8);
  message.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *message.mutable_graph();
  graph.add_input()->set_name("x");
  for (int i = 0; i < readers; ++i) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("Relu");
    node.add_input("x");
    node.add_output("y" + std::to_string(i));
  }
  graph.add_output()->set_name("y0");
  return message;
}

TEST(Graph, ManyReadersOfOneValueAreErasedInLinearTime) {
  constexpr int kReaders = kMany;
  const auto model = Model::from_bytes(wide_model(kReaders).SerializeAsString());
  Graph& graph = model->graph();
  const Value& x = *graph.find("x");
  ASSERT_EQ(x.uses().size(), static_cast<std::size_t>(kReaders));
  for (auto at = std::next(graph.nodes().begin()); at != graph.nodes().end();) graph.erase(*at++);
  EXPECT_EQ(x.uses().size(), 1U);
  graph.validate();
}

TEST(Graph, ReversedChainIsSortedInLinearTimeWithoutDeepRecursion) {
  constexpr int kLength = kMany;
  onnx::ModelProto message;
  message.set_ir_version(8);
  message.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *message.mutable_graph();
  graph.add_input()->set_name("v0");
  for (int i = kLength; i > 0; --i) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("Relu");
    node.add_input("v" + std::to_string(i - 1));
    node.add_output("v" + std::to_string(i));
  }
  graph.add_output()->set_name("v" + std::to_string(kLength));
  set_log_level(LogLevel::quiet);
  const auto model = Model::from_bytes(message.SerializeAsString());
  set_log_level(LogLevel::normal);
  EXPECT_EQ(model->graph().nodes().front().output(0)->name(), "v1");
  model->graph().validate();
}

}  // namespace
}  // namespace relayout
