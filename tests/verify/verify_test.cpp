#include "relayout/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "networks.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "support/network.h"
#include "verified.h"
#include "verify/compare_models.h"
#include "verify/inputs/port.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::fold_batch_norm;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

/// x [N, size] → y by one node.
Network one_node(const std::string& op_type, const std::vector<std::string>& more_inputs = {},
                 const std::vector<std::string>& attributes = {}) {
  Network n(1);
  n.input("x", {"N", "48"}).output("y", {"N", "48"});
  std::vector<std::string> inputs{"x"};
  inputs.insert(inputs.end(), more_inputs.begin(), more_inputs.end());
  n.node(op_type, inputs, {"y"}, attributes);
  return n;
}

ErrorKind error_of(const std::function<void()>& f, const std::string& says) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()) + " | " + error.hint(), HasSubstr(says));
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::defect;
}

std::vector<Outcome> outcomes(const VerifyResult& result) {
  std::vector<Outcome> out;
  for (const auto& output : result.outputs) out.push_back(output.outcome);
  return out;
}

TEST(Verify, V8RenamedOutputIsNamedAndHinted) {
  Network a = classifier(1), b = a;
  b.producer("y").set_output(0, "Y");
  b.graph().mutable_output(0)->set_name("Y");
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(result.outputs[0].hint, AllOf(HasSubstr("'Y'"), HasSubstr("agree under this renaming")));
  EXPECT_EQ(result.outputs[1].outcome, Outcome::same);
}

TEST(Verify, NanInBothIsRemarked) {
  const auto make = [](const char* op_type) {
    Network n(1);
    n.input("x", {"1", "4"}).output("y", {"1", "4"});
    n.floats("c", {4}, {1, std::nanf(""), 3, 4});
    n.node(op_type, {"x"}, {"t"}), n.node("Add", {"t", "c"}, {"y"});
    return n;
  };
  const VerifyResult result = ran(make("Abs"), make("Abs"));
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_THAT(result.remarks, Contains(MatchesRegex("output 'y': [0-9]+ of [0-9]+ elements (is|are) NaN in both")));
}

TEST(Verify, TwoValuesAreNoSaturationDownstreamOfPermutingNodes) {
  for (const char* const op_type : {"Identity", "Flatten"}) {
    Network n(1);
    n.input("x", {"2", "8"}).output("y", {"2", "8"});
    n.node("Sign", {"x"}, {"t"}), n.node(op_type, {"t"}, {"y"});
    const VerifyResult result = ran(n, n);
    EXPECT_EQ(result.outcome, Outcome::same) << op_type << ": " << summary(result);
  }
}

TEST(Verify, OutputsThatAreDeclaredEmptyAreTheSame) {
  const auto make = [](const char* op_type, const char* rows) {
    Network n(1);
    n.input("x", {"3", "4"}).output("y", {rows, "4"});
    n.integers("zero", {1}, {0});
    n.node("Slice", {"x", "zero", "zero"}, {"t"}), n.node(op_type, {"t"}, {"y"});
    return n;
  };
  EXPECT_EQ(verified(make("Relu", "0"), make("Abs", "0")).outcome, Outcome::same);
  EXPECT_EQ(verified(make("Relu", "N"), make("Abs", "N")).outcome, Outcome::inconclusive);
}

TEST(Verify, V9ExchangedOutputsAreHinted) {
  const auto make = [](const char* first, const char* second) {
    Network n(1);
    n.input("x", {"N", "48"}).output("p", {"N", "48"}).output("q", {"N", "48"});
    n.node("Sigmoid", {"x"}, {first}), n.node("Tanh", {"x"}, {second});
    return n;
  };
  const VerifyResult result = verified(make("p", "q"), make("q", "p"));
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(result.outputs[0].hint, HasSubstr("with those of 'q': the two are exchanged"));
  EXPECT_THAT(result.outputs[1].hint, HasSubstr("with those of 'p'"));
}

TEST(Verify, V18InitializersAmongTheInputsDoNotMatter) {
  Network a = classifier(1), b = a;
  for (const auto& tensor : b.graph().initializer()) {
    auto& input = *b.graph().add_input();
    input.set_name(tensor.name());
    input.mutable_type()->mutable_tensor_type()->set_elem_type(tensor.data_type());
    for (const int64_t dim : tensor.dims()) input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
  }
  b.model().set_ir_version(3);
  EXPECT_EQ(verified(a, b).outcome, Outcome::same);
  EXPECT_EQ(verified(b, a).outcome, Outcome::same);
}

TEST(Verify, V20SequencesOfAnotherLength) {
  const auto make = [](bool three) {
    Network n(1);
    n.input("x", {"6", "8"});
    auto& output = *n.graph().add_output();
    output.set_name("y");
    output.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
    n.integers("split", {}, {three ? 2 : 3}).node("SplitToSequence", {"x", "split"}, {"y"});
    return n;
  };
  EXPECT_EQ(ran(make(true), make(true)).outcome, Outcome::same);
  const VerifyResult result = verified(make(true), make(false));
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(result.outputs[0].reason, HasSubstr("sequence of 2: f32[3, 8], f32[3, 8], was sequence of 3"));
}

TEST(Verify, V22SigmoidDownstreamOfLargeLogits) {
  // Logits in the thousands: an error that is noise upstream of the Sigmoid is large downstream of it, and so is the floor.
  Network a = segmenter(3);
  for (const char* name : {"c3.w", "c3.b"}) {
    a.edit(name, [](auto& v) {
      for (float& value : v) value *= 3000;
    });
  }
  a.insert_after("y", "Sigmoid");
  Network b = a;
  for (const char* value : {"n1.y", "n2.y", "n3.y"}) fold_batch_norm(b, value);
  const VerifyResult result = verified(a, b);
  EXPECT_NE(result.outcome, Outcome::different) << summary(result);
  EXPECT_EQ(result.defect, "") << summary(result);
}

TEST(Verify, V24AWeightBelowTheFloorIsSame) {
  Network a(1);
  a.input("x", {"N", "512"}).output("y", {"N", "64"});
  a.normal("w", {512, 64}, 1).node("MatMul", {"x", "w"}, {"y"});
  Network b = a;
  b.edit("w", [](auto& v) { v[77] *= 1 + 1e-7F; });
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

TEST(Verify, V37CandidateThatFailsAtABatchOfTwo) {
  Network a = classifier(1), b = a;
  b.remove_node("flat");
  b.integers("to", {2}, {1, 12}).node("Reshape", {"g", "to"}, {"flat"});
  b.sort();
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(result.reason,
              AllOf(HasSubstr("the reference runs, the candidate does not"), HasSubstr("/flat/Reshape"), HasSubstr("N = 2")));
  EXPECT_EQ(exit_code(result, true), 1);
}

TEST(Verify, V60V61RowsThatDifferAreLookedUp) {
  Network a = transformer(1);
  a.remove_initializer("table");
  a.normal("table", {4000, 16}, 1);
  Network b = a;
  b.edit("table", [](auto& v) { v[16 * 2718 + 3] += 0.5F; });
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  EXPECT_EQ(result.samples, 4);
}

/// A convolution whose Relu passes no element: no output shows its weights.
Network with_dead_branch(float bias) {
  Network n(1);
  n.input("x", {"N", "3", "6", "6"}).output("y", {"N", "4", "6", "6"});
  n.convolution("c", "x", "c.y", {4, 3, 1, 1}, {}).convolution("d", "x", "d.y", {4, 3, 1, 1}, {});
  n.set_values("d.b", std::vector<float>(4, bias));
  n.node("Relu", {"d.y"}, {"r"}), n.node("Add", {"c.y", "r"}, {"y"});
  return n;
}

TEST(Verify, V61WeightsThatNoOutputShowsAreJudgedAtTheirNode) {
  Network a = with_dead_branch(-100), b = a;
  b.edit("d.w", [](auto& v) { v[2] *= 2; });
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("node 'd' (Conv)"), HasSubstr("which the outputs hide")));
  ASSERT_THAT(result.checks, SizeIs(1));
  EXPECT_EQ(result.checks[0].node, "d");
  EXPECT_GT(result.checks[0].error, 100 * result.checks[0].floor);
  VerifyOptions outputs;
  outputs.outputs_only = true;
  EXPECT_EQ(verified(a, b, outputs).outcome, Outcome::same);
}

TEST(Verify, V93AWeightOfAnAlwaysSmallOperandIsJudgedByValuesBesideTheSamples) {
  Network a(1);
  a.input("x", {"N", "3", "6", "6"}).output("y", {"N", "4", "6", "6"});
  a.convolution("c", "x", "c.y", {16, 3, 1, 1}, {}).convolution("d", "c.y", "y", {4, 16, 1, 1}, {});
  // Channel 5 between the convolutions is 1e-4 of the others.
  a.edit("c.w", [](auto& v) { std::for_each_n(v.begin() + 15, 3, [](float& w) { w *= 1e-4F; }); });
  a.edit("c.b", [](auto& v) { v[5] = 0; });
  Network b = a;
  b.edit("d.w", [](auto& v) { v[5] *= 1.002F; });
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("node 'd' (Conv)"), HasSubstr("values beside theirs do")));
}

TEST(Verify, OtherAxesOfANodeThatReshapesShowInTheDims) {
  const auto net = [](int64_t axis) {
    Network n(3);
    n.input("x", {"N"}).output("y", {"A", "B", "C"});
    n.integers("first", {1}, {0}).integers("second", {1}, {axis});
    n.node("Unsqueeze", {"x", "first"}, {"row"}), n.node("Unsqueeze", {"row", "second"}, {"volume"}), n.node("Sigmoid", {"volume"}, {"y"});
    return n;
  };
  // A dim of 1 before or after one is the same; the axis is not a number that other samples could reach.
  EXPECT_EQ(verified(net(1), net(0)).outcome, Outcome::same);
  EXPECT_EQ(verified(net(1), net(2)).outcome, Outcome::different);
}

