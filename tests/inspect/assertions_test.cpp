// Tests statements about a model, and the list of its nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "relayout/error.h"
#include "relayout/inspect.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

InspectResult some_model() {
  InspectResult out;
  out.opset = 17;
  out.ir_version = 8;
  out.file_bytes = 20'000'000;
  out.nodes = 3;
  out.op_counts = {{"Conv", 2}, {"Relu", 1}};
  return out;
}

bool holds(const std::string& statement) {
  return check_assertions(some_model(), {statement}).front().holds;
}

TEST(Assertions, CountsAndVersions) {
  EXPECT_TRUE(holds("BatchNormalization=0"));
  EXPECT_TRUE(holds("Conv == 2"));
  EXPECT_FALSE(holds("Conv=3"));
  EXPECT_TRUE(holds("Conv!=3"));
  EXPECT_TRUE(holds("opset<=17"));
  EXPECT_FALSE(holds("opset<17"));
  EXPECT_TRUE(holds("ir>7"));
  EXPECT_TRUE(holds("nodes>=3"));
}

TEST(Assertions, Units) {
  EXPECT_TRUE(holds("bytes<=20MB"));
  EXPECT_FALSE(holds("bytes<=19 MiB"));
  EXPECT_TRUE(holds("bytes<20 MiB"));
  EXPECT_TRUE(holds("bytes>=20000kB"));
}

TEST(Assertions, WhatIsNotKnownDoesNotHold) {
  EXPECT_FALSE(holds("macs<=100M"));
  EXPECT_EQ(check_assertions(some_model(), {"macs<=100M"}).front().found, "not known");
}

TEST(Assertions, Operators) {
  const TemporaryFolder folder;
  std::ofstream(folder / "allowed") << "Conv # the rest\nSigmoid";
  const Assertion found = check_assertions(some_model(), {"ops in " + (folder / "allowed").string()}).front();
  EXPECT_FALSE(found.holds);
  EXPECT_EQ(found.found, "also Relu");
  std::ofstream(folder / "allowed") << "Conv Relu";
  EXPECT_TRUE(holds("ops in " + (folder / "allowed").string()));
  EXPECT_THROW((void)holds("ops in " + (folder / "absent").string()), Error);
}

TEST(Assertions, WhatCannotBeRead) {
  for (const char* const statement : {"Conv", "Conv=", "=3", "Conv=<3", "Conv=x", "BatchNorm=0", "opsets<=17", "bytes<=99999999999GB"}) {
    EXPECT_THROW((void)holds(statement), Error) << statement;
  }
}

TEST(Nodes, AreListedWithTheirWork) {
  const TemporaryFolder folder;
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("g");
  set_tensor_type(*graph.add_input(), "x", 1, {2, 3});
  set_tensor_type(*graph.add_output(), "y", 1, {2, 3});
  *graph.add_initializer() = float_tensor("w", {3, 3}, 1);
  add_node(graph, "MatMul", {"x", "w"}, {"m"}, "first");
  add_node(graph, "MatMul", {"m", "w"}, {"y"}, "second");
  save_model(model, folder / "m.onnx");
  InspectOptions options;
  options.nodes = true;
  const std::vector<NodeSummary> nodes = inspect(folder / "m.onnx", options).node_list;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].node, "first");
  EXPECT_EQ(nodes[0].dims, "[2, 3]");
  EXPECT_EQ(nodes[0].macs, 18);
  EXPECT_EQ(nodes[0].parameters, 9);
  EXPECT_EQ(nodes[0].bytes, 36);
  EXPECT_EQ(nodes[0].result_bytes, 24);
  EXPECT_EQ(nodes[1].parameters, 0) << "the first node that reads it has it";
  EXPECT_TRUE(inspect(folder / "m.onnx").node_list.empty());
}

}  // namespace
}  // namespace relayout::test
