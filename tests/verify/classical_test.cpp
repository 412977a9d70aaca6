// Verdicts on models of domain ai.onnx.ml: what they have learned is in attributes, so that a fault there shows for few inputs only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "relayout/verify.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file

VerifyResult verified_texts(const std::string& a, const std::string& b) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  const std::string header = "<ir_version: 9, opset_import: [\"\" : 18, \"ai.onnx.ml\" : 3]>\n";
  return verify(folder.write("a.onnxtxt", header + a), folder.write("b.onnxtxt", header + b), options);
}

/// Two trees: (x0 ≤ 0.5 ? 0 : x1 < 0.25 ? 1 : 2) and (x1 > −40 ? 1 : 0), for three classes.
const std::string kTrees =
    "g (float[N, 2] x) => (int64[N] label, float[N, 3] scores) {\n"
    " label, scores = ai.onnx.ml.TreeEnsembleClassifier <classlabels_int64s = [3, 5, 9],\n"
    "  nodes_treeids = [0, 0, 0, 0, 0, 1, 1, 1], nodes_nodeids = [0, 1, 2, 3, 4, 0, 1, 2], nodes_featureids = [0, 0, 1, 0, 0, 1, 0, 0],\n"
    "  nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"BRANCH_LT\", \"LEAF\", \"LEAF\", \"BRANCH_GT\", \"LEAF\", \"LEAF\"],\n"
    "  nodes_values = [0.5, 0.0, 0.25, 0.0, 0.0, -40.0, 0.0, 0.0], nodes_missing_value_tracks_true = [0, 0, 1, 0, 0, 0, 0, 0],\n"
    "  nodes_truenodeids = [1, 0, 3, 0, 0, 1, 0, 0], nodes_falsenodeids = [2, 0, 4, 0, 0, 2, 0, 0], nodes_hitrates = [1.0, 1.0, 1.0, 1.0, "
    "1.0, 1.0, 1.0, 1.0],\n"
    "  class_treeids = [0, 0, 0, 1, 1], class_nodeids = [1, 3, 4, 1, 2], class_ids = [0, 1, 2, 1, 0], class_weights = [0.9, 0.8, 0.7, 0.3, "
    "0.2],\n"
    "  post_transform = \"SOFTMAX\"> (x)\n}\n";

const std::string kLinear =
    "g (float[N, 2] x) => (int64[N] label, float[N, 2] scores) {\n"
    " z = ai.onnx.ml.Scaler <offset = [0.5, -1.0], scale = [2.0, 3.0]> (x)\n"
    " label, scores = ai.onnx.ml.LinearClassifier <classlabels_ints = [0, 4], coefficients = [0.3, -0.7, 0.2, 0.9], intercepts = [0.1, "
    "-0.2],\n"
    "  post_transform = \"LOGISTIC\"> (z)\n}\n";

struct Change {
  std::string model, what, with;
};
void PrintTo(const Change& change, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << change.what << " becomes " << change.with;
}

std::string changed(const Change& change) {
  std::string out = change.model;
  const auto at = out.find(change.what);
  EXPECT_NE(at, std::string::npos) << change.what;
  return at == std::string::npos ? out : out.replace(at, change.what.size(), change.with);
}

/// A model with outputs label and scores, within a branch that samples enter.
std::string in_a_branch(const std::string& model) {
  const std::size_t outputs = model.find("=> (") + 4, end = model.find(')', outputs);
  const std::size_t body = model.find("{\n", end);
  const std::string initializers = model.substr(end + 1, body - end - 1);
  return "g (float[N, 2] x, bool c) => (int64[M] l, float[P, Q] r) " + initializers + "{\n l, r = If (c) <then_branch = t () => (" +
         model.substr(outputs, end - outputs) + ") " + model.substr(body) +
         ", else_branch = e () => (int64[M] other, float[P, Q] rest) { other = Shape (x) rest = Neg (x) }>\n}\n";
}

class ClassicalFault : public ::testing::TestWithParam<Change> {};

TEST_P(ClassicalFault, IsNeverTheSame) {
  const std::string& a = GetParam().model;
  const std::string b = changed(GetParam());
  for (const auto& [first, second] : {std::pair{a, b}, {b, a}}) {
    const VerifyResult result = verified_texts(first, second);
    EXPECT_TRUE(result.outcome == Outcome::different || result.outcome == Outcome::inconclusive) << summary(result);
  }
}

TEST_P(ClassicalFault, IsNeverTheSameInABranch) {
  const VerifyResult result = verified_texts(in_a_branch(GetParam().model), in_a_branch(changed(GetParam())));
  EXPECT_TRUE(result.outcome == Outcome::different || result.outcome == Outcome::inconclusive) << summary(result);
}