TEST(Verify, V95MasksWithHolesAreARemark) {
  const auto make = [](bool by_length) {
    Network n(1);
    n.input("x", {"N", "6"}).input("attention_mask", {"N", "6"}, onnx::TensorProto::INT64).output("y", {"N", "1"});
    n.integers("axis", {1}, {1});
    if (by_length) {
      n.integers("positions", {6}, {0, 1, 2, 3, 4, 5}).node("ReduceSum", {"attention_mask", "axis"}, {"length"});
      n.node("Less", {"positions", "length"}, {"kept"}), n.node("Cast", {"kept"}, {"m"}, {"to=1"});
    } else {
      n.node("Cast", {"attention_mask"}, {"m"}, {"to=1"});
    }
    n.node("Mul", {"x", "m"}, {"masked"}), n.node("ReduceSum", {"masked", "axis"}, {"y"});
    return n;
  };
  const VerifyResult result = verified(make(false), make(true));
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_THAT(result.remarks, ::testing::Contains(HasSubstr("'y' differs for masks with holes")));
  const Network again = make(false);
  EXPECT_THAT(ran(again, again).remarks, ::testing::Not(::testing::Contains(HasSubstr("holes"))));
}

TEST(Verify, V92ANumberThatNoSampleReachesIsInconclusive) {
  const auto make = [](float high) {
    Network n = one_node("Clip", {"lo", "hi"});
    return n.floats("lo", {}, {-100}).floats("hi", {}, {high});
  };
  const VerifyResult result = verified(make(100), make(101));
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("'hi'"), HasSubstr("no sample reaches that")));
  ASSERT_THAT(result.checks, SizeIs(1));
  EXPECT_EQ(result.checks[0].effect, UnexplainedCheck::Effect::none);
}

TEST(Verify, AConstantFurtherOffThanRoundingToF16IsNotItsRounding) {
  // Positions of a thousandth of the features: 5 % of them is less than the features' own rounding.
  const auto make = [](bool narrow, double scale) {
    Network n(9);
    n.input("x", {"N", "6"}).output("y", {"N", "16"}).normal("w", {6, 16}, 1).normal("positions", {16}, 2e-3);
    n.edit("positions", [&](auto& v) { std::ranges::for_each(v, [&](float& e) { e = static_cast<float>(e * scale); }); });
    if (!narrow) {
      n.node("MatMul", {"x", "w"}, {"g"}), n.node("Add", {"g", "positions"}, {"y"});
      return n;
    }
    for (const std::string name : {"x", "w", "positions"}) n.node("Cast", {name}, {name + ".f16"}, {"to=10"});
    n.node("MatMul", {"x.f16", "w.f16"}, {"g"}), n.node("Add", {"g", "positions.f16"}, {"f"}), n.node("Cast", {"f"}, {"y"}, {"to=1"});
    return n;
  };
  VerifyOptions options;
  options.precision = DataType::float16;
  const VerifyResult right = verified(make(false, 1), make(true, 1), options), wrong = verified(make(false, 1), make(true, 1.05), options);
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_EQ(wrong.outcome, Outcome::inconclusive) << summary(wrong);
  EXPECT_THAT(wrong.reason, AllOf(HasSubstr("'positions'"), HasSubstr("more than rounding to f16")));
}

TEST(Verify, AnAttributeWhoseNumberNoSampleReachesIsInconclusive) {
  // Features far above zero: the slope below zero never has an effect, the one above it always.
  const auto make = [](const std::string& op_type, const std::string& attribute) {
    Network n(9);
    n.input("x", {"N", "6"}).output("y", {"N", "6"});
    n.floats("far", {}, {1e6F}).node("Add", {"x", "far"}, {"f"}), n.node(op_type, {"f"}, {"y"}, {attribute});
    return n;
  };
  const auto unfelt = verified(make("LeakyRelu", "alpha=0.01"), make("LeakyRelu", "alpha=0.2"));
  EXPECT_EQ(unfelt.outcome, Outcome::inconclusive) << summary(unfelt);
  EXPECT_THAT(unfelt.reason, AllOf(HasSubstr("'alpha'"), HasSubstr("no sample reaches that")));
  EXPECT_EQ(verified(make("ThresholdedRelu", "alpha=1000000.0"), make("ThresholdedRelu", "alpha=1000001.0")).outcome, Outcome::different);
  EXPECT_EQ(verified(make("LeakyRelu", "alpha=0.01"), make("LeakyRelu", "alpha=nan.")).outcome, Outcome::inconclusive);
  // The number as other tools print it.
  EXPECT_EQ(verified(make("LeakyRelu", "alpha=0.01"), make("LeakyRelu", "alpha=0.010000001")).outcome, Outcome::same);
  // Not a number that samples reach: on the last axis, counting from the end gives the same axis.
  EXPECT_EQ(verified(make("Softmax", "axis=1"), make("Softmax", "axis=-1")).outcome, Outcome::same);
}

/// Features of a Gemm, shifted and transformed by one operator.
Network bent(float shift, double scale, const std::string& op_type, const std::vector<std::string>& bounds = {}) {
  Network n(9);
  n.input("x", {"N", "6"}).output("y", {"N", "16"});
  n.normal("w", {6, 16}, scale).floats("shift", {}, {shift}).floats("zero", {}, {0}).floats("six", {}, {6});
  n.node("MatMul", {"x", "w"}, {"g"}), n.node("Add", {"g", "shift"}, {"f"});
  std::vector<std::string> inputs{"f"};
  inputs.insert(inputs.end(), bounds.begin(), bounds.end());
  n.node(op_type, inputs, {"y"});
  return n;
}

/// Gives an If its branches: `op_type` where the condition holds, a cosine where it does not.
void add_branches(onnx::NodeProto& node, const std::string& op_type) {
  node.set_name("choice");
  const auto branch = [&](const std::string& name, const std::string& op) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& graph = *attribute.mutable_g();
    graph.set_name(name);
    auto& inner = *graph.add_node();
    inner.set_op_type(op);
    inner.set_name(name + ".op");
    inner.add_input("x");
    inner.add_output(name + ".y");
    graph.add_output()->set_name(name + ".y");
  };
  branch("then_branch", op_type), branch("else_branch", "Cos");
}

/// An If whose condition no sample of numbers around zero fulfils; `op_type` and Cos are in its branches.
Network branching(const std::string& op_type, const std::string& condition = "rare") {
  Network n(4);
  n.input("x", {"1", "4"}).output("y", {"1", "4"}).floats("many", {}, {1e9F}).floats("few", {}, {-1e9F});
  n.node("ReduceSum", {"x"}, {"sum"}, {"keepdims=0"});
  n.node("Greater", {"sum", "many"}, {"rare"}), n.node("Greater", {"sum", "few"}, {"usual"});
  add_branches(n.node("If", {condition}, {"y"}), op_type);
  return n;
}

TEST(Verify, AnOperatorInABranchThatNoSampleEntersIsInconclusive) {
  for (const char* const op_type : {"Sigmoid", "Neg", "Identity"}) {
    const VerifyResult result = verified(branching("Tanh"), branching(op_type));
    EXPECT_EQ(result.outcome, Outcome::inconclusive) << op_type << ": " << summary(result);
    EXPECT_THAT(result.reason, AllOf(HasSubstr("Tanh"), HasSubstr("no sample reaches that"))) << op_type;
  }
  // Each sample enters the branch that differs, or the branches are the same.
  EXPECT_EQ(verified(branching("Tanh", "usual"), branching("Neg", "usual")).outcome, Outcome::different);
  EXPECT_EQ(verified(branching("Tanh"), branching("Tanh")).outcome, Outcome::same);
}

/// Rows that end at the given one, if there is an end.
Network cut(int64_t end, const std::string& rows = "S") {
  Network n(5);
  n.input("x", {"N", rows, "8"}).output("y", {"N", rows, "8"});
  n.integers("first", {1}, {0}).integers("end", {1}, {end}).integers("axis", {1}, {1});
  n.node("Tanh", {"x"}, {"h"});
  if (end > 0) n.node("Slice", {"h", "first", "end", "axis"}, {"rows"}).set_name("cut");
  n.node("Relu", {end > 0 ? "rows" : "h"}, {"y"});
  return n;
}

TEST(Verify, ASliceThatOneModelHasAloneIsInconclusiveWhereOtherSizesAreCut) {
  for (const bool is_removed : {true, false}) {
    const VerifyResult result = is_removed ? verified(cut(512), cut(0)) : verified(cut(0), cut(512));
    EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
    EXPECT_THAT(result.reason, AllOf(HasSubstr("'cut' (Slice) is in "), HasSubstr("S = 513 does")));
  }
  // No size is cut: rows with a size from the file, rows with a size from the caller, and an end at the largest number.
  EXPECT_EQ(verified(cut(512, "16"), cut(0, "16")).outcome, Outcome::same);
  EXPECT_EQ(verified(cut(std::numeric_limits<int64_t>::max()), cut(0)).outcome, Outcome::same);
  VerifyOptions options;
  options.dims["S"] = 32;
  EXPECT_EQ(verified(cut(512), cut(0), options).outcome, Outcome::same);
}

/// One of two operators, chosen by the number of rows; or only the second one.
Network chosen(bool by_rows, const std::string& rows = "S") {
  Network n(5);
  n.input("x", {"N", rows, "8"}).output("y", {"N", rows, "8"}).integers("many", {1}, {300});
  if (!by_rows) n.node("Cos", {"x"}, {"z"});
  if (by_rows) {
    n.node("Shape", {"x"}, {"rows"}, {"start=1", "end=2"}), n.node("Greater", {"rows", "many"}, {"condition"});
    add_branches(n.node("If", {"condition"}, {"z"}), "Tanh");
  }
  n.node("Relu", {"z"}, {"y"});
  return n;
}

