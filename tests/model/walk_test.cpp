// Tests walks: the order of nodes and graphs, including nested ones and functions, and the values that a nested graph captures.

#include "model/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// An If within an If; the inner one reads x (of the main graph), m (of the graph between) and its own i.
std::unique_ptr<Model> nested_model() {
  return Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x, bool c) => (float[2] y) {
      before = Abs (x)
      chosen = If (c) <
        then_branch = t () => (float[2] t_out) {
          m = Neg (before)
          t_out = If (c) <
            then_branch = tt () => (float[2] tt_out) { i = Add (x, m)
              tt_out = Mul (i, m) },
            else_branch = te () => (float[2] m) { }
          >
        },
        else_branch = e () => (float[2] e_out) { e_out = Exp (x) }
      >
      y = local.Twice (chosen)
    }
    <domain: "local", opset_import: ["" : 17]>
    Twice (a) => (b) { b = Add (a, a) })");
}

template <Nested kNested, class Any>
std::vector<std::string> nodes_of(Any& walked) {
  std::vector<std::string> out;
  for_each_node<kNested>(
      walked, [&](const Node& node) { out.push_back(node.output(0)->name()); },
      [&](const Graph& graph) { out.push_back("> " + graph.outputs().front()->name()); });
  return out;
}

std::vector<std::string> captures_of(const Node& node) {
  std::vector<std::string> out;
  for_each_capture(node, [&](const Value& value) { out.push_back(value.name()); });
  return out;
}

TEST(Walk, NodesOfNestedGraphsComeAfterOrBeforeTheirNode) {
  const auto model = nested_model();
  const Graph& graph = model->graph();
  EXPECT_THAT(nodes_of<Nested::after>(graph),
              ElementsAre("> y", "before", "chosen", "> t_out", "m", "t_out", "> tt_out", "i", "tt_out", "> m", "> e_out", "e_out", "y"));
  EXPECT_THAT(nodes_of<Nested::before>(graph),
              ElementsAre("> y", "before", "> t_out", "m", "> tt_out", "i", "tt_out", "> m", "t_out", "> e_out", "e_out", "chosen", "y"));
}

TEST(Walk, FunctionsComeAfterTheMainGraph) {
  const auto model = nested_model();
  const std::vector<std::string> all = nodes_of<Nested::after>(*model);
  EXPECT_THAT(std::vector<std::string>(all.end() - 3, all.end()), ElementsAre("y", "> b", "b"));
}

TEST(Walk, GraphsComeBeforeOrAfterThoseNestedInThem) {
  const auto model = nested_model();
  std::vector<std::string> after, before;
  for_each_graph(model->graph(), [&](Graph& graph) { after.push_back(graph.outputs().front()->name()); });
  for_each_graph<Nested::before>(model->graph(), [&](Graph& graph) { before.push_back(graph.outputs().front()->name()); });
  EXPECT_THAT(after, ElementsAre("y", "t_out", "tt_out", "m", "e_out"));
  EXPECT_THAT(before, ElementsAre("tt_out", "m", "t_out", "e_out", "y"));
}

TEST(Walk, BackwardsTheVisitorMayEraseItsNode) {
  const auto model = Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) {
      a = Abs (x)
      b = Neg (a)
      y = Exp (x)
      d = Neg (y)
    })");
  std::vector<std::string> seen;
  for_each_node_backwards(model->graph(), [&](Node& node) {
    const Value& made = *node.output(0);
    seen.push_back(made.name());
    if (made.uses().empty() && !made.is_output()) model->graph().erase(node);
  });
  EXPECT_THAT(seen, ElementsAre("d", "y", "b", "a"));
  EXPECT_EQ(model->graph().nodes().size(), 1U);
  model->graph().validate();
}

TEST(Walk, AllOfNodesStopsAtTheFirstThatDoesNotHold) {
  const auto model = nested_model();
  std::vector<std::string> seen;
  const auto is_not_addition = [&](const Node& node) {
    seen.push_back(node.op_type());
    return !node.is("Add");
  };
  EXPECT_FALSE(all_of_nodes(model->graph(), is_not_addition));
  EXPECT_THAT(seen, ElementsAre("Abs", "If", "Neg", "If", "Add"));
  EXPECT_TRUE(all_of_nodes(model->graph(), [](const Node& node) { return !node.is("Sub"); }));
}

TEST(Walk, CapturesAreValuesFromOutsideReadOrNamedAsOutput) {
  const auto model = nested_model();
  const Graph& graph = model->graph();
  const Node& outer = *graph.find("chosen")->producer();
  EXPECT_THAT(captures_of(outer), ElementsAre("before", "c", "x", "x"));
  const Node& inner = *outer.subgraphs().front()->find("t_out")->producer();
  EXPECT_THAT(captures_of(inner), ElementsAre("x", "m", "m", "m"));
  EXPECT_THAT(captures_of(*graph.find("before")->producer()), IsEmpty());
}

}  // namespace
}  // namespace relayout
