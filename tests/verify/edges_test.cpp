// Tests differences that show only for equal numbers, NaN or infinities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "relayout/verify.h"
#include "support/network.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::Network;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kInt64 = onnx::TensorProto::INT64, kBool = onnx::TensorProto::BOOL, kFloat = onnx::TensorProto::FLOAT;

void expect_doubt(const Network& a, const Network& b, const std::string& numbers, const std::string& node) {
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_THAT(result.reason, AllOf(HasSubstr(numbers), HasSubstr(node)));
}

void expect_same(const Network& a, const Network& b) {
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

/// A search over the classes of features, or over the features themselves.
Network searched(const std::string& op_type, const std::string& which, bool is_classified, int type = kFloat) {
  Network n(3);
  n.input("x", {"N", "12"}, type).output("y", {"N", "1"}, kInt64);
  if (is_classified) n.normal("w", {12, 9}).node("MatMul", {"x", "w"}, {"scores"}), n.node("Softmax", {"scores"}, {"p"});
  n.node(op_type, {is_classified ? "p" : "x"}, {"y"}, {"axis=1", "select_last_index=" + which}).set_name("search");
  return n;
}

TEST(Edges, ASearchThatTakesADifferentOneOfEqualNumbersIsInconclusive) {
  for (const std::string op_type : {"ArgMax", "ArgMin"}) {
    expect_doubt(searched(op_type, "0", true), searched(op_type, "1", true), "equal numbers", "'search'");
    expect_doubt(searched(op_type, "1", false), searched(op_type, "0", false), "equal numbers", "'search'");
  }
  // Samples of integers contain equal ones.
  const auto integers = [](const std::string& which) { return searched("ArgMax", which, false, onnx::TensorProto::INT32); };
  EXPECT_EQ(verified(integers("0"), integers("1")).outcome, Outcome::different);
}

TEST(Edges, ASearchWrittenAsTheBestOneOfManyIsTheSame) {
  // TopK takes the lower index of equal numbers too.
  Network b(3);
  b.input("x", {"N", "12"}).output("y", {"N", "1"}, kInt64).integers("one", {1}, {1});
  b.node("TopK", {"x", "one"}, {"", "y"}, {"axis=1"});
  expect_same(searched("ArgMax", "0", false), b);
  expect_doubt(searched("ArgMax", "1", false), b, "equal numbers", "");
}

TEST(Edges, ASearchInABranchThatSamplesEnterIsInconclusive) {
  const auto make = [](const std::string& which) {
    Network n(3);
    n.input("x", {"N", "12"}).input("go", {}, kBool).output("y", {"N", "1"}, kInt64);
    auto& choice = n.node("If", {"go"}, {"y"});
    for (const std::string branch : {"then_branch", "else_branch"}) {
      Network inner(4);
      inner.graph().set_name(branch);
      inner.node("Softplus", {"x"}, {branch + ".s"});
      inner.node("ArgMax", {branch + ".s"}, {branch + ".y"}, {"axis=1", "select_last_index=" + which}).set_name(branch + ".search");
      inner.graph().add_output()->set_name(branch + ".y");
      auto& attribute = *choice.add_attribute();
      attribute.set_name(branch);
      attribute.set_type(onnx::AttributeProto::GRAPH);
      *attribute.mutable_g() = inner.graph();
    }
    return n;
  };
  expect_doubt(make("0"), make("1"), "equal numbers", ".search'");
  expect_same(make("1"), make("1"));
}

/// Tests whether x, or the features computed from it, is infinite.
Network tested(const std::string& attribute, const std::string& before) {
  Network n(3);
  n.input("x", {"N", "12"}).output("y", {"N", "12"}, kBool).normal("w", {12, 12});
  if (before == "MatMul") n.node("MatMul", {"x", "w"}, {"f"});
  if (before == "Sigmoid") n.node("Sigmoid", {"x"}, {"f"});
  n.node("IsInf", {before.empty() ? "x" : "f"}, {"y"}, {attribute}).set_name("test");
  return n;
}

TEST(Edges, ATestForADifferentInfinityIsInconclusive) {
  for (const std::string before : {"", "MatMul"}) {
    expect_doubt(tested("detect_negative=0", before), tested("detect_negative=1", before), "infinity", "'test'");
    expect_doubt(tested("detect_positive=1", before), tested("detect_positive=0", before), "infinity", "'test'");
  }
}

/// y is x, or an operator's result for it, with a different number where a test holds.
Network guarded(const std::string& before, const std::string& test, int type = kFloat) {
  Network n(3);
  n.input("x", {"N", "12"}, type).output("y", {"N", "12"}, type).normal("w", {12, 12}).floats("c", {}, {0.5F}).integers("i", {}, {3});
  std::string value = "x";
  if (before == "MatMul") n.node("MatMul", {"x", "w"}, {"f"}), value = "f";
  if (!before.empty() && before != "MatMul") n.node(before, {"x"}, {"f"}), value = "f";
  if (test.empty()) {
    n.node(type == kInt64 ? "Abs" : "Tanh", {value}, {"y"});
    return n;
  }
  if (test == "Equal") {
    n.node("Equal", {value, value}, {"e"}), n.node("Not", {"e"}, {"t"});
  } else {
    n.node(test, {value}, {"t"});
  }
  n.node("Where", {"t", type == kInt64 ? "i" : "c", value}, {"g"}).set_name("guard");
  n.node(type == kInt64 ? "Abs" : "Tanh", {"g"}, {"y"});
  return n;
}

TEST(Edges, AGuardThatOneFileHasAloneIsInconclusive) {
  for (const std::string before : {"", "MatMul", "Relu"}) {
    for (const std::string test : {"IsNaN", "Equal"}) {
      expect_doubt(guarded(before, ""), guarded(before, test), "NaN", "'guard'");
      expect_doubt(guarded(before, test), guarded(before, ""), "NaN", "'guard'");
    }
    expect_doubt(guarded(before, ""), guarded(before, "IsInf"), "infinity", "'guard'");
  }
}

TEST(Edges, AGuardAgainstImpossibleValuesIsNoDifference) {
  expect_same(guarded("Relu", "IsNaN"), guarded("Relu", "IsNaN"));
  // A Sigmoid is never infinite, and an integer always equals itself.
  expect_same(guarded("Sigmoid", ""), guarded("Sigmoid", "IsInf"));
  expect_same(guarded("", "", kInt64), guarded("", "Equal", kInt64));
}

TEST(Edges, ALimitThatOnlyInfinitiesReachIsInconclusive) {
  constexpr float kLargest = std::numeric_limits<float>::max(), kInfinite = std::numeric_limits<float>::infinity();
  const auto make = [](float low, bool is_limited) {
    Network n(3);
    n.input("x", {"N", "12"}).output("y", {"N", "12"}).floats("low", {}, {low});
    if (is_limited) n.node("Max", {"x", "low"}, {"m"}).set_name("limit");
    n.node("LeakyRelu", {is_limited ? "m" : "x"}, {"y"});
    return n;
  };
  expect_doubt(make(0, false), make(-kLargest, true), "infinity", "'limit'");
  expect_same(make(0, false), make(-kInfinite, true));
}

/// Attention of tokens, whose mask hides the tokens that are 0 in it, with a guard against rows without any token.
Network attention(float hidden, bool is_guarded) {
  Network n(5);
  n.input("ids", {"N", "6"}, kInt64).input("attention_mask", {"N", "6"}, kInt64).output("y", {"N", "6", "8"});
  n.normal("table", {20, 8}).normal("w", {8, 8}).floats("zero", {}, {0}).floats("hidden", {}, {hidden}).integers("axis", {1}, {1});
  n.node("Gather", {"table", "ids"}, {"e"}), n.node("MatMul", {"e", "w"}, {"q"}), n.node("Transpose", {"e"}, {"k"}, {"perm=0,2,1"});
  n.node("Cast", {"attention_mask"}, {"kept"}, {"to=9"}), n.node("Unsqueeze", {"kept", "axis"}, {"kept.rows"});
  n.node("Where", {"kept.rows", "zero", "hidden"}, {"mask"}), n.node("MatMul", {"q", "k"}, {"s"}), n.node("Add", {"s", "mask"}, {"m"});
  n.node("Softmax", {"m"}, {"p"}, {"axis=-1"});
  if (is_guarded) n.node("IsNaN", {"p"}, {"t"}), n.node("Where", {"t", "zero", "p"}, {"g"}).set_name("guard");
  n.node("MatMul", {is_guarded ? "g" : "p", "e"}, {"y"});
  return n;
}

TEST(Edges, AGuardOfAttentionCountsWhereAMaskCanHideAWholeRow) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  expect_doubt(attention(-kInfinite, false), attention(-kInfinite, true), "NaN", "'guard'");
  expect_same(attention(-1e4F, false), attention(-1e4F, true));
}

TEST(Edges, AGivenMaskThatHidesAWholeRowRevealsTheGuard) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const Folder folder;
  Network a = attention(-kInfinite, false), b = attention(-kInfinite, true);
  VerifyOptions options;
  options.threads = 1;
  onnx::TensorProto mask;
  mask.set_data_type(kInt64), mask.add_dims(2), mask.add_dims(6), mask.set_raw_data(std::string(sizeof(int64_t) * 2 * 6, '\0'));
  options.inputs["attention_mask"] = folder.write("mask.pb", mask.SerializeAsString());
  const VerifyResult result = verify(folder.write("a.onnx", a.bytes()), folder.write("b.onnx", b.bytes()), options);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
}

}  // namespace
}  // namespace relayout