TEST(Verify, AMissingConditionIsInconclusiveWhereOtherSizesOrDataChangeIt) {
  const VerifyResult by_size = verified(chosen(true), chosen(false));
  EXPECT_EQ(by_size.outcome, Outcome::inconclusive) << summary(by_size);
  EXPECT_THAT(by_size.reason, AllOf(HasSubstr("'choice' (If)"), HasSubstr("S = 512 does")));
  EXPECT_EQ(verified(chosen(false), chosen(true)).outcome, Outcome::inconclusive);
  EXPECT_EQ(verified(chosen(true, "16"), chosen(false, "16")).outcome, Outcome::same);

  Network without(4);
  without.input("x", {"1", "4"}).output("y", {"1", "4"});
  without.node("Cos", {"x"}, {"y"});
  EXPECT_EQ(verified(branching("Tanh"), without).outcome, Outcome::inconclusive);
}

/// Rows of x and of a table of positions, equally many as in x, within a limit.
Network within_limit(const std::string& op_type, int64_t limit) {
  Network n(5);
  n.input("x", {"N", "S", "8"}).output("y", {"N", "S", "8"}).normal("table", {1, 3000, 8});
  n.integers("first", {1}, {0}).integers("limit", {1}, {limit}).integers("axis", {1}, {1});
  n.node("Shape", {"x"}, {"rows"}, {"start=1", "end=2"});
  if (!op_type.empty()) n.node(op_type, {"rows", "limit"}, {"end"}).set_name("limited");
  n.node("Slice", {"table", "first", op_type.empty() ? "rows" : "end", "axis"}, {"p"}), n.node("Add", {"x", "p"}, {"y"});
  return n;
}

TEST(Verify, ALimitOfSizesThatOneModelHasAloneIsInconclusiveWhereOtherSizesReachIt) {
  const VerifyResult result = verified(within_limit("", 0), within_limit("Min", 512));
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("'limited' (Min) is in "), HasSubstr("S = 1024 does")));
  // A file that has a limit takes no more rows than that.
  EXPECT_EQ(verified(within_limit("Min", 512), within_limit("", 0)).outcome, Outcome::same);
  EXPECT_EQ(verified(within_limit("Max", 0), within_limit("", 0)).outcome, Outcome::same);
  EXPECT_EQ(verified(within_limit("Min", std::numeric_limits<int64_t>::max()), within_limit("", 0)).outcome, Outcome::same);
}

TEST(Verify, ALimitOfSizesIsNeverRounded) {
  const VerifyResult result = verified(within_limit("Min", 2'000'000), within_limit("Min", 2'000'001));
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("'limit' differs"), HasSubstr("no sample reaches that")));
}

TEST(Verify, ALimitRepeatedByTheSliceDownstreamIsNoDifference) {
  const auto made = [](bool is_limited) {
    Network n(5);
    n.input("x", {"N", "S", "8"}).output("y", {"N", "T", "8"});
    n.integers("first", {1}, {0}).integers("limit", {1}, {512}).integers("axis", {1}, {1});
    n.node("Shape", {"x"}, {"rows"}, {"start=1", "end=2"});
    if (is_limited) n.node("Min", {"rows", "limit"}, {"end"});
    n.node("Slice", {"x", "first", is_limited ? "end" : "limit", "axis"}, {"y"});
    return n;
  };
  const VerifyResult result = verified(made(true), made(false));
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

TEST(Verify, ALimitOfACountThatNoSampleReachesIsInconclusive) {
  const auto made = [](const std::vector<std::string>& bounds, const std::string& op_type = "Clip") {
    Network n(5), body(6);
    n.input("n", {}, onnx::TensorProto::INT64).input("x", {"4"}).output("y", {"4"}).integers("none", {}, {0}).integers("many", {}, {1000});
    std::vector<std::string> inputs{"n"};
    inputs.insert(inputs.end(), bounds.begin(), bounds.end());
    if (!bounds.empty()) n.node(op_type, inputs, {"m"}).set_name("limited");
    auto& attribute = *n.node("Loop", {bounds.empty() ? "n" : "m", "", "x"}, {"y"}).add_attribute();
    const auto declare = [](onnx::ValueInfoProto& info, const char* name, int type) {
      info.set_name(name);
      info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    };
    declare(*body.graph().add_input(), "i", onnx::TensorProto::INT64), declare(*body.graph().add_input(), "go", onnx::TensorProto::BOOL);
    declare(*body.graph().add_input(), "state", onnx::TensorProto::FLOAT),
        declare(*body.graph().add_output(), "on", onnx::TensorProto::BOOL);
    declare(*body.graph().add_output(), "next", onnx::TensorProto::FLOAT);
    body.graph().set_name("body");
    body.node("Identity", {"go"}, {"on"}), body.node("Cos", {"state"}, {"next"});
    attribute.set_name("body");
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = body.graph();
    return n;
  };
  const auto expect_doubt = [](const Network& a, const Network& b) {
    const VerifyResult result = verified(a, b);
    EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
    EXPECT_THAT(result.reason, AllOf(HasSubstr("'limited'"), HasSubstr("no sample reaches that")));
  };
  expect_doubt(made({}), made({"many"}, "Min"));
  expect_doubt(made({"many"}, "Min"), made({}));
  expect_doubt(made({"none", "many"}), made({"none"}));
  EXPECT_EQ(verified(made({"none", "many"}), made({"none", "many"})).outcome, Outcome::same);
}

TEST(Verify, ComparisonsOfIntegersThatAreNeverEqualAreInconclusive) {
  const auto made = [](const std::string& op_type, int64_t bound, const std::string& summed = "sums") {
    Network n(5);
    n.input("k", {"4", "64"}, onnx::TensorProto::INT64).input("x", {"4", "64"}).output("y", {"4", "64"});
    n.integers("bound", {}, {bound}).integers("axis", {}, {1});
    n.node("CumSum", {"k", "axis"}, {"sums"});
    n.node(op_type, {summed, "bound"}, {"above"}).set_name("comparison");
    n.node("Neg", {"x"}, {"less"}), n.node("Where", {"above", "x", "less"}, {"y"});
    return n;
  };
  const VerifyResult result = verified(made("Greater", 12345), made("GreaterOrEqual", 12345));
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_THAT(result.reason, HasSubstr("'comparison' (GreaterOrEqual)"));
  EXPECT_EQ(verified(made("Less", 12345), made("LessOrEqual", 12345)).outcome, Outcome::inconclusive);
  // Samples hold the number that an input itself is compared with.
  EXPECT_EQ(verified(made("Less", 12345, "k"), made("LessOrEqual", 12345, "k")).outcome, Outcome::different);
}

TEST(Verify, OperatorsThatDifferAtZeroAreInconclusiveIfNoSampleIsZero) {
  const auto made = [](const std::string& op_type, const std::string& tested = "wave") {
    Network n(5);
    n.input("x", {"4", "64"}).output("y", {"4", "64"});
    n.floats("zero", {}, {0}).floats("one", {}, {1}).floats("minus", {}, {-1});
    n.node("Sin", {"x"}, {"wave"});
    if (op_type == "Sign") {
      n.node("Sign", {tested}, {"y"});
    } else {
      n.node(op_type, {tested, "zero"}, {"above"}), n.node("Where", {"above", "one", "minus"}, {"y"});
    }
    return n;
  };
  for (const char* const other : {"GreaterOrEqual", "Sign"}) {
    const VerifyResult result = verified(made("Greater"), made(other));
    EXPECT_EQ(result.outcome, Outcome::inconclusive) << other << ": " << summary(result);
    EXPECT_EQ(verified(made("Greater", "x"), made(other, "x")).outcome, Outcome::different) << other;
  }
}

TEST(Verify, ValuesComputedBeforeTheRunAreInconclusiveToo) {
  // Rows of positions beyond the length of every sample, chosen by a Shape: the Slice depends on dims alone.
  const auto made = [](float factor) {
    Network n(9);
    n.input("x", {"1", "S", "8"}).output("y", {"1", "S", "8"});
    n.normal("table", {1, 512, 8}).integers("first", {1}, {0}).integers("axis", {1}, {1});
    n.edit("table", [factor](std::vector<float>& v) {
      for (std::size_t i = std::size_t{400} * 8; i < v.size(); ++i) v[i] *= factor;
    });
    n.node("Shape", {"x"}, {"length"}, {"start=1", "end=2"});
    n.node("Slice", {"table", "first", "length", "axis"}, {"positions"}), n.node("Add", {"x", "positions"}, {"y"});
    return n;
  };
  const VerifyResult result = verified(made(1), made(2));
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("'table'"), HasSubstr("no sample reaches that")));
}

TEST(Verify, ReadersRevealAResultOfOtherDimsThatTheOutputHides) {
  const auto made = [](const std::string& axis) {
    Network n(7);
    n.input("x", {"4", "8", "8"}).output("y", {"4", "8", "8"}).floats("tiny", {}, {1e-9F}).floats("epsilon", {}, {0.1F});
    n.node("Mul", {"x", "x"}, {"squares"}), n.node("ReduceMean", {"squares"}, {"mean"}, {"axes=" + axis + "," + axis, "keepdims=1"});
    n.node("Add", {"mean", "epsilon"}, {"variance"}), n.node("Sqrt", {"variance"}, {"deviation"});
    n.node("Div", {"x", "deviation"}, {"normal"}), n.node("Mul", {"normal", "tiny"}, {"small"}), n.node("Add", {"x", "small"}, {"y"});
    auto& axes = *n.producer("mean").mutable_attribute(0);
    axes.clear_ints(), axes.add_ints(std::stoi(axis));
    return n;
  };
  const VerifyResult result = verified(made("-1"), made("-2"));
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  ASSERT_FALSE(result.layers.empty());
  EXPECT_EQ(result.layers.front().tensor, "mean");
}

