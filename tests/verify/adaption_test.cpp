// Tests inputs and outputs of the same models in a different form: names, 16-bit types, fixed sizes. Both models run, and the verdict says
// so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "narrow.h"
#include "networks.h"
#include "relayout/error.h"
#include "relayout/verify.h"
#include "support/network.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::Network;
using ::testing::HasSubstr;

/// The model under other names: x is X, y and f are exchanged with names of inner values.
Network renamed(Network n) {
  for (auto& node : *n.graph().mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      if (input == "x") input = "X";
    }
  }
  n.graph().mutable_input(0)->set_name("X");
  n.producer("y").set_output(0, "24");
  n.graph().mutable_output(0)->set_name("24");
  return n;
}

TEST(Adaption, V110RenamedModelsArePairedByNamesOrPosition) {
  const Network a = classifier(1), b = renamed(a);
  EXPECT_EQ(verified(a, b).outcome, Outcome::different);
  VerifyOptions by_name;
  by_name.renames = {{"x", "X"}, {"y", "24"}};
  VerifyOptions by_position;
  by_position.match_position = true;
  for (const VerifyOptions& options : {by_name, by_position}) {
    const VerifyResult result = verified(a, b, options);
    EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
    ASSERT_EQ(result.interface.size(), 2U) << summary(result);
    EXPECT_TRUE(result.interface[0].adapted && result.interface[0].remark);
    EXPECT_EQ(result.interface[0].b, "X");
    Network wrong = b;
    wrong.edit("fc.w", [](auto& v) { v[5] *= 1.1F; });
    EXPECT_EQ(verified(a, wrong, options).outcome, Outcome::different);
  }
}

TEST(Adaption, NamesAreExchangedAndNamesOfValuesInsideAreTaken) {
  Network a(1);
  a.input("p", {"2"}).input("q", {"2"}).output("r", {"2"});
  a.node("Neg", {"p"}, {"s"}), a.node("Add", {"s", "q"}, {"t"}), a.node("Mul", {"t", "q"}, {"r"});
  Network b(1);
  b.input("q", {"2"}).input("p", {"2"}).output("t", {"2"});
  b.node("Neg", {"q"}, {"r"}), b.node("Add", {"r", "p"}, {"s"}), b.node("Mul", {"s", "p"}, {"t"});
  VerifyOptions options;
  options.match_position = true;
  EXPECT_EQ(verified(a, b, options).outcome, Outcome::same);
  // With exchanged inputs, even the same file is different.
  options = {};
  options.renames = {{"p", "q"}, {"q", "p"}};
  EXPECT_EQ(verified(a, a, options).outcome, Outcome::different);
}

