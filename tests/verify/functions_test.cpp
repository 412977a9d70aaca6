// Tests that what model-local functions compute is compared as if their nodes stood in place of the calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file

/// A model that calls a function with this body, from `x` to `y`.
std::string calling(const std::string& interface, const std::string& body) {
  return "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]> model " + interface +
         " { y = local.Inner(x) }\n<domain: \"local\", opset_import: [\"\" : 17]> Inner (x) => (y) {\n" + body + "\n}";
}
VerifyResult verified_calls(const std::string& interface, const std::string& a, const std::string& b, DataType precision = {}) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  options.precision = precision;
  return verify(folder.write("a.onnxtxt", calling(interface, a)), folder.write("b.onnxtxt", calling(interface, b)), options);
}

constexpr const char* kRows = "(float[N, 8] x) => (float[N, 8] y)";
const std::string kNumbers = "h = Constant<value_float = 0.5>()\n o = Constant<value_float = 1.0>()\n s = Constant<value_float = 1.5>()\n";

TEST(Functions, ProvesWhatTheirNodesCompute) {
  const VerifyResult result = verified_calls(kRows, kNumbers + "a = Add(x, h)\n y = Add(a, o)", kNumbers + "y = Add(x, s)");
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

TEST(Functions, SeesRulesOfTheirNodesTried) {
  const std::string clip = "y = Clip(x, o, s)", limits = "m = Max(x, o)\n y = Min(m, s)";
  const VerifyResult result = verified_calls(kRows, kNumbers + clip, kNumbers + limits);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

TEST(Functions, SeesDifferencesOfTheirNodes) {
  const VerifyResult result = verified_calls(kRows, kNumbers + "a = Add(x, h)\n y = Add(a, o)", kNumbers + "y = Add(x, o)");
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
}

TEST(Functions, DoubtsTheOrderOfUnsortedNumbers) {
  const auto top = [](const std::string& sorted, const std::string& last) {
    return "k = Constant<value_ints = [9]>()\n a = Constant<value_ints = [1]>()\n v, i = TopK<sorted = " + sorted + ">(x, k)\n" + last;
  };
  const std::string seen = "y = Relu(v)", summed = "y = ReduceSum(v, a)", rows = "(float[2, 64] x) => (float[2, K] y)";
  EXPECT_EQ(verified_calls(rows, top("1", seen), top("0", seen)).outcome, Outcome::inconclusive);
  EXPECT_EQ(verified_calls(rows, top("1", summed), top("0", summed)).outcome, Outcome::same);
}

TEST(Functions, OverflowLikeNodes) {
  const auto scaled = [](const std::string& by) { return "k = Constant<value_float = " + by + ">()\n t = Mul(x, k)\n y = Div(t, k)"; };
  EXPECT_EQ(verified_calls(kRows, "y = Identity(x)", scaled("1e37")).outcome, Outcome::inconclusive);
  EXPECT_EQ(verified_calls(kRows, "y = Identity(x)", scaled("1e10")).outcome, Outcome::same);
}

/// A limit of 1,000 or so, which no sample reaches: given by the call, by the call of a call, or written in the node itself.
std::string limited(const std::string& form, const std::string& limit) {
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]> model (float[N, 4] x) => (float[N, 4] y) { ",
                    domain = "<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]> ",
                    inner = domain + "Inner <most> (x) => (y) { k = Constant<value_float : float = @most>()\n y = Min(x, k) }\n";
  if (form == "node") return head + "k = Constant<value_float = " + limit + ">()\n y = Min(x, k) }";
  if (form == "call") return head + "y = local.Inner<most = " + limit + ">(x) }\n" + inner;
  return head + "y = local.Outer<most = " + limit + ">(x) }\n" + domain +
         "Outer <most> (x) => (y) { y = local.Inner<most : float = @most>(x) }\n" + inner;
}

TEST(Functions, ConstantsThatCallsGiveAreCompared) {
  for (const std::string a : {"call", "nested", "node"}) {
    for (const std::string b : {"call", "nested", "node"}) {
      const Folder folder;
      const auto verified_limits = [&](const std::string& of_a, const std::string& of_b) {
        VerifyOptions options;
        options.threads = 1;
        return verify(folder.write("a.onnxtxt", limited(a, of_a)), folder.write("b.onnxtxt", limited(b, of_b)), options);
      };
      EXPECT_NE(verified_limits("1000.0", "2000.0").outcome, Outcome::same) << a << " and " << b;
      const VerifyResult same = verified_limits("1000.0", "1000.0");
      EXPECT_EQ(same.outcome, Outcome::same) << a << " and " << b << ": " << summary(same);
    }
  }
}

TEST(Functions, ComputeInSixteenBitsWhereMeant) {
  const std::string narrow = "n = Cast<to = 10>(x)\n t = Tanh(n)\n y = Cast<to = 1>(t)";
  EXPECT_EQ(verified_calls(kRows, "y = Tanh(x)", narrow).outcome, Outcome::different);
  const VerifyResult meant = verified_calls(kRows, "y = Tanh(x)", narrow, DataType::float16);
  EXPECT_EQ(meant.outcome, Outcome::same) << summary(meant);
}

}  // namespace
}  // namespace relayout
