#include <gmock/gmock.h>

#include "relayout/model.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kPass = "remove-unused";

void expect_unchanged(const TextModel& model) {
  const auto result = run({kPass}, model);
  EXPECT_TRUE(result.bytes == model.bytes()) << to_text(*result.model);
  EXPECT_TRUE(result.findings.empty()) << result.details();
}

TEST(RemoveUnused, ChainsAndTheirInitializers) {
  const auto result = expect_rewrite(kPass,
                                     "g (float[2,3] x) => (float[2,3] y) <float[3] w, int64[1] i = {0}> { s = Shape (x)  t = Gather (s, i) "
                                     " u = Cast <to = 1> (t)  d = Mul (x, w)  y = Relu (x) }",
                                     "g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }");
  EXPECT_TRUE(result.model->graph().initializers().empty());
  EXPECT_EQ(result.findings.size(), 6U);
}

TEST(RemoveUnused, ValueInfoIsRemovedWithItsValue) {
  const auto result = run({kPass}, "g (float[2] x) => (float[2] y) <float[2] d> { d = Neg (x)  y = Relu (x) }");
  EXPECT_EQ(result.model->message().graph().value_info_size(), 0);
}

TEST(RemoveUnused, Ir3InputsAreRemovedWithTheirInitializers) {
  const auto result =
      run({kPass}, with_initializers_as_inputs(TextModel("g (float[2] x) => (float[2] y) <float[2] w> { y = Relu (x) }", head(8))));
  EXPECT_EQ(result.model->graph().inputs().size(), 1U);
  EXPECT_TRUE(result.model->graph().initializers().empty());
}

TEST(RemoveUnused, VisibleThingsStay) {
  expect_unchanged("g (float[2] x, float[2] unread) => (float[2] y, float[2] w) <float[2] w> { y = Relu (x) }");
  expect_unchanged("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Relu (x) }");
}

TEST(RemoveUnused, ASequenceMapIsRemovedWithItsBody) {
  const auto result = run({kPass},
                          "g (float[2] x) => (float[2] y) { q = SequenceConstruct (x)  d = SequenceMap (q) <body = f (float[2] i) "
                          "=> (float[2] o) { o = Neg (i) }>  y = Relu (x) }");
  EXPECT_EQ(result.model->graph().nodes().size(), 1U);
}

TEST(RemoveUnused, UnknownOperatorsStay) {
  const std::string domains = R"(<ir_version: 8, opset_import: ["" : 17, "other" : 1]>)";
  expect_unchanged(TextModel("g (float[2] x) => (float[2] y) <float[2] w> { d = other.Log (x, w)  y = Relu (x) }", domains));
  expect_unchanged(TextModel("g (float[2] x) => (float[2] y) { d = NoSuchOperator (x)  y = Relu (x) }", domains));
}

TEST(RemoveUnused, DeadBranchesOfKnownOperators) {
  const auto result = run({kPass},
                          "g (bool k, float[2] x) => (float[2] y) <float[2] w> { a = Neg (x)  d = If (k) <then_branch = t () => (float[2] "
                          "p) { p = Add (a, w) }, else_branch = e () => (float[2] q) { q = Neg (x) }>  y = Relu (x) }");
  EXPECT_EQ(result.model->graph().nodes().size(), 1U);
  EXPECT_TRUE(result.model->graph().initializers().empty());
}

TEST(RemoveUnused, DeadBranchWithAnUnknownOperatorStays) {
  expect_unchanged(
      TextModel("g (bool k, float[2] x) => (float[2] y) { d = If (k) <then_branch = t () => (float[2] p) { p = other.Log (x) }, "
                "else_branch = e () => (float[2] q) { q = Neg (x) }>  y = Relu (x) }",
                R"(<ir_version: 8, opset_import: ["" : 17, "other" : 1]>)"));
}

TEST(RemoveUnused, InsideLiveBranches) {
  expect_rewrite(kPass,
                 "g (bool k, float[2] x) => (float[2] y) <float[2] w> { y = If (k) <then_branch = t () => (float[2] p) { d = Add (x, w)  p "
                 "= Neg (x) }, else_branch = e () => (float[2] q) { q = Relu (x) }> }",
                 "g (bool k, float[2] x) => (float[2] y) { y = If (k) <then_branch = t () => (float[2] p) { p = Neg (x) }, else_branch = e "
                 "() => (float[2] q) { q = Relu (x) }> }");
}

TEST(RemoveUnused, OneOfSeveralOutputsIsEnough) {
  expect_unchanged("g (float[4] x) => (float[2] y) <int64[2] n = {2, 2}> { y, d = Split <axis = 0> (x, n) }");
}

TEST(RemoveUnused, L72AnnotatedAndTrainedInitializersStay) {
  expect_unchanged(TextModel("g (float[2] x) => (float[2] y) <float s> { y = Relu (x) }").edit([](onnx::ModelProto& message) {
    auto& annotation = *message.mutable_graph()->add_quantization_annotation();
    annotation.set_tensor_name("x");
    auto& entry = *annotation.add_quant_parameter_tensor_names();
    entry.set_key("SCALE_TENSOR");
    entry.set_value("s");
  }));
}

}  // namespace
}  // namespace relayout::test
