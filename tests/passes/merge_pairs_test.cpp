#include <gmock/gmock.h>

#include "relayout/model.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kPass = "merge-pairs";
/// With one in front, which runs again where this one has rewritten something.
const std::vector<std::string> kPasses = {"remove-identity", kPass};

/// Two nodes between a Relu and a Neg.
TextModel between(const std::string& x, const std::string& y, const std::string& constants, const std::string& nodes) {
  return "g (" + x + " x) => (" + y + " y) " + (constants.empty() ? "" : "<" + constants + "> ") + "{ r = Relu (x) " + nodes +
         " y = Neg (b) }";
}

/// The nodes that are left, Relu and Neg included.
std::size_t left(const TextModel& model) {
  return run(kPasses, model).model->graph().nodes().size();
}

constexpr std::size_t kNone = 2, kOne = 3, kBoth = 4;

TEST(MergePairs, TransposesThatCancelOrMerge) {
  const auto pair = [](const std::string& first, const std::string& second) {
    return left(between("float[N,3,5]", "float[A,B,C]", "", "a = Transpose" + first + " (r) b = Transpose" + second + " (a)"));
  };
  EXPECT_EQ(pair("<perm = [2,0,1]>", "<perm = [1,2,0]>"), kNone);
  EXPECT_EQ(pair("<perm = [2,0,1]>", "<perm = [2,0,1]>"), kOne);
  EXPECT_EQ(pair("", ""), kNone) << "both reverse";
  const auto merged =
      run({kPass}, between("float[N,3,5]", "float[A,B,C]", "", "a = Transpose <perm = [2,0,1]> (r) b = Transpose <perm = [0,2,1]> (a)"));
  ASSERT_EQ(merged.count("Transpose"), 1);
  for (const Node& node : merged.model->graph().nodes()) {
    // Axis i of the second's result is axis p[i] of the first's, which is axis q[p[i]] of x.
    if (!node.is("Transpose")) continue;
    EXPECT_EQ(Attributes(node).integers("perm"), (Dims{2, 1, 0}));
  }
}

TEST(MergePairs, KeepsWhatOthersRead) {
  const auto count = [](const std::string& second) {
    return run(kPasses, between("float[2,3,5]", "float[A,B,C]", "",
                                "a = Transpose <perm = [2,0,1]> (r) b = Transpose" + second + " (a) z = Exp (a)"))
        .count("Transpose");
  };
  EXPECT_EQ(count("<perm = [2,0,1]>"), 2) << "one Transpose instead of two would be made from the same operand again";
  const TextModel model =
      "g (float[2,3,5] x) => (float[2,3,5] y, float[5,2,3] z) { r = Relu (x) a = Transpose <perm = [2,0,1]> (r) b = Transpose <perm = "
      "[1,2,0]> (a) y = "
      "Neg (b) z = Exp (a) }";
  EXPECT_EQ(run(kPasses, model).count("Transpose"), 1) << "the first stays for Exp";
}

TEST(MergePairs, Reshapes) {
  const std::string two = "int64[2] i = {-1, 15}, int64[3] j = {-1, 3, 5}", nodes = "a = Reshape (r, i) b = Reshape (a, j)";
  EXPECT_EQ(left("g (float[N,3,5] x) => (float[A,B,C] y) <" + two + "> { r = Relu (x) " + nodes + " y = Neg (b) }"), kNone);
  EXPECT_EQ(left("g (float[N,5,3] x) => (float[A,B,C] y) <" + two + "> { r = Relu (x) " + nodes + " y = Neg (b) }"), kOne) << "other dims";
  EXPECT_EQ(left("g (float[N,M,5] x) => (float[A,B,C] y) <" + two + "> { r = Relu (x) " + nodes + " y = Neg (b) }"), kOne)
      << "M may not be 3";
  EXPECT_EQ(left("g (float[N,3,5] x) => (float[A,B,C] y) <int64[2] i = {-1, 5}, int64[3] j = {0, 1, 5}> { r = Relu (x) " + nodes +
                 " y = Neg (b) }"),
            kBoth)
      << "0 copies a dim of what is between";
  EXPECT_EQ(
      left(
          "g (float[N,3,5] x) => (float[A,B,C] y) <int64[1] i = {1}> { r = Relu (x) a = Unsqueeze (r, i) b = Squeeze (a, i) y = Neg (b) }"),
      kNone);
  EXPECT_EQ(left("g (float[N,3,5] x) => (float[A,B,C] y) <int64[1] i = {1}, int64[2] j = {-1, 15}> { r = Relu (x) a = Unsqueeze (r, i) b = "
                 "Reshape (a, j) y = "
                 "Neg (b) }"),
            kOne);
}

