#include <gtest/gtest.h>

#include <array>

#include "model/float_elements.h"
#include "passes/edits.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

/// The kind of constant that a nested graph gets: the op type of its node, or "initializer".
std::string constant_in_branch(int ir_version) {
  const std::string head = "<ir_version: " + std::to_string(ir_version) + R"(, opset_import: ["" : 13]>)";
  const auto model = TextModel(
                         "g (bool flag, float[2] x) => (float[2] y) { y = If (flag) <"
                         "then_branch = a () => (float[2] t) { t = Neg (x) }, else_branch = b () => (float[2] e) { e = Abs (x) }> }",
                         head)
                         .load();
  Node& branching = model->graph().nodes().front();
  Graph& branch = *branching.subgraphs().front();
  const Value* const made =
      &passes::add_constant(branch, branch.nodes().front(), "c", from_doubles(DataType::float32, {2}, std::array{1.0, 2.0}), nullptr);
  branch.validate();
  return made->producer() != nullptr ? made->producer()->op_type() : "initializer";
}

TEST(AddConstant, NestedGraphsHaveNoInitializersBeforeIr4) {
  EXPECT_EQ(constant_in_branch(3), "Constant");
  EXPECT_EQ(constant_in_branch(4), "initializer");
}

}  // namespace
}  // namespace relayout::test