TEST(Adaption, NamesThatNoModelHasAreErrors) {
  const Network a = classifier(1);
  VerifyOptions options;
  const auto message = [&](const char* of_a, const char* of_b) -> std::string {
    options.renames = {{of_a, of_b}};
    try {
      (void)verified(a, renamed(a), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("z", "X"), HasSubstr("A has no such input or output: 'z'"));
  EXPECT_THAT(message("x", "24"), HasSubstr("B has no such input or output: '24'"));
}

TEST(Adaption, V111NarrowInputsAndOutputsAreCast) {
  const Network a = classifier(1), b = narrowed(a, onnx::TensorProto::FLOAT16);
  const VerifyResult refused = verified(a, b);
  EXPECT_EQ(refused.outcome, Outcome::different);
  ASSERT_FALSE(refused.outputs[0].samples.empty()) << summary(refused);
  EXPECT_LT(refused.outputs[0].max_error, 1e-2);
  VerifyOptions options;
  options.precision = DataType::float16;
  const VerifyResult meant = verified(a, b, options);
  EXPECT_EQ(meant.outcome, Outcome::same) << summary(meant);
  EXPECT_TRUE(meant.interface.front().adapted && meant.interface.front().remark);
  Network wrong = a;
  wrong.edit("c2.w", [](auto& v) {
    for (float& x : v) x *= 1.05F;
  });
  EXPECT_EQ(verified(a, narrowed(wrong, onnx::TensorProto::FLOAT16), options).outcome, Outcome::different);
  // Types alone do not permit the precision of the computation.
  options = {};
  options.allow_interface = true;
  EXPECT_EQ(verified(a, b, options).outcome, Outcome::different);
  // bf16 is coarser than the requested precision.
  options = {};
  options.precision = DataType::float16;
  EXPECT_EQ(verified(a, narrowed(a, onnx::TensorProto::BFLOAT16), options).outcome, Outcome::different);
}

TEST(Adaption, V112FixedDimsBindFreeOnes) {
  const Network a = classifier(1);
  Network b = a;
  b.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(5);
  const VerifyResult said = verified(a, b);
  EXPECT_EQ(said.outcome, Outcome::different);
  ASSERT_FALSE(said.inputs.empty()) << summary(said);
  EXPECT_EQ(said.inputs.front().shapes.at("x"), (Dims{5, 3, 12, 10}));
  VerifyOptions options;
  options.allow_interface = true;
  const VerifyResult allowed = verified(a, b, options);
  EXPECT_EQ(allowed.outcome, Outcome::same) << summary(allowed);
  Network wrong = b;
  wrong.edit("fc.b", [](auto& v) { v[3] += 0.1F; });
  EXPECT_EQ(verified(a, wrong, options).outcome, Outcome::different);
  // A size that contradicts the model cannot be run.
  options.dims = {{"N", 2}};
  const VerifyResult contradicted = verified(a, b, options);
  EXPECT_EQ(contradicted.outcome, Outcome::different);
  EXPECT_THAT(contradicted.reason, HasSubstr("nothing was run"));
}

/// Scores of two heads, masked by a constant upstream of the Softmax.
Network masked(double minus_infinity, bool writes_out_softmax = false, const std::string& sum = "Add") {
  Network n(7);
  n.input("x", {"2", "6", "6"}).input("mask", {"2", "6"}, onnx::TensorProto::INT64).output("y", {"2", "6", "6"});
  n.node("Cast", {"mask"}, {"kept"}, {"to=1"}), n.floats("one", {}, {1}), n.node("Sub", {"one", "kept"}, {"gone"});
  n.floats("infinity", {}, {static_cast<float>(minus_infinity)}), n.node("Mul", {"gone", "infinity"}, {"large"});
  n.integers("axes", {1}, {1}), n.node("Unsqueeze", {"large", "axes"}, {"row"});
  n.normal("w", {6, 6}, 0.5), n.node("MatMul", {"x", "w"}, {"scores"});
  n.node(sum, {"scores", "row"}, {"added"});
  if (writes_out_softmax) {
    n.node("ReduceMax", {"added"}, {"largest"}, {"axes=-1,"}), n.node("Sub", {"added", "largest"}, {"below"});
    n.node("Exp", {"below"}, {"powers"}), n.integers("last", {1}, {-1}), n.node("ReduceSum", {"powers", "last"}, {"sum"});
    n.node("Div", {"powers", "sum"}, {"p"});
  } else {
    n.node("Softmax", {"added"}, {"p"});
  }
  n.node("MatMul", {"p", "x"}, {"y"});
  return n;
}

TEST(Adaption, V113MinusInfinityEnoughIsTheSameToASoftmax) {
  const Network a = masked(-3.4028235e38);
  for (const double other : {-65504.0, -1e4, -1e9}) {
    const VerifyResult result = verified(a, masked(other));
    EXPECT_EQ(result.outcome, Outcome::same) << other << summary(result);
  }
  for (const double too_small : {-3.0, 0.0, -1.0}) {
    const VerifyResult result = verified(a, masked(too_small));
    EXPECT_EQ(result.outcome, Outcome::different) << too_small << summary(result);
  }
}

TEST(Adaption, MinusInfinityEnoughIsTheSameThroughASum) {
  const Network a = masked(-3.4028235e38, false, "Sum");
  EXPECT_EQ(verified(a, masked(-65504, false, "Sum")).outcome, Outcome::same) << summary(verified(a, masked(-65504, false, "Sum")));
  EXPECT_EQ(verified(a, masked(-3, false, "Sum")).outcome, Outcome::different);
}

TEST(Adaption, MinusInfinityEnoughIsTheSameToASoftmaxThatIsWrittenOut) {
  const Network a = masked(-3.4028235e38);
  EXPECT_EQ(verified(a, masked(-65504, true)).outcome, Outcome::same) << summary(verified(a, masked(-65504, true)));
  EXPECT_EQ(verified(a, masked(-3, true)).outcome, Outcome::different);
}

}  // namespace
}  // namespace relayout