TEST(Verify, ANodeThatTheProofDoesNotReachIsNamedWhereTheOutputHidesIt) {
  // The sum is written differently, and the values have other names: the proof ends before the products. The second one is far below the
  // rounding of the first.
  const auto made = [](bool other, float factor) {
    Network n(15);
    n.input("x", {"16", "32"}).output("y", {"16", "24"});
    n.normal("large", {32, 24}).normal("small", {32, 24}, 1e-9);
    n.edit("small", [factor](std::vector<float>& v) {
      for (float& value : v) value *= factor;
    });
    const std::string prefix = other ? "b." : "a.";
    n.node("Tanh", {"x"}, {prefix + "t"});
    n.node("MatMul", {"x", "large"}, {prefix + "p"}), n.node("MatMul", {prefix + "t", "small"}, {prefix + "q"}).set_name("second");
    n.node("Relu", {prefix + "p"}, {prefix + "r"}), n.node("Sigmoid", {prefix + "q"}, {prefix + "s"});
    if (other) {
      n.integers("axis", {1}, {0});
      n.node("Unsqueeze", {prefix + "r", "axis"}, {"u"}), n.node("Unsqueeze", {prefix + "s", "axis"}, {"v"});
      n.node("Concat", {"u", "v"}, {"both"}, {"axis=0"}), n.node("ReduceSum", {"both", "axis"}, {"y"}, {"keepdims=0"});
    } else {
      n.node("Add", {prefix + "r", prefix + "s"}, {"y"});
    }
    return n;
  };
  const VerifyResult right = verified(made(false, 1), made(true, 1)), wrong = verified(made(false, 1), made(true, 1.2F));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  ASSERT_TRUE(wrong.proof);
  EXPECT_THAT(wrong.proof->unreached, ::testing::Contains("b.q"));
  EXPECT_EQ(wrong.outcome, Outcome::different) << summary(wrong);
  EXPECT_THAT(wrong.reason, HasSubstr("'second'"));
}

TEST(Verify, AnOperatorThatNoSampleReachesIsInconclusive) {
  const auto outcome = [](const Network& a, const Network& b) { return verified(a, b).outcome; };
  const VerifyResult unreached = verified(bent(1e6F, 1, "Relu"), bent(1e6F, 1, "Identity"));
  EXPECT_EQ(unreached.outcome, Outcome::inconclusive) << summary(unreached);
  EXPECT_THAT(unreached.reason, AllOf(HasSubstr("(Relu) is gone"), HasSubstr("no sample reaches that")));
  EXPECT_EQ(outcome(bent(1e6F, 1, "LeakyRelu"), bent(1e6F, 1, "Relu")), Outcome::inconclusive);
  EXPECT_EQ(outcome(bent(1e3F, 1e-3, "Softplus"), bent(1e3F, 1e-3, "Relu")), Outcome::inconclusive);
  EXPECT_EQ(outcome(bent(3, 1e-6, "Clip", {"zero", "six"}), bent(3, 1e-6, "Clip", {"zero"})), Outcome::inconclusive);
  EXPECT_EQ(outcome(bent(3, 1e-6, "Clip", {"zero", "six"}), bent(3, 1e-6, "Identity")), Outcome::inconclusive);
  EXPECT_EQ(outcome(bent(0, 1, "Relu"), bent(0, 1, "Identity")), Outcome::different);
}

TEST(Verify, TheInputThatKeepsBFromRunningIsNamed) {
  const auto made = [](const std::vector<std::string>& dims) {
    Network n(1);
    n.input("x", {"4"}).input("image", dims).output("y", dims).node("Relu", {"image"}, {"y"});
    return n;
  };
  const VerifyResult result = verified(made({"1", "3", "8", "8"}), made({"1", "8", "8", "3"}));
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_EQ(result.reason, "B cannot be given A's inputs ('image': dim 1 is 8, was 3): nothing was run");
}

TEST(Verify, MissingInputsWithADefaultAreRemarked) {
  const auto made = [](bool may_be_given) {
    Network n(1);
    n.input("x", {"4"}).output("y", {"4"}).normal("w", {4}).node("Mul", {"x", "w"}, {"y"});
    if (may_be_given) n.input("w", {"4"});
    return n;
  };
  const auto is_stated = ::testing::Contains(HasSubstr("1 input with a default cannot be given to B: 'w'"));
  const VerifyResult frozen = verified(made(true), made(false));
  EXPECT_EQ(frozen.outcome, Outcome::same) << summary(frozen);
  EXPECT_THAT(frozen.remarks, is_stated);
  EXPECT_THAT(verified(made(false), made(true)).remarks, ::testing::Not(is_stated));
}