TEST(MergePairs, AxesOfOneKind) {
  const auto pair = [](const std::string& op, const std::string& x, const std::string& first, const std::string& second) {
    const std::string head = "g (" + x + " x) => (y) <int64[2] i = {" + first + "}, int64[2] j = {" + second + "}> { ";
    return TextModel(head + "r = Relu (x) a = " + op + " (r, i) b = " + op + " (a, j) y = Neg (b) }");
  };
  const auto one = [](const std::string& op, const std::string& x, const std::string& axes) {
    return "g (" + x + " x) => (y) <int64[4] j = {" + axes + "}> { r = Relu (x) b = " + op + " (r, j) y = Neg (b) }";
  };
  // Axes 0 and 3 are added to N, 1, M, 1: those at 1 and 3 are then at 2 and 4.
  expect_rewrite(kPass, pair("Unsqueeze", "float[2,3]", "1, 3", "0, 3"), one("Unsqueeze", "float[2,3]", "0, 2, 3, 5"));
  expect_rewrite(kPass, pair("Unsqueeze", "float[2,3]", "-1, 0", "-1, 1"), one("Unsqueeze", "float[2,3]", "0, 1, 4, 5"));
  // Of 1, 2, 1, 1, 3, 1 axes 0 and 2 go first, of which 1 and 3 are then the fourth and the sixth.
  expect_rewrite(kPass, pair("Squeeze", "float[1,2,1,1,3,1]", "0, 2", "1, 3"), one("Squeeze", "float[1,2,1,1,3,1]", "0, 2, 3, 5"));
  const std::string kOld = R"(<ir_version: 8, opset_import: ["" : 11]>)";
  const TextModel attributes(
      "g (float[2,3] x) => (y) { r = Relu (x) a = Unsqueeze <axes = [1]> (r) b = Unsqueeze <axes = [0]> (a) y = Neg (b) }", kOld);
  const TextModel joint("g (float[2,3] x) => (y) { r = Relu (x) b = Unsqueeze <axes = [0,2]> (r) y = Neg (b) }", kOld);
  expect_rewrite(kPass, attributes, joint);
}

TEST(MergePairs, TransposesBetweenAxesThatComeAndGo) {
  const auto three = [](const std::string& added, const std::string& permutation, const std::string& taken) {
    return TextModel("g (float[2,3,5] x) => (y) <int64[1] i = {" + added + "}, int64[1] j = {" + taken +
                     "}> { r = Relu (x) a = Unsqueeze (r, i) b = Transpose <perm = [" + permutation +
                     "]> (a) c = Squeeze (b, j) y = Neg (c) }");
  };
  const auto one = [](const std::string& node) { return "g (float[2,3,5] x) => (y) { r = Relu (x) c = " + node + " (r) y = Neg (c) }"; };
  expect_rewrite(kPass, three("0", "3, 1, 0, 2", "2"), one("Transpose <perm = [2, 0, 1]>"));
  EXPECT_EQ(left(three("0", "1, 2, 0, 3", "-2")), kNone);
  // The axis of one element that goes was turned with others, which stay as they are.
  const auto steps = [](const std::string& constants, const std::string& nodes) {
    return "g (float[5,1,2,3] x, float[2,2,1] w) => (y, z) <" + constants + "> { r = Relu (x) " + nodes +
           " y = Neg (c) z = Squeeze (w, j) }";
  };
  expect_rewrite(kPass, steps("int64[1] j = {2}", "b = Transpose <perm = [0,2,1,3]> (r) c = Squeeze (b, j)"),
                 steps("int64[1] j = {2}, int64[1] k = {1}", "c = Squeeze (r, k)"));
  const TextModel turned =
      "g (float[5,1,2,3] x) => (y) <int64[1] j = {2}> { r = Relu (x) b = Transpose <perm = [3,2,1,0]> (r) c = Squeeze (b, j) y = Neg (c) }";
  EXPECT_EQ(left(turned), kBoth);
}

