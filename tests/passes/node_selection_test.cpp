#include <gtest/gtest.h>

#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/pass_options.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

/// The complaint about patterns over the nodes "first", output "z" (nameless), and "inner" of a nested graph; "" if there is none.
std::string complaint(const PassOptions& options) {
  const auto model =
      TextModel(
          "g (bool k, float[2] x) => (float[2] y, float[2] z) { y = If (k) <then_branch = t () => (float[2] p) { p = Neg (x) }, "
          "else_branch = e () => (float[2] q) { q = Abs (x) }>  z = Relu (x) }")
          .edit([](onnx::ModelProto& message) {
            message.mutable_graph()->mutable_node(0)->set_name("first");
            message.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_name("inner");
          })
          .load();
  try {
    passes::check_patterns(*model, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return {};
}

TEST(Patterns, NamesAndFirstOutputsOfAllGraphs) {
  PassOptions options;
  EXPECT_EQ(complaint(options), "");
  options.only = {"first", "z", "in*"};
  options.exclude = {"*"};
  EXPECT_EQ(complaint(options), "");
}

TEST(Patterns, PatternsWithoutAMatchAreNamed) {
  PassOptions options;
  options.only = {"first", "y"};  // the output of a node with a name
  EXPECT_NE(complaint(options).find("--only 'y'"), std::string::npos);
  options = {};
  options.exclude = {"z?"};
  EXPECT_NE(complaint(options).find("--exclude 'z?'"), std::string::npos);
}

}  // namespace
}  // namespace relayout::test