TEST(Verify, AnIntegerOperatorThatNoSampleReachesIsInconclusive) {
  const auto outcome = [](const char* op_type, int64_t limit, int type) {
    const auto made = [&](const std::string& op) {
      Network n(1);
      n.input("x", {"4", "64"}, type).output("y", {"4", "64"}, type).integers("limit", {}, {limit});
      n.node("Cast", {"limit"}, {"bound"}, {"to=" + std::to_string(type)});
      n.node(op, op == "Identity" ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "bound"}, {"y"});
      return n;
    };
    return verified(made("Identity"), made(op_type)).outcome;
  };
  EXPECT_EQ(outcome("Min", 30'000, onnx::TensorProto::INT64), Outcome::inconclusive);
  EXPECT_EQ(outcome("Max", -30'000, onnx::TensorProto::INT32), Outcome::inconclusive);
  EXPECT_EQ(outcome("Min", 120, onnx::TensorProto::INT8), Outcome::different) << "samples reach the ends of 8 bits";
  EXPECT_EQ(outcome("Min", 127, onnx::TensorProto::INT8), Outcome::same) << "no number is larger";
  EXPECT_EQ(outcome("Max", 0, onnx::TensorProto::UINT8), Outcome::same) << "no number is smaller";
}

TEST(Verify, AnOperatorThatNoNumberReachesIsTheSame) {
  // Downstream of these operators no number is below zero.
  const auto make = [](const std::string& upstream, const std::string& op_type) {
    Network n(9);
    n.input("x", {"N", "6"}).output("y", {"N", "16"}).normal("w", {6, 16}, 1);
    n.node("MatMul", {"x", "w"}, {"g"}), n.node(upstream, {"g"}, {"s"}), n.node(op_type, {"s"}, {"y"});
    return n;
  };
  for (const std::string upstream : {"Sigmoid", "Relu", "Softplus", "Abs", "Softmax"}) {
    for (const std::string op_type : {"Relu", "Abs"}) {
      const VerifyResult result = verified(make(upstream, op_type), make(upstream, "Identity"));
      EXPECT_EQ(result.outcome, Outcome::same) << upstream << ' ' << op_type << summary(result);
    }
  }
}

TEST(Verify, ACompleteProofNeedsOneSample) {
  Network folded = classifier(1);
  fold_batch_norm(folded, "n1.y");
  EXPECT_EQ(verified(classifier(1), folded).samples, 1);
  VerifyOptions more;
  more.samples = 3;
  EXPECT_EQ(verified(classifier(1), folded, more).samples, 3);
}

TEST(Verify, V29TheWrongFoldsNodeIsNamed) {
  Network a = mobile(1), b = a;
  fold_batch_norm(b, "n1.y", {.epsilon_factor = 0});
  const VerifyResult result = verified(a, b);
  EXPECT_GT(result.outputs[0].ratio, 10);
  ASSERT_THAT(result.layers, SizeIs(1)) << summary(result);
  EXPECT_EQ(result.layers[0].op_type, "Conv");
  EXPECT_EQ(result.layers[0].tensor, "n1.y");
}

TEST(Verify, V30V31TheFirstWrongNodeIsTheConvolution) {
  const std::vector<std::function<void(Network&)>> changes{
      [](Network& n) { n.edit("c2.b", [](auto& v) { std::ranges::rotate(v, v.begin() + 1); }); },
      [](Network& n) { n.producer("c2.y").mutable_input()->RemoveLast(); },
      [](Network& n) { n.edit("c2.w", [](auto& v) { std::swap_ranges(v.begin(), v.begin() + 72, v.begin() + 72); }); }};
  for (const auto& change : changes) {
    Network a = classifier(1), b = a;
    change(b);
    const VerifyResult result = verified(a, b);
    EXPECT_EQ(result.outcome, Outcome::different);
    ASSERT_THAT(result.layers, SizeIs(1)) << summary(result);
    EXPECT_EQ(result.layers[0].tensor, "c2.y");
    ASSERT_TRUE(result.proof);
    EXPECT_FALSE(result.proof->unexplained.empty());
  }
}

TEST(Verify, V33AFoldThatReachesASecondReaderIsOneNode) {
  // c1.y is read by the normalization and on another path; scaling its convolution reaches both.
  Network a(1);
  a.input("x", {"N", "3", "9", "9"}).output("y", {"N", "4", "9", "9"});
  a.convolution("c1", "x", "c1.y", {4, 3, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n1", "c1.y", "n1.y", 4);
  a.node("Relu", {"n1.y"}, {"r"}), a.node("Tanh", {"c1.y"}, {"t"}), a.node("Add", {"r", "t"}, {"y"});
  Network b = a;
  fold_batch_norm(b, "n1.y");
  b.replace_uses("c1.y", "n1.y");  // the other path now gets the folded value
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different);
  ASSERT_THAT(result.layers, SizeIs(1)) << summary(result);
  EXPECT_EQ(result.layers[0].tensor, "t");
}

TEST(Verify, V34TheWideSampleIsNamed) {
  Network a = one_node("Clip", {"lo", "hi"}), b = a;
  a.floats("lo", {}, {-100}).floats("hi", {}, {6});
  b.floats("lo", {}, {-100}).floats("hi", {}, {1e6F});
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different);
  // Samples of 4 · N(0, 1), and not the first one, within N(0, 1).
  const OutputComparison& output = result.outputs[0];
  EXPECT_EQ(output.samples[0].outcome, Outcome::same);
  EXPECT_EQ(output.samples[1].outcome, Outcome::different);
  EXPECT_NE(output.telling, 0U);
  EXPECT_THAT(output.reason, HasSubstr("(sample " + std::to_string(output.samples[output.telling].sample) + ")"));
}

TEST(Verify, V39ARandomNodeOfTheCandidateIsNamed) {
  Network a = segmenter(1), b = a;
  b.node("RandomNormalLike", {"r1"}, {"noise"}, {"scale=0.001"});
  b.node("Add", {"r1", "noise"}, {"r1.n"}), b.producer("p").set_input(0, "r1.n"), b.sort();
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(result.remarks, Contains(AllOf(HasSubstr("1 random node in"), HasSubstr("b.onnx is not deterministic"),
                                             HasSubstr("/noise/RandomNormalLike"))));
}

TEST(Verify, ADropoutThatDoesNotTrainIsNotRandom) {
  for (const bool trains : {false, true}) {
    Network a = segmenter(1);
    a.integers("number", {}, {trains ? 1 : 0});
    a.node("Cast", {"number"}, {"trains"}, {"to=9"});
    a.node("Dropout", {"r1", "", "trains"}, {"dropped"}), a.producer("p").set_input(0, "dropped"), a.sort();
    Network b = a;
    for (const char* value : {"n1.y", "n2.y", "n3.y"}) fold_batch_norm(b, value);
    EXPECT_EQ(
        std::ranges::count_if(verified(a, b).remarks, [](const std::string& remark) { return remark.find("random node") != remark.npos; }),
        trains ? 1 : 0);
  }
}

TEST(Verify, V40RandomNodesAlikeArePinned) {
  Network a = segmenter(1);
  a.node("RandomNormalLike", {"r1"}, {"noise"}, {"scale=0.1"});
  a.node("Add", {"r1", "noise"}, {"r1.n"}), a.producer("p").set_input(0, "r1.n"), a.sort();
  Network b = a;
  for (const char* value : {"n1.y", "n2.y", "n3.y"}) fold_batch_norm(b, value);
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_THAT(result.remarks, Contains(HasSubstr("seeds are pinned by node name")));
}

TEST(Session, ErrorsThatBeginLikeTheNameOfTheModelNameIt) {
  Network n = one_node("Relu");
  n.producer("y").set_op_type("NoSuchOperator");
  const Side side{"cannot", Model::from_bytes(n.bytes(), "cannot", {}), {}};
  EXPECT_EQ(error_of([&] { const Session session(side, {}); }, "cannot: cannot run 1 node: "), ErrorKind::unsupported);
}

/// Faults of an executor: `spoil` may change the outputs of a run, `spoil_node` those of a node, which its readers also see.
struct Errors {
  std::function<void(const std::string& file, Mode mode, Outputs& outputs)> spoil;
  std::function<void(Mode mode, const Node& node, const std::vector<Datum>& outputs)> spoil_node;
};

class ErringSession : public Session {
 public:
  ErringSession(const Side& side, const ExecuteOptions& options, const Errors& errors)
      : Session(side, with_errors(options, errors)),
        file_(std::filesystem::path(side.name).filename().string()),
        mode_(options.mode),
        errors_(&errors) {}
  Run run(const Inputs& inputs) override {
    Run out = Session::run(inputs);
    if (errors_->spoil) errors_->spoil(file_, mode_, out.outputs);
    return out;
  }

 private:
  static ExecuteOptions with_errors(ExecuteOptions options, const Errors& errors) {
    if (!errors.spoil_node) return options;
    options.observe = [&errors, mode = options.mode, watch = options.observe](const Node& node, const std::vector<Datum>& outputs) {
      errors.spoil_node(mode, node, outputs);
      if (watch) watch(node, outputs);
    };
    return options;
  }

  std::string file_;
  Mode mode_;
  const Errors* errors_;
};

VerifyResult verified_by_erring_executor(Network a, Network b, const Errors& errors) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  options.run_identical = true;
  const auto side = [](const std::filesystem::path& path) {
    Side out{path.string(), Model::load(path, {}), {}};
    out.outputs = output_ports(out.model->graph());
    return out;
  };
  return compare_models(side(folder.write("a.onnx", a.bytes())), side(folder.write("b.onnx", b.bytes())), options,
                        [&](const Side& of, const ExecuteOptions& how) { return std::make_unique<ErringSession>(of, how, errors); });
}

/// Adds 0.01 to the first element, in a copy.
void shift_first(Datum& datum) {
  const Tensor dense = contiguous(datum.tensor);
  Tensor copy(dense.type(), dense.dims());
  std::copy_n(dense.data<float>(), dense.element_count(), copy.data<float>());
  copy.data<float>()[0] += 0.01F;
  datum.tensor = copy;
}

TEST(Verify, V41AReferenceThatDiffersBetweenRunsIsADefect) {
  const Network n = classifier(1);
  int runs = 0;
  const VerifyResult result = verified_by_erring_executor(n, n,
                                                          {[&](const std::string&, Mode, Outputs& outputs) {
                                                             if (runs++ == 0) shift_first(outputs[1]);
                                                           },
                                                           nullptr});
  EXPECT_THAT(result.defect, AllOf(HasSubstr("not deterministic"), HasSubstr("output 'f'"), HasSubstr("a.onnx")));
  EXPECT_EQ(exit_code(result, true), 70);
}

/// Adds to the first element of an output, in a copy.
void add_to_first(Datum& datum, float number) {
  datum.tensor = contiguous(datum.tensor);
  datum.tensor.data<float>()[0] += number;
}

/// Two floors of one draw are certainly rounding; a figure beyond them gets the draws of other pairs before it is judged.
TEST(Verify, AProvedPairGetsMoreDrawsWhereOneDoesNotShowThatItIsTheSame) {
  Network a = classifier(1), b = a;
  fold_batch_norm(b, "n1.y");
  int runs = 0;
  float shift = 0;
  const Errors errors{[&](const std::string& file, Mode, Outputs& outputs) {
                        ++runs;
                        if (file != "b.onnx") return;
                        add_to_first(outputs[0], shift);
                      },
                      nullptr};
  const VerifyResult confirmed = verified_by_erring_executor(a, b, errors);
  EXPECT_EQ(confirmed.outcome, Outcome::same) << summary(confirmed);
  EXPECT_EQ(confirmed.draws, 1);
  EXPECT_EQ(runs, 3) << "a, a with perturbed weights, b optimized";
  int64_t counted_a = 0, counted_b = 0;
  for (const VerifyStage& stage : confirmed.stages) counted_a += stage.runs_a, counted_b += stage.runs_b;
  EXPECT_EQ(counted_a, 2);
  EXPECT_EQ(counted_b, 1);
  for (const auto& [floors, outcome] : {std::pair{3.0, Outcome::same}, {100.0, Outcome::different}}) {
    const SampleMetrics& metrics = confirmed.outputs[0].samples[0];
    ASSERT_GT(metrics.max_error, 0);
    shift = static_cast<float>(floors * metrics.floor.max * metrics.max_abs / metrics.max_error);
    const VerifyResult doubtful = verified_by_erring_executor(a, b, errors);
    EXPECT_GE(doubtful.draws, 3);
    EXPECT_EQ(doubtful.outputs[0].outcome, outcome) << summary(doubtful);
    EXPECT_EQ(doubtful.outputs[0].hint.empty(), outcome == Outcome::same);
  }
}

/// A different order of b's sums is no different result, if b in double precision agrees.
TEST(Verify, AProvedPairIsNotDifferentByItsOwnRounding) {
  Network a = classifier(1), b = a;
  fold_batch_norm(b, "n1.y");
  float shift = 0;
  bool in_double_too = false;
  const Errors errors{[&](const std::string& file, Mode mode, Outputs& outputs) {
                        if (file != "b.onnx" || (mode == Mode::reference && !in_double_too)) return;
                        add_to_first(outputs[0], shift);
                      },
                      nullptr};
  const SampleMetrics metrics = verified_by_erring_executor(a, b, errors).outputs[0].samples[0];
  ASSERT_GT(metrics.max_error, 0);
  shift = static_cast<float>(30 * metrics.floor.max * metrics.max_abs / metrics.max_error);
  EXPECT_EQ(verified_by_erring_executor(a, b, errors).outputs[0].outcome, Outcome::same);
  in_double_too = true;
  EXPECT_EQ(verified_by_erring_executor(a, b, errors).outputs[0].outcome, Outcome::different);
}

/// Fused nodes may turn a NaN into a number: the run as written decides.
TEST(Verify, AProvedPairWhoseNaNIsLostOptimizedIsRunAsWritten) {
  Network a = classifier(1), b = a;
  fold_batch_norm(b, "n1.y");
  const Errors errors{[](const std::string&, Mode mode, Outputs& outputs) {
                        if (mode != Mode::as_written) return;
                        outputs[0].tensor = contiguous(outputs[0].tensor);
                        outputs[0].tensor.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
                      },
                      nullptr};
  const VerifyResult result = verified_by_erring_executor(a, b, errors);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_EQ(result.defect, "");
  EXPECT_EQ(result.outputs[0].samples[0].non_finite.nan_both, 1) << "b as written has it too";
}

/// Moves all elements of a constant by one ULP.
void round_otherwise(Network& network, const std::string& name) {
  network.edit(name, [](std::vector<float>& values) {
    for (float& value : values) value = std::nextafter(value, 100.0F);
  });
}

TEST(Verify, APairThatIsProvedButForRoundingIsRunOverOneSample) {
  Network a = classifier(1), b = a;
  round_otherwise(b, "c1.w");
  std::string runs;
  float shift = 0;
  const Errors errors{[&](const std::string& file, Mode mode, Outputs& outputs) {
                        runs += std::string(1, file[0]) + (mode == Mode::optimized ? "o" : mode == Mode::reference ? "r" : "") + " ";
                        if (file != "b.onnx" || mode != Mode::as_written) return;
                        add_to_first(outputs[0], shift);
                      },
                      nullptr};
  const VerifyResult result = verified_by_erring_executor(a, b, errors);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_EQ(result.samples, 1);
  EXPECT_EQ(result.draws, 1);
  ASSERT_EQ(result.checks.size(), 1U);
  EXPECT_EQ(result.checks[0].outcome, Outcome::same);
  EXPECT_EQ(runs, "a a ar b a a b bo ") << "the original, its floor twice, b, three runs node by node, b optimized";
  // A figure beyond two floors gets all draws before it is judged.
  const SampleMetrics& metrics = result.outputs[0].samples[0];
  ASSERT_GT(metrics.max_error, 0);
  for (const auto& [floors, outcome] : {std::pair{3.0, Outcome::same}, {100.0, Outcome::different}}) {
    shift = static_cast<float>(floors * metrics.floor.max * metrics.max_abs / metrics.max_error);
    const VerifyResult doubtful = verified_by_erring_executor(a, b, errors);
    EXPECT_GE(doubtful.draws, 3);
    EXPECT_EQ(doubtful.outputs[0].outcome, outcome) << summary(doubtful);
  }
}

TEST(Verify, ConstantsThatDifferByMoreAreJudgedOverTheSamplesOfTheirNodes) {
  const Network a = classifier(1);
  Network farther = a;
  farther.edit("c1.w", [](std::vector<float>& values) { values[0] *= 1.00001F; });
  EXPECT_EQ(verified(a, farther).samples, 2);
  Network far = a;
  far.edit("c1.w", [](std::vector<float>& values) { values[0] *= 1.01F; });
  EXPECT_EQ(verified(a, far).samples, 4);
  VerifyOptions by_outputs;
  by_outputs.outputs_only = true;
  EXPECT_EQ(verified(a, farther, by_outputs).samples, 4);
  Network restructured = farther;
  restructured.node("Abs", {"r1"}, {"r1.abs"});
  restructured.producer("p").set_input(0, "r1.abs"), restructured.sort();
  EXPECT_EQ(verified(a, restructured).samples, 4);
  // Counts are not rounded, however small their difference.
  Network count = a, other = a;
  count.integers("many", {1}, {100'000'000});
  other.integers("many", {1}, {100'000'001});
  for (Network* const network : {&count, &other}) {
    network->node("Cast", {"many"}, {"many.f"}, {"to=1"}), network->node("Mul", {"r1", "many.f"}, {"r1.many"});
    network->producer("p").set_input(0, "r1.many"), network->sort();
  }
  EXPECT_EQ(verified(count, other).samples, 4);
}

TEST(Verify, AProvedPairWithALargeFloorIsCheckedForRunsThatDiffer) {
  Network a = classifier(1), b = a;
  fold_batch_norm(b, "n1.y");
  int written = 0;
  const VerifyResult result = verified_by_erring_executor(a, b,
                                                          {[&](const std::string&, Mode mode, Outputs& outputs) {
                                                             if (mode == Mode::as_written && written++ == 0) shift_first(outputs[1]);
                                                           },
                                                           nullptr});
  EXPECT_THAT(result.defect, AllOf(HasSubstr("not deterministic"), HasSubstr("output 'f'"), HasSubstr("a.onnx")));
}

TEST(Verify, V77APlanThatIsWrongOnlyWhenOptimizedIsADefect) {
  Network a = classifier(1), b = a;
  fold_batch_norm(b, "n1.y");
  const VerifyResult result =
      verified_by_erring_executor(a, b, {nullptr, [](Mode mode, const Node& node, const std::vector<Datum>& outputs) {
                                           if (mode == Mode::optimized && node.output(0)->name() == "r3")
                                             outputs[0].tensor.data<float>()[0] += 1;
                                         }});
  EXPECT_THAT(result.defect,
              AllOf(HasSubstr("b.onnx is right as written, but not optimized"), HasSubstr("'y'"), HasSubstr("(Relu) alone")));
  EXPECT_THAT(outcomes(result), Each(Outcome::same));
  EXPECT_EQ(exit_code(result, true), 70);
}

TEST(Verify, OptimizedOutputsThatNoNodeExplainsAreARemark) {
  Network a = classifier(1), b = a;
  fold_batch_norm(b, "n1.y");
  const VerifyResult result = verified_by_erring_executor(a, b,
                                                          {[](const std::string&, Mode mode, Outputs& outputs) {
                                                             if (mode == Mode::optimized) shift_first(outputs[0]);
                                                           },
                                                           nullptr});
  EXPECT_EQ(result.defect, "");
  EXPECT_THAT(result.remarks, Contains(HasSubstr("optimized execution is")));
}

/// Adds 1 to the first element of one value, in place.
Errors shifting(Mode spoiled, const std::string& name) {
  return {nullptr, [=](Mode mode, const Node& node, const std::vector<Datum>& outputs) {
            if (mode == spoiled && node.output(0)->name() == name) outputs[0].tensor.data<float>()[0] += 1;
          }};
}

TEST(Verify, ANodeFarFromItsDoublePrecisionIsADefect) {
  const Network n = classifier(1);
  for (const Mode mode : {Mode::reference, Mode::as_written}) {
    const VerifyResult result = verified_by_erring_executor(n, n, shifting(mode, "n2.y"));
    EXPECT_THAT(result.defect, AllOf(HasSubstr("as written and double-precision reference disagree on output 'f'"),
                                     HasSubstr("node 'n2' (BatchNormalization) alone")))
        << summary(result);
    EXPECT_EQ(exit_code(result, true), 70);
  }
}

/// Optimized, a quantizer and its inverse are one step, of which the last value alone is compared.
TEST(Verify, AQuantizersTieThatFallsOtherwiseInOneStepIsNoDefect) {
  Network n(1);
  n.input("x", {"N", "64"}).output("y", {"N", "64"}).floats("half", {}, {0.5F}).floats("step", {}, {0.03125F});
  n.node("Mul", {"x", "half"}, {"h"}), n.node("QuantizeLinear", {"h", "step"}, {"q"});
  n.node("DequantizeLinear", {"q", "step"}, {"d"}), n.node("Mul", {"d", "d"}, {"y"});
  const auto one_step = [](std::string_view name) {
    return [=](Mode mode, const Node& node, const std::vector<Datum>& outputs) {
      if (mode == Mode::optimized && node.output(0)->name() == name) outputs[0].tensor.data<float>()[0] += 0.03125F;
    };
  };
  const VerifyResult result = verified_by_erring_executor(n, n, {nullptr, one_step("d")});
  EXPECT_EQ(result.defect, "") << summary(result);
  EXPECT_THAT(result.remarks, Contains(HasSubstr("optimized execution is"))) << summary(result);
  EXPECT_THAT(verified_by_erring_executor(n, n, {nullptr, one_step("y")}).defect, HasSubstr("(Mul) alone"));
  // The quantizer's result may be compared, too.
  n.output("q", {"N", "64"}, onnx::TensorProto::UINT8);
  const auto both = [&](Mode mode, const Node& node, const std::vector<Datum>& outputs) {
    if (mode == Mode::optimized && node.output(0)->name() == "q") outputs[0].tensor.data<uint8_t>()[0] ^= 1;
    one_step("d")(mode, node, outputs);
  };
  EXPECT_EQ(verified_by_erring_executor(n, n, {nullptr, both}).defect, "");
}

/// The number at the place of the best of eight scores, each of which occurs twice.
Network chooser() {
  Network n(1);
  n.input("x", {"N", "8"}).output("y", {"N", "1"});
  n.node("Sigmoid", {"x"}, {"s"}), n.node("Concat", {"s", "s"}, {"scores"}, {"axis=1"});
  n.node("ArgMax", {"scores"}, {"best"}, {"axis=1", "keepdims=1"});
  std::vector<float> boxes(16);
  for (std::size_t i = 0; i < boxes.size(); ++i) boxes[i] = 0.7F * static_cast<float>(i);
  n.floats("boxes", {16}, boxes).node("Gather", {"boxes", "best"}, {"y"});
  return n;
}

TEST(Verify, AChoiceAmongNearlyEqualNumbersIsNamed) {
  const auto scores = [](bool is_written_out) {
    Network n(1);
    n.input("x", {"N", "64"}).output("y", {"N", "1"}).output("best", {"N", "1"}, onnx::TensorProto::INT64);
    n.node("Sigmoid", {"x"}, {"s"}), n.node("Mul", {"x", "s"}, {"silu"});
    if (is_written_out) {
      n.node("Mul", {"s", "x"}, {"first"}), n.floats("one", {}, {1}), n.node("Neg", {"x"}, {"minus"}), n.node("Exp", {"minus"}, {"e"});
      n.node("Add", {"e", "one"}, {"sum"}), n.node("Div", {"x", "sum"}, {"other"});
    } else {
      n.node("Mul", {"x", "s"}, {"other"});
    }
    n.node("Concat", {"silu", "other"}, {"scores"}, {"axis=1"}), n.node("ArgMax", {"scores"}, {"best"}, {"axis=1", "keepdims=1"});
    std::vector<float> boxes(128);
    for (std::size_t i = 0; i < boxes.size(); ++i) boxes[i] = 0.7F * static_cast<float>(i);
    n.floats("boxes", {128}, boxes), n.node("Gather", {"boxes", "best"}, {"y"});
    return n;
  };
  VerifyOptions options;
  options.samples = 12;
  const VerifyResult result = verified(scores(false), scores(true), options);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_THAT(result.remarks, Contains(HasSubstr("falls either way (first '/best/ArgMax' (ArgMax), where B is "))) << summary(result);
}

TEST(Verify, AChoiceThatFallsOtherwiseInDoublePrecisionIsNoDefect) {
  const Network n = chooser();
  const auto tip = [](Mode mode, const Node& node, const std::vector<Datum>& outputs) {
    if (mode != Mode::reference || node.output(0)->name() != "scores") return;
    auto* const scores = outputs[0].tensor.data<float>();
    for (int64_t i = 0; i < outputs[0].tensor.element_count(); ++i) {
      if (i % 16 >= 8) scores[i] = std::nextafter(scores[i], 2.0F);  // as rounding may
    }
  };
  const VerifyResult result = verified_by_erring_executor(n, n, {nullptr, tip});
  EXPECT_EQ(result.defect, "") << summary(result);
  EXPECT_THAT(result.remarks, Contains(HasSubstr("a choice among nearly equal numbers"))) << summary(result);
  // Nor is one of optimized execution.
  const auto tip_optimized = [&](Mode mode, const Node& node, const std::vector<Datum>& outputs) {
    if (mode == Mode::optimized) tip(Mode::reference, node, outputs);
  };
  const VerifyResult optimized = verified_by_erring_executor(n, n, {nullptr, tip_optimized});
  EXPECT_EQ(optimized.defect, "") << summary(optimized);
  EXPECT_THAT(optimized.remarks, Contains(HasSubstr("optimized execution is"))) << summary(optimized);
  // A choice that the scores do not support is a defect.
  const auto choose = [](Mode mode, const Node& chooser, const std::vector<Datum>& outputs) {
    if (mode == Mode::reference && chooser.op_type() == "ArgMax") outputs[0].tensor.data<int64_t>()[0] += 1;
  };
  EXPECT_THAT(verified_by_erring_executor(n, n, {nullptr, choose}).defect, HasSubstr("(ArgMax)"));
  const auto choose_optimized = [&](Mode mode, const Node& chooser, const std::vector<Datum>& outputs) {
    if (mode == Mode::optimized) choose(Mode::reference, chooser, outputs);
  };
  EXPECT_THAT(verified_by_erring_executor(n, n, {nullptr, choose_optimized}).defect, HasSubstr("but not optimized"));
}

TEST(Verify, LogarithmsOfFewScoresAreRightOptimized) {
  // oneDNN's logarithm is off by 2e-6, which shows where the range is small.
  Network n(1);
  n.input("x", {"N", "6"}).output("y", {"N", "6"});
  n.normal("w", {6, 6}, 0.3).node("MatMul", {"x", "w"}, {"l"}), n.node("LogSoftmax", {"l"}, {"y"}, {"axis=-1"});
  EXPECT_EQ(ran(n, n).defect, "");
}

TEST(Verify, V44DoubleModelsWithErrorsOfSingle) {
  const auto make = [](bool through_single) {
    Network n(1);
    n.input("x", {"N", "48"}, onnx::TensorProto::DOUBLE).output("y", {"N", "48"}, onnx::TensorProto::DOUBLE);
    n.node("Sigmoid", {"x"}, {"s"});
    if (through_single) n.node("Cast", {"s"}, {"f"}, {"to=1"}), n.node("Cast", {"f"}, {"s.d"}, {"to=11"});
    n.node("Neg", {through_single ? "s.d" : "s"}, {"y"});
    return n;
  };
  EXPECT_EQ(ran(make(false), make(false)).outcome, Outcome::same);
  const VerifyResult result = verified(make(false), make(true));
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  EXPECT_LT(result.outputs[0].bound, 1e-12);
}

TEST(Verify, V45AllNanIsInconclusive) {
  Network n = one_node("Add", {"nan"});
  n.floats("nan", {}, {std::numeric_limits<float>::quiet_NaN()});
  const VerifyResult result = ran(n, n);
  EXPECT_EQ(result.outcome, Outcome::inconclusive);
  EXPECT_EQ(result.outputs[0].reason, "no finite value: NaN and infinities in both confirm nothing");
  EXPECT_EQ(exit_code(result, false), 1);
  EXPECT_EQ(exit_code(result, true), 0);
}

TEST(Verify, ASampleOfNaNConfirmsNoProof) {
  const auto make = [](bool passes_on) {
    Network n(1);
    n.input("x", {"N", "6"}).output("y", {"N", "6"});
    n.floats("nan", {}, {std::numeric_limits<float>::quiet_NaN()}).node("Add", {"x", "nan"}, {passes_on ? "s" : "y"});
    if (passes_on) n.node("Identity", {"s"}, {"y"});
    return n;
  };
  const VerifyResult result = verified(make(true), make(false));
  ASSERT_TRUE(result.proof && result.proof->proved) << summary(result);
  EXPECT_EQ(result.outcome, Outcome::same);
  EXPECT_EQ(result.reason, "proved from the files alone: what was run gives NaN in both, which confirms nothing");
  EXPECT_THAT(result.remarks, Contains(MatchesRegex("output 'y': .* NaN in both, which confirms nothing: .* proved from the files alone")));
}

TEST(Verify, V46NanAtTheSamePlacesIsCounted) {
  Network n = one_node("Log");  // of inputs that are made positive: no NaN
  Network m = one_node("Add", {"bits"});
  std::vector<float> bits(48, 0);
  bits[7] = std::numeric_limits<float>::quiet_NaN();
  bits[9] = std::numeric_limits<float>::infinity();
  m.floats("bits", {48}, bits);
  EXPECT_EQ(ran(n, n).outcome, Outcome::same);
  const VerifyResult result = ran(m, m);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_EQ(result.outputs[0].samples[0].non_finite.nan_both, 2);
}

TEST(Verify, V47TheNodeThatProducesNanIsNamed) {
  Network a(1);
  a.input("x", {"N", "48"}).output("y", {"N", "48"});
  a.node("Abs", {"x"}, {"p"}), a.node("Sqrt", {"p"}, {"s"}), a.node("Tanh", {"s"}, {"y"});
  Network b = a;
  b.producer("s").set_op_type("Acosh");  // NaN below 1
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(result.outputs[0].reason, HasSubstr("NaN in B only")) << summary(result);
  ASSERT_THAT(result.layers, SizeIs(1)) << summary(result);
  EXPECT_EQ(result.layers[0].tensor, "s");
}

TEST(Verify, V50AChangedConstantIsDifferent) {
  Network a = one_node("Mul", {"zero"});
  a.floats("zero", {}, {0});
  Network b = one_node("Pow", {"zero"});
  b.floats("zero", {}, {0});
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
}

TEST(Verify, V49V50V51V52NothingWasTested) {
  const auto reason = [](Network n) {
    const VerifyResult result = ran(n, n);
    EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
    return result.outputs[0].reason;
  };
  Network empty = one_node("Slice", {"s0", "s0", "s1"});
  empty.integers("s0", {1}, {0}).integers("s1", {1}, {1});
  EXPECT_THAT(reason(empty), HasSubstr("no elements"));
  Network constant = one_node("Mul", {"zero"});
  constant.floats("zero", {}, {0});
  EXPECT_THAT(reason(constant), HasSubstr("constant: every element is"));
  Network saturated = one_node("Mul", {"huge"});
  saturated.floats("huge", {}, {1e6F}).insert_after("y", "Sigmoid");
  EXPECT_THAT(reason(saturated), HasSubstr("saturated: 100 %"));
  Network independent(1);
  independent.input("x", {"N", "4"}).output("y", {"8"});
  independent.normal("w", {8}).node("Identity", {"w"}, {"y"});
  EXPECT_THAT(reason(independent), HasSubstr("does not depend on the inputs"));
}

TEST(Verify, AModelWithoutInputsShowsAllInOneSample) {
  const auto made = [](float bias) {
    Network n(1);
    n.output("y", {"4"}).floats("bias", {4}, {bias, bias, bias, bias}).node("Exp", {"bias"}, {"y"});
    return n;
  };
  EXPECT_EQ(ran(made(0.5F), made(0.5F)).outcome, Outcome::same) << "every element is the same number";
  EXPECT_EQ(ran(made(0.5F), made(0.51F)).outcome, Outcome::different);
}

TEST(Verify, V52ConstantIntegersAreExactAndEnough) {
  Network n = decisions(1);
  const VerifyResult result = ran(n, n);
  EXPECT_THAT(outcomes(result), Each(Outcome::same)) << summary(result);
}

TEST(Verify, V62IdsOutsideTheTableInAGivenFileAreInvalid) {
  const Folder folder;
  Network n = transformer(1);
  onnx::TensorProto ids;
  ids.set_data_type(onnx::TensorProto::INT64);
  ids.add_dims(1), ids.add_dims(2);
  ids.add_int64_data(3), ids.add_int64_data(50);
  Network other = n;
  other.edit("table", [](auto& v) { v[0] += 1; });
  VerifyOptions options;
  options.inputs = {{"ids", folder.write("ids.pb", ids.SerializeAsString())}};
  EXPECT_EQ(error_of([&] { (void)verify(folder.write("a.onnx", n.bytes()), folder.write("b.onnx", other.bytes()), options); }, "50"),
            ErrorKind::invalid);
}

TEST(Verify, InputsFromFilesAreUsedAsTheyAre) {
  const Folder folder;
  Network a = one_node("Clip", {"lo", "hi"}), b = one_node("Clip", {"lo", "hi"});
  a.floats("lo", {}, {-100}).floats("hi", {}, {100});
  b.floats("lo", {}, {-100}).floats("hi", {}, {101});
  EXPECT_EQ(verified(a, b).outcome, Outcome::inconclusive);  // no generated value reaches a hundred
  std::vector<float> values(48, 1);
  values[3] = 100.5F;
  onnx::TensorProto x;
  x.set_data_type(onnx::TensorProto::FLOAT);
  x.add_dims(1), x.add_dims(48);
  x.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), 48 * sizeof(float)));
  VerifyOptions options;
  options.inputs = {{"x", folder.write("x.pb", x.SerializeAsString())}};
  const VerifyResult result = verify(folder.write("a.onnx", a.bytes()), folder.write("b.onnx", b.bytes()), options);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  EXPECT_EQ(result.samples, 1);
}