TEST(MergePairs, TransposesThatKeepTheOrderOfElements) {
  const auto model = [](const std::string& x, const std::string& request, const std::string& nodes) {
    return TextModel("g (" + x + " x) => (y) <int64[3] i = {" + request + "}> { r = Relu (x) " + nodes + " y = Neg (c) }");
  };
  const std::string before = "a = Transpose <perm = [0,2,1,3]> (r) c = Reshape (a, i)",
                    after = "a = Reshape (r, i) c = Transpose <perm = [1,0,2]> (a)", alone = "c = Reshape (r, i)";
  expect_rewrite(kPass, model("float[4,1,N,3]", "4, -1, 3", before), model("float[4,1,N,3]", "4, -1, 3", alone));
  EXPECT_EQ(left(model("float[4,1,N,3]", "0, -1, 3", before)), kBoth) << "0 copies a dim";
  EXPECT_EQ(left(model("float[4,2,N,3]", "4, -1, 3", before)), kBoth);
  EXPECT_EQ(left(model("float[4,M,N,3]", "4, -1, 3", before)), kBoth);
  EXPECT_EQ(left(model("float[4,N,3]", "-1, 1, 3", after)), kOne);
  EXPECT_EQ(left(model("float[4,N,3]", "2, -1, 3", after)), kBoth);
  EXPECT_EQ(left(model("float[4,N,3]", "0, 1, -1", after)), kBoth);
  const auto turned = run({kPass}, model("float[4,N,3]", "-1, 1, 3", after));
  EXPECT_EQ(turned.count("Transpose"), 0);
  EXPECT_EQ(turned.initializer("c.request"), (std::vector<double>{1, -1, 3}));
}

TEST(MergePairs, AxesThatStay) {
  const auto count = [](const std::string& nodes) {
    return run({kPass}, "g (float[2,3] x, int64[1] k) => (y, z) <int64[1] i = {0}, int64[1] j = {1}> { r = Relu (x) a = Unsqueeze (r, i) " +
                            nodes + " }")
        .count("Unsqueeze");
  };
  EXPECT_EQ(count("y = Unsqueeze (a, i) b = Unsqueeze (a, j) z = Neg (b)"), 2) << "both take the first one up";
  EXPECT_EQ(count("b = Unsqueeze (a, i) y = Neg (b) z = Neg (a)"), 2) << "another reader";
  EXPECT_EQ(count("b = Unsqueeze (a, i) y = Neg (b) z = Unsqueeze (a, k)"), 3) << "a reader with axes that are not known";
  EXPECT_EQ(count("y = Neg (a) b = Unsqueeze (a, k) z = Neg (b)"), 2);
}

/// Exact where the type between holds all numbers of the first one.
TEST(MergePairs, Casts) {
  const auto pair = [](const std::string& x, const std::string& y, int first, int second) {
    return left("g (" + x + "[N] x) => (" + y + "[N] y) { r = Identity (x) a = Cast <to = " + std::to_string(first) +
                "> (r) b = Cast <to = " + std::to_string(second) + "> (a) y = Neg (b) }") -
           1;
  };
  constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kHalf = 10, kDouble = 11, kBfloat16 = 16;
  constexpr std::size_t kNegAlone = 0, kOneCast = 1, kTwoCasts = 2;
  EXPECT_EQ(pair("float", "float", kDouble, kFloat), kNegAlone);
  EXPECT_EQ(pair("float16", "float16", kFloat, kHalf), kNegAlone);
  EXPECT_EQ(pair("int32", "int32", kInt64, kInt32), kNegAlone);
  EXPECT_EQ(pair("float16", "double", kFloat, kDouble), kOneCast);
  EXPECT_EQ(pair("float", "float", kHalf, kFloat), kTwoCasts);
  EXPECT_EQ(pair("float16", "float16", kBfloat16, kHalf), kTwoCasts);
  EXPECT_EQ(pair("int32", "int32", kFloat, kInt32), kTwoCasts);
  EXPECT_EQ(pair("int64", "int64", kInt32, kInt64), kTwoCasts);
}

TEST(MergePairs, IntegersQuantizedAgain) {
  const auto count = [](const std::string& scale, const std::string& zero) {
    const TextModel model =
        "g (uint8[N] x) => (float[N] y) <float s = {0.1}, uint8 z = {3}, float s2 = {0.2}, uint8 z2 = {4}> { d = DequantizeLinear (x, s, "
        "z)\n"
        "q = QuantizeLinear (d, " +
        scale + ", " + zero + ") y = DequantizeLinear (q, s, z) }";
    return run(kPasses, model).count("QuantizeLinear");
  };
  EXPECT_EQ(count("s", "z"), 0);
  EXPECT_EQ(count("s2", "z"), 1);
  EXPECT_EQ(count("s", "z2"), 1);
}

}  // namespace
}  // namespace relayout::test