INSTANTIATE_TEST_SUITE_P(
    Attributes, ClassicalFault,
    ::testing::Values(Change{kTrees, "[0.5, 0.0, 0.25", "[0.5, 0.0, 0.375"}, Change{kTrees, "-40.0", "-41.0"},
                      Change{kTrees, "\"BRANCH_LT\"", "\"BRANCH_LEQ\""}, Change{kTrees, "\"BRANCH_GT\"", "\"BRANCH_GTE\""},
                      Change{kTrees, "[0, 0, 1, 0, 0, 0, 0, 0]", "[0, 0, 0, 0, 0, 0, 0, 0]"}, Change{kTrees, "0.3, 0.2]", "0.3, 0.21]"},
                      Change{kTrees, "[3, 5, 9]", "[3, 5, 8]"}, Change{kTrees, "[0, 1, 2, 1, 0]", "[0, 1, 2, 1, 1]"},
                      Change{kTrees, "[0, 0, 1, 0, 0, 1, 0, 0]", "[0, 0, 1, 0, 0, 0, 0, 0]"}, Change{kTrees, "SOFTMAX", "LOGISTIC"},
                      Change{kLinear, "0.9]", "0.91]"}, Change{kLinear, "-0.2]", "-0.2001]"}, Change{kLinear, "[2.0, 3.0]", "[2.0, 3.001]"},
                      Change{kLinear, "[0, 4]", "[0, 3]"}, Change{kLinear, "[0, 4]", "[4, 0]"}, Change{kLinear, "LOGISTIC", "NONE"}));

class ClassicalRewrite : public ::testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(ClassicalRewrite, IsTheSame) {
  const VerifyResult result = verified_texts(GetParam().first, GetParam().second);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

TEST_P(ClassicalRewrite, IsTheSameInABranch) {
  const VerifyResult result = verified_texts(in_a_branch(GetParam().first), in_a_branch(GetParam().second));
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

/// The same trees with nodes, votes and trees in another order, and opposite comparisons.
const std::string kOtherOrder =
    "g (float[N, 2] x) => (int64[N] label, float[N, 3] scores) {\n"
    " label, scores = ai.onnx.ml.TreeEnsembleClassifier <classlabels_int64s = [3, 5, 9],\n"
    "  nodes_treeids = [1, 1, 1, 4, 4, 4, 4, 4], nodes_nodeids = [0, 1, 2, 0, 4, 3, 2, 1], nodes_featureids = [1, 0, 0, 0, 0, 0, 1, 0],\n"
    "  nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\", \"BRANCH_LEQ\", \"LEAF\", \"LEAF\", \"BRANCH_GTE\", \"LEAF\"],\n"
    "  nodes_values = [-40.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.25, 0.0], nodes_missing_value_tracks_true = [1, 0, 0, 0, 0, 0, 0, 0],\n"
    "  nodes_truenodeids = [2, 0, 0, 1, 0, 0, 4, 0], nodes_falsenodeids = [1, 0, 0, 2, 0, 0, 3, 0],\n"
    "  class_treeids = [1, 1, 4, 4, 4], class_nodeids = [2, 1, 4, 3, 1], class_ids = [0, 1, 2, 1, 0], class_weights = [0.2, 0.3, 0.7, 0.8, "
    "0.9],\n"
    "  post_transform = \"SOFTMAX\"> (x)\n}\n";

const std::string kWrittenOut =
    "g (float[N, 2] x) => (int64[N] label, float[N, 2] scores)\n"
    "<float[2] o = {0.5, -1.0}, float[2] s = {2.0, 3.0}> {\n"
    " d = Sub (x, o)\n z = Mul (d, s)\n"
    " label, scores = ai.onnx.ml.LinearClassifier <classlabels_ints = [0, 4], coefficients = [0.3, -0.7, 0.2, 0.9], intercepts = [0.1, "
    "-0.2],\n"
    "  post_transform = \"LOGISTIC\"> (z)\n}\n";

INSTANTIATE_TEST_SUITE_P(Forms, ClassicalRewrite,
                         ::testing::Values(std::pair{kTrees, kOtherOrder},
                                           std::pair{kTrees, changed({kTrees, "hitrates = [1.0", "hitrates = [0.5"})},
                                           std::pair{kLinear, kWrittenOut}, std::pair{kLinear, changed({kLinear, "0.9]", "0.90000004]"})}));

std::string zipped(const std::string& labels, const std::string& operation = "Softmax") {
  return "g (float[N, 3] x) => (seq(map(string, float)) y) { p = " + operation +
         " (x) y = ai.onnx.ml.ZipMap <classlabels_strings = " + labels + "> (p) }";
}

TEST(ClassicalMaps, AreComparedByKeysAndValues) {
  const std::string a = zipped("[\"b\", \"a\", \"c\"]");
  EXPECT_EQ(verified_texts(a, zipped("[\"b\", \"a\", \"c\"]", "Sigmoid")).outcome, Outcome::different);
  EXPECT_EQ(verified_texts(a, zipped("[\"b\", \"a\", \"d\"]")).outcome, Outcome::different);
  EXPECT_EQ(verified_texts(a, zipped("[\"a\", \"b\", \"c\"]")).outcome, Outcome::different) << "the same keys of other values";
  const std::string b =
      "g (float[N, 3] x) => (seq(map(string, float)) y) { n = Neg (x) m = Neg (n) p = Softmax (m)"
      " y = ai.onnx.ml.ZipMap <classlabels_strings = [\"b\", \"a\", \"c\"]> (p) }";
  const VerifyResult result = verified_texts(a, b);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

TEST(ClassicalMaps, AreInputsWithTheKeysOfTheirReader) {
  const auto model = [](const std::string& operation) {
    return "g (map(string, float) x) => (float[1, 3] y) { d = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"b\", \"a\", \"c\"]> (x) y "
           "= " +
           operation + " (d) }";
  };
  EXPECT_EQ(verified_texts(model("Abs"), model("Neg")).outcome, Outcome::different);
}

}  // namespace
}  // namespace relayout