TEST(Verify, V64SizesCannotBeGuessed) {
  Network n(1);
  n.input("x", {"4", "6"}).input("s", {"2"}, onnx::TensorProto::INT64).output("y", {"a", "b"});
  n.node("Reshape", {"x", "s"}, {"y"});
  EXPECT_EQ(error_of([&] { (void)ran(n, n); }, "--input s=FILE"), ErrorKind::usage);
}

TEST(Verify, V65BothRejectTheirInputs) {
  Network n(1);
  n.input("x", {"4", "6"}).output("y", {"a", "b"});
  n.integers("s", {2}, {5, 5}).node("Reshape", {"x", "s"}, {"y"});
  EXPECT_EQ(error_of([&] { (void)ran(n, n); }, "a.onnx: node '/y/Reshape' (Reshape)"), ErrorKind::invalid);
  // An index that depends on values may be right for others.
  Network looks_up(1);
  looks_up.input("i", {"2"}, onnx::TensorProto::INT64).input("x", {"2"}).output("y", {"2"});
  looks_up.integers("far", {1}, {1000}).node("Add", {"i", "far"}, {"at"}), looks_up.node("Gather", {"x", "at"}, {"y"});
  const VerifyResult result = ran(looks_up, looks_up);
  EXPECT_EQ(result.outcome, Outcome::inconclusive);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("the reference cannot run"), HasSubstr("/y/Gather")));
}

TEST(Verify, V65RequestedSizesThatDoNotFitAreUsageErrors) {
  Network n(1);
  n.input("x", {"N", "48"}).input("z", {"M", "48"}).output("y", {"a", "48"}).node("Add", {"x", "z"}, {"y"});
  VerifyOptions options;
  options.dims = {{"N", 3}, {"M", 2}};
  EXPECT_EQ(error_of([&] { (void)ran(n, n, options); }, "do not broadcast, at the sizes of --dim and --shape"), ErrorKind::usage);
}

TEST(Verify, V66CandidateFailsWhereTheReferenceRuns) {
  Network a = one_node("Relu"), b(1);
  b.input("x", {"N", "48"}).output("y", {"N", "48"});
  b.normal("w", {47}).node("Add", {"x", "w"}, {"y"});
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("the candidate does not"), HasSubstr("/y/Add"), HasSubstr("sample 0")));
}

TEST(Verify, V67UnsupportedNodesOfBothFilesAreListed) {
  Network a = one_node("Foo"), b = one_node("Bar");
  for (Network* n : {&a, &b}) {
    n->graph().mutable_node(0)->set_domain("com.acme");
    auto& import = *n->model().add_opset_import();
    import.set_domain("com.acme");
    import.set_version(1);
  }
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(exit_code(result, true), 4);
  ASSERT_THAT(result.unsupported_a, SizeIs(1));
  ASSERT_THAT(result.unsupported_b, SizeIs(1));
  EXPECT_EQ(result.unsupported_b[0].op_type, "Bar");
}

TEST(Verify, V89IdenticalOrProvedFilesAreTheSameEvenIfTheyCannotRun) {
  Network a = one_node("Foo");
  a.graph().mutable_node(0)->set_domain("com.acme");
  auto& import = *a.model().add_opset_import();
  import.set_domain("com.acme");
  import.set_version(1);
  const VerifyResult identical = verified(a, a);
  EXPECT_EQ(exit_code(identical, false), 0) << summary(identical);
  EXPECT_THAT(identical.reason, HasSubstr("identical files"));
  Network b = a;
  b.graph().mutable_node(0)->set_doc_string("another byte");
  const VerifyResult proved = verified(a, b);
  EXPECT_EQ(exit_code(proved, false), 0) << summary(proved);
  EXPECT_THAT(proved.reason, HasSubstr("proved"));
  EXPECT_EQ(proved.samples, 0);
}

TEST(Verify, IdenticalFilesThatContradictTheirOwnTypesAreRefused) {
  const Folder folder;
  Network n = one_node("Relu");
  n.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  const auto a = folder.write("a.onnx", n.bytes()), b = folder.write("b.onnx", n.bytes());
  EXPECT_EQ(error_of([&] { (void)verify(a, b, {}); }, "a.onnx: node '/y/Relu' (Relu): its result 'y' is f32, the file declares i64"),
            ErrorKind::invalid);
}

TEST(Verify, V68BadFilesAreErrorsThatNameThem) {
  const Folder folder;
  const auto good = folder.write("good.onnx", classifier(1).bytes());
  const std::string bytes = classifier(1).bytes();
  const auto cut = folder.write("cut.onnx", bytes.substr(0, bytes.size() - 7));
  EXPECT_EQ(error_of([&] { (void)verify(good, cut, {}); }, "cut.onnx"), ErrorKind::invalid);
  EXPECT_EQ(error_of([&] { (void)verify(cut, good, {}); }, "cut.onnx"), ErrorKind::invalid);
  EXPECT_EQ(error_of([&] { (void)verify(good, folder.path() / "none.onnx", {}); }, "none.onnx"), ErrorKind::io);
}

TEST(Verify, V69IdenticalFilesNeedNoRun) {
  Network n = classifier(1);
  const VerifyResult result = verified(n, n);
  EXPECT_TRUE(result.identical);
  EXPECT_EQ(result.outcome, Outcome::same);
  EXPECT_THAT(result.reason, MatchesRegex("identical files \\(sha256 [0-9a-f]{64}\\)"));
  EXPECT_EQ(result.samples, 0);
  // Readers of reports find each output.
  ASSERT_THAT(result.outputs, SizeIs(n.graph().output_size()));
  EXPECT_EQ(result.outputs[0].outcome, Outcome::same);
  EXPECT_EQ(result.outputs[0].max_error, 0);
}

TEST(Verify, TheUsersBoundsAreAddedAndNeverLoosen) {
  Network a = classifier(1), b = a;
  for (const char* value : {"n1.y", "n2.y", "n3.y"}) fold_batch_norm(b, value);
  VerifyOptions strict;
  strict.rtol = 0;
  strict.atol = 1e-12;
  const VerifyResult result = verified(a, b, strict);
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(result.outputs[0].reason, HasSubstr("beyond --rtol, --atol"));
  Network wrong = a;
  wrong.edit("c1.w", [](auto& v) { v[0] += 0.1F; });
  VerifyOptions loose;
  loose.rtol = 100;
  loose.atol = 100;
  EXPECT_EQ(verified(a, wrong, loose).outcome, Outcome::different);
}

TEST(Verify, DimsComeFromTheUser) {
  Network n = classifier(1);
  VerifyOptions options;
  options.run_identical = true;
  options.samples = 2;
  options.dims = {{"N", 5}};
  const VerifyResult result = verified(n, n, options);
  ASSERT_THAT(result.inputs, SizeIs(2));
  EXPECT_EQ(result.inputs[0].shapes.at("x"), (Dims{5, 3, 12, 10}));
  EXPECT_EQ(result.outputs[0].dims, (Dims{5, 40}));
}

TEST(Verify, SizesThatTheModelRefusesAreTriedNoMore) {
  // A fixed Flatten downstream of stride 32 needs 224 × 224.
  Network n(1);
  n.input("x", {"N", "3", "H", "W"}).output("y", {"N", "40"});
  n.convolution("c", "x", "c.y", {4, 3, 3, 3}, {"pads=1,1,1,1", "strides=32,32"});
  n.integers("to", {2}, {-1, 196}).node("Reshape", {"c.y", "to"}, {"flat"});
  n.normal("fc.w", {196, 40}, 0.1).normal("fc.b", {40}).node("Gemm", {"flat", "fc.w", "fc.b"}, {"y"});
  const VerifyResult result = ran(n, n);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_EQ(result.inputs[0].shapes.at("x"), (Dims{2, 3, 224, 224}));
  Network never = n;
  never.integers("never", {2}, {-1, 1000003});
  never.producer("flat").set_input(1, "never");
  EXPECT_EQ(error_of([&] { (void)ran(never, never); }, "--dim"), ErrorKind::usage);
}

TEST(Verify, ProgressCountsTheRuns) {
  Network a = classifier(1), b = a;
  fold_batch_norm(b, "n1.y");
  int64_t last = -1, total = 0;
  std::string whats;
  VerifyOptions options;
  options.progress = [&](std::string_view what, int64_t done, int64_t all) {
    EXPECT_GT(done, last);
    EXPECT_LE(done, all);
    last = done;
    total = all;
    if (whats.find(what) == std::string::npos) whats += std::string(what) + ";";
  };
  (void)verified(a, b, options);
  EXPECT_EQ(last, total - 1);
  EXPECT_EQ(whats, "reference;noise floor;candidate, optimized;");
}

TEST(Verify, GraphsThatNoSampleEntersAreLookedForOnce) {
  // Ifs one after the other that decide by data; b multiplies absolute values.
  const auto chain = [](int count, bool by_absolutes) {
    std::string text =
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2, 4] x) => (float[2, 4] y) <float big = {1000}, float two = {2}> {\n";
    std::string last = "x";
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      text += "m" + n + " = ReduceMax <keepdims = 0> (" + last + ")  c" + n + " = Less (m" + n + ", big)  v" + n + " = If (c" + n +
              ") <then_branch = t" + n + " () => (float[2, 4] a" + n + ") { a" + n + " = Neg (" + last + ") }, else_branch = e" + n +
              " () => (float[2, 4] b" + n + ") { b" + n + " = Abs (" + last + ") }>\n";
      last = "v" + n;
    }
    return text + (by_absolutes ? "z = Abs (" + last + ")  y = Mul (z, z)" : "y = Mul (" + last + ", " + last + ")") + " }";
  };
  const auto runs = [&](int count) {
    const Folder folder;
    int found = 0;
    VerifyOptions options;
    options.threads = 1;
    options.progress = [&](std::string_view what, int64_t, int64_t) { found += what == "samples watched" ? 1 : 0; };
    (void)verify(folder.write("a.onnxtxt", chain(count, false)), folder.write("b.onnxtxt", chain(count, true)), options);
    return found;
  };
  const int of_two = runs(2);
  EXPECT_GT(of_two, 0);
  EXPECT_EQ(runs(12), of_two);
}

TEST(Verify, SameSeedSameFigures) {
  Network a = classifier(1), b = a;
  fold_batch_norm(b, "n1.y");
  VerifyOptions other;
  other.seed = 2;
  const VerifyResult one = verified(a, b), two = verified(a, b), three = verified(a, b, other);
  EXPECT_EQ(one.outputs[0].max_error, two.outputs[0].max_error);
  EXPECT_EQ(one.outputs[0].floor, two.outputs[0].floor);
  EXPECT_NE(one.outputs[0].samples[0].worst.a, three.outputs[0].samples[0].worst.a);
}

}  // namespace
}  // namespace relayout
