// Tests rules of operators that only one file has and that no sample tries: limits, guards, comparisons, ends of types, unused nodes. Pairs
// that differ in such a rule are inconclusive, never the same; pairs whose rules no number reaches are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "relayout/verify.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::HasSubstr;

std::string model(const std::string& graph) {
  return "<ir_version: 9, opset_import: [\"\" : 18]>\ng " + graph + "\n";
}

VerifyResult verified_texts(const std::string& a, const std::string& b) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  return verify(folder.write("a.onnxtxt", model(a)), folder.write("b.onnxtxt", model(b)), options);
}

struct Pair {
  std::string what;       ///< the rule
  std::string interface;  ///< of both graphs
  std::string a, b;       ///< bodies, { … }
};
void PrintTo(const Pair& pair, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << pair.what;
}

class Untried : public ::testing::TestWithParam<Pair> {};

TEST_P(Untried, IsInconclusiveFromBothSides) {
  const auto& [what, interface, a, b] = GetParam();
  for (const auto& [first, second] : {std::pair{a, b}, {b, a}}) {
    const VerifyResult result = verified_texts(interface + first, interface + second);
    EXPECT_EQ(result.outcome, Outcome::inconclusive) << what << "\n" << summary(result);
  }
}

constexpr const char* kImage = "(float[N, 12] x) => (float[N, 12] y) ";

INSTANTIATE_TEST_SUITE_P(
    Rules, Untried,
    ::testing::Values(
        Pair{"a Clip in front of a Cast to 8 bits", "(float[N, 12] x) => (uint8[N, 12] y) ",
             "{ lo = Constant<value_float = 0.0>()\n hi = Constant<value_float = 255.0>()\n f = Constant<value_float = 300.0>()\n"
             "  z = Mul(x, f)\n c = Clip(z, lo, hi)\n y = Cast<to = 2>(c) }",
             "{ f = Constant<value_float = 300.0>()\n z = Mul(x, f)\n y = Cast<to = 2>(z) }"},
        Pair{"a sum that marks what is left out", kImage,
             "{ m = Constant<value_float = -100.0>()\n o = Constant<value_float = 0.0>()\n a = Constant<value_ints = [1]>()\n"
             "  s = ReduceSum(x, a)\n e = Equal(s, m)\n y = Where(e, o, x) }",
             "{ y = Identity(x) }"},
        Pair{"a guard of a norm", kImage,
             "{ n = ReduceL2<keepdims = 1>(x)\n g = Constant<value_float = 1e-12>()\n m = Max(n, g)\n y = Div(x, m) }",
             "{ n = ReduceL2<keepdims = 1>(x)\n y = Div(x, n) }"},
        Pair{"a number that a sum comes to beyond the end of its type", "(int32[N, 12] x) => (int32[N, 12] y) ",
             "<int32 k = {2000000000}, int32 t = {-10}, int32 z = {0}> { m = Max(x, k)\n s = Add(m, m)\n e = Equal(s, t)\n"
             "  y = Where(e, z, s) }",
             "<int32 k = {2000000000}> { m = Max(x, k)\n y = Add(m, m) }"},
        Pair{"a sum in 32 bits", "(int32[N, 12] x) => (int64[1] y) ",
             "{ s = ReduceSum<keepdims = 0>(x)\n c = Cast<to = 7>(s)\n o = Constant<value_ints = [1]>()\n y = Reshape(c, o) }",
             "{ c = Cast<to = 7>(x)\n s = ReduceSum<keepdims = 0>(c)\n o = Constant<value_ints = [1]>()\n y = Reshape(s, o) }"},
        Pair{"a Cast through 32 bits", "(int64[N, 12] x) => (int64[N, 12] y) ", "{ c = Cast<to = 6>(x)\n y = Cast<to = 7>(c) }",
             "{ y = Identity(x) }"},
        Pair{"an Exp that overflows", kImage, "{ e = Exp(x)\n o = Constant<value_float = 1.0>()\n s = Add(e, o)\n y = Log(s) }",
             "{ y = Softplus(x) }"},
        Pair{"a limit downstream of a node that is left without readers", "(int64[N] i, float[40, 6] t) => (float[N, 6] y) ",
             "{ k = Constant<value_int = 39>()\n l = Min(i, k)\n y = Gather(t, l) }",
             "{ k = Constant<value_int = 39>()\n l = Min(i, k)\n y = Gather(t, i) }"},
        Pair{"nested Slices whose ends lie close", "(float[N, 4] x) => (float[M, 4] y) ",
             "{ s = Constant<value_ints = [0]>()\n e = Constant<value_ints = [512]>()\n f = Constant<value_ints = [514]>()\n"
             "  q = Slice(x, s, e)\n y = Slice(q, s, f) }",
             "{ s = Constant<value_ints = [0]>()\n f = Constant<value_ints = [514]>()\n y = Slice(x, s, f) }"},
        Pair{"the epsilon of a normalization in 16 bits", "(float16[N, 64] x) => (float16[N, 64] y) ",
             "{ o = Constant<value_float = 1.0>()\n w = Cast<to = 10>(o)\n y = LayerNormalization<epsilon = 0.00001>(x, w) }",
             "{ o = Constant<value_float = 1.0>()\n w = Cast<to = 10>(o)\n y = LayerNormalization<epsilon = 0.0001>(x, w) }"},
        Pair{"where pixels of free sides lie", "(float[1, 3, H, W] x) => (float[1, 3, P, Q] y) ",
             "{ s = Constant<value_floats = [1.0, 1.0, 0.5, 0.5]>()\n y = Resize<mode = \"linear\">(x, , s) }",
             "{ s = Constant<value_floats = [1.0, 1.0, 0.5, 0.5]>()\n"
             "  y = Resize<mode = \"linear\", coordinate_transformation_mode = \"pytorch_half_pixel\">(x, , s) }"}));

/// Whether there are more than 40 rows, which no sample has.
const std::string kMany =
    "z = Constant<value_int = 0>()\n k = Constant<value_int = 40>()\n d = Shape(x)\n n = Gather(d, z)\n many = Greater(n, k)\n";
/// Whether a sum is larger than that of any sample.
const std::string kBig = "b = Constant<value_float = 1e30>()\n p = MatMul(x, w)\n m = ReduceSum<keepdims = 0>(p)\n big = Greater(m, b)\n";
constexpr const char* kProduct = "(float[N, 8] x, float[8, 8] w) => (float[N, 8] y) ";

INSTANTIATE_TEST_SUITE_P(
    SidesNeverChosen, Untried,
    ::testing::Values(Pair{"by sizes", kImage, "{ " + kMany + "f = Neg(x)\n y = Where(many, f, x) }",
                           "{ " + kMany + "f = Neg(x)\n g = Neg(f)\n y = Where(many, g, x) }"},
                      Pair{"by sizes, where it is false", kImage, "{ " + kMany + "c = Not(many)\n f = Neg(x)\n y = Where(c, x, f) }",
                           "{ " + kMany + "c = Not(many)\n f = Neg(x)\n g = Exp(f)\n y = Where(c, x, g) }"},
                      Pair{"by data", kProduct, "{ " + kBig + "f = Neg(x)\n y = Where(big, f, x) }",
                           "{ " + kBig + "f = Neg(x)\n g = Exp(f)\n y = Where(big, g, x) }"},
                      Pair{"another operand", "(float[N, 12] x) => (float[N, 12] y, float[N, 12] u, float[N, 12] v) ",
                           "{ " + kMany + "u = Neg(x)\n v = Exp(x)\n y = Where(many, u, x) }",
                           "{ " + kMany + "u = Neg(x)\n v = Exp(x)\n y = Where(many, v, x) }"},
                      Pair{"in a branch that samples enter", "(float[N, 12] x, bool c) => (float[N, 12] y) ",
                           "{ " + kMany +
                               "y = If (c) <then_branch = t () => (float[N, 12] r) { f = Neg(x)\n r = Where(many, f, x) }, "
                               "else_branch = e () => (float[N, 12] s) { s = Abs(x) }> }",
                           "{ " + kMany +
                               "y = If (c) <then_branch = t () => (float[N, 12] r) { f = Exp(x)\n r = Where(many, f, x) }, "
                               "else_branch = e () => (float[N, 12] s) { s = Abs(x) }> }"}));

class Tried : public ::testing::TestWithParam<Pair> {};

TEST_P(Tried, IsTheSameFromBothSides) {
  const auto& [what, interface, a, b] = GetParam();
  for (const auto& [first, second] : {std::pair{a, b}, {b, a}}) {
    const VerifyResult result = verified_texts(interface + first, interface + second);
    EXPECT_EQ(result.outcome, Outcome::same) << what << "\n" << summary(result);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Tried,
    ::testing::Values(
        Pair{"a limit that no number reaches", kImage,
             "{ s = Sigmoid(x)\n lo = Constant<value_float = 0.0>()\n hi = Constant<value_float = 1.0>()\n y = Clip(s, lo, hi) }",
             "{ y = Sigmoid(x) }"},
        Pair{"a guard of what is above it", kImage, "{ p = Exp(x)\n z = Constant<value_float = 0.0>()\n m = Max(p, z)\n y = Sqrt(m) }",
             "{ p = Exp(x)\n y = Sqrt(p) }"},
        Pair{"a limit that samples reach from both sides", kImage,
             "{ lo = Constant<value_float = -0.5>()\n hi = Constant<value_float = 0.5>()\n y = Clip(x, lo, hi) }",
             "{ lo = Constant<value_float = -0.5>()\n hi = Constant<value_float = 0.5>()\n m = Min(x, hi)\n y = Max(m, lo) }"},
        Pair{"a Relu by hand", kImage, "{ y = Relu(x) }", "{ z = Constant<value_float = 0.0>()\n y = Max(x, z) }"},
        Pair{"a node that nothing needs", kImage, "{ y = Tanh(x) }",
             "{ z = Constant<value_float = 7.0>()\n unused = Min(x, z)\n y = Tanh(x) }"},
        Pair{"modes of a Resize that are one at whole scales", "(float[1, 3, H, W] x) => (float[1, 3, P, Q] y) ",
             "{ s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>()\n y = Resize<mode = \"linear\">(x, , s) }",
             "{ s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>()\n"
             "  y = Resize<mode = \"linear\", coordinate_transformation_mode = \"pytorch_half_pixel\">(x, , s) }"},
        Pair{"a limit of a Swish by hand", kImage,
             "{ f = Constant<value_float = 0.02>()\n l = Constant<value_float = -10.0>()\n u = Mul(x, f)\n g = Sigmoid(u)\n s = Mul(x, g)\n"
             "  y = Max(s, l) }",
             "{ f = Constant<value_float = 0.02>()\n l = Constant<value_float = 10.0>()\n u = Mul(x, f)\n g = Sigmoid(u)\n s = Mul(x, g)\n"
             "  n = Neg(s)\n m = Min(n, l)\n y = Neg(m) }"},
        Pair{"a limit beyond the rows that ids choose from", "(int64[N, 4] x) => (float[N, 4] y) ",
             "<float[6] w = {1.5, -2, 3, 0.5, 7, 9}, int64 k = {5}, float h = {0.5}> { e = Greater(x, k)\n g = Gather(w, x)\n f = Mul(g, "
             "h)\n y = Where(e, f, g) }",
             "<float[6] w = {1.5, -2, 3, 0.5, 7, 9}, int64 k = {5}, int64 c = {5}, float h = {0.5}> { e = Greater(x, k)\n g = Gather(w, "
             "x)\n f = Mul(g, h)\n m = Min(x, c)\n g2 = Gather(w, m)\n y = Where(e, f, g2) }"},
        Pair{"an absolute value by hand", kImage, "{ y = Abs(x) }", "{ n = Neg(x)\n y = Max(x, n) }"}));

INSTANTIATE_TEST_SUITE_P(
    SidesChosen, Tried,
    ::testing::Values(
        Pair{"always", kImage, "{ " + kMany + "f = Neg(x)\n a = Abs(x)\n y = Where(many, f, a) }",
             "{ " + kMany + "f = Neg(x)\n o = Neg(x)\n a = Max(x, o)\n y = Where(many, f, a) }"},
        Pair{"in some samples", "(float[N, 12] x, bool[1] c) => (float[N, 12] y) ", "{ a = Abs(x)\n y = Where(c, a, x) }",
             "{ n = Neg(x)\n m = Max(x, n)\n y = Where(c, m, x) }"},
        Pair{"by some elements", kImage, "{ z = Constant<value_float = 0.0>()\n c = Less(x, z)\n a = Abs(x)\n y = Where(c, a, x) }",
             "{ z = Constant<value_float = 0.0>()\n c = Less(x, z)\n n = Neg(x)\n m = Max(x, n)\n y = Where(c, m, x) }"},
        Pair{"never, where sizes are fixed", "(float[4, 12] x) => (float[4, 12] y) ", "{ " + kMany + "f = Neg(x)\n y = Where(many, f, x) }",
             "{ " + kMany + "f = Neg(x)\n g = Exp(f)\n y = Where(many, g, x) }"},
        Pair{"never, and the value is compared by itself", kImage, "{ " + kMany + "a = Abs(x)\n f = Neg(a)\n y = Where(many, f, x) }",
             "{ " + kMany + "o = Neg(x)\n a = Max(x, o)\n f = Neg(a)\n y = Where(many, f, x) }"},
        Pair{"by a mask of scores", "(float[N, 4, 4] x, bool[N, 1, 4] attention_mask) => (float[N, 4, 4] y) ",
             "{ l = Constant<value_float = -1e9>()\n a = Abs(x)\n s = Where(attention_mask, a, l)\n y = Softmax(s) }",
             "{ l = Constant<value_float = -1e9>()\n o = Neg(x)\n a = Max(x, o)\n s = Where(attention_mask, a, l)\n y = Softmax(s) }"}));

/// A function of x upstream of a Max by a constant, in one file alone.
struct Limited {
  std::string function;         ///< from x to s
  std::string reached, beyond;  ///< limits above and below the least result
};
void PrintTo(const Limited& limited, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << limited.function;
}

class LimitDownstream : public ::testing::TestWithParam<Limited> {
 protected:
  /// `downstream`: the nodes that compute y from t. t is the limited s in the first file, and s itself in the second one.
  [[nodiscard]] static Outcome outcome(const std::string& limit, bool is_first, const std::string& downstream) {
    const Folder folder;
    const std::string head =
        "<ir_version: 10, opset_import: [\"\" : 24, \"com.microsoft\" : 1]>\ng (float[N, 12] x) => (float[N, 12] y) { ";
    const std::string a = folder.write("a.onnxtxt", head + GetParam().function + "\n l = Constant<value_float = " + limit +
                                                        ">()\n t = Max(s, l)\n " + downstream + " }\n");
    const std::string b = folder.write("b.onnxtxt", head + GetParam().function + "\n t = Identity(s)\n " + downstream + " }\n");
    VerifyOptions options;
    options.threads = 1;
    return is_first ? verify(a, b, options).outcome : verify(b, a, options).outcome;
  }
};

TEST_P(LimitDownstream, IsSeenWhereResultsReachIt) {
  for (const bool is_first : {true, false}) {
    EXPECT_NE(outcome(GetParam().reached, is_first, "y = Identity(t)"), Outcome::same) << GetParam().reached;
    EXPECT_NE(outcome(GetParam().reached, is_first, "y = Add(t, x)"), Outcome::same) << GetParam().reached << " in a sum";
    EXPECT_EQ(outcome(GetParam().beyond, is_first, "y = Identity(t)"), Outcome::same) << GetParam().beyond;
  }
}

// The least results: of u · sigmoid(u) -0.278465, at u = -1.27846; of the others by their definitions, with x far below zero or, for Gelu
// and Mish, at -0.751791 and -1.192491.
INSTANTIATE_TEST_SUITE_P(
    Functions, LimitDownstream,
    ::testing::Values(
        Limited{"s = Swish<alpha = 0.02>(x)", "-10.0", "-13.93"}, Limited{"s = Swish<alpha = 0.02>(x)", "-13.0", "-14.5"},
        Limited{"s = Swish<alpha = 0.001>(x)", "-200.0", "-278.5"}, Limited{"s = Elu<alpha = 12.0>(x)", "-11.9", "-12.5"},
        Limited{"s = Elu<alpha = 1.0>(x)", "-0.999", "-1.5"}, Limited{"s = Celu<alpha = 50.0>(x)", "-45.0", "-50.5"},
        Limited{"s = Selu<alpha = 8.0, gamma = 2.0>(x)", "-15.5", "-16.5"},
        Limited{"s = ThresholdedRelu<alpha = -40.0>(x)", "-35.0", "-40.0"}, Limited{"s = LeakyRelu<alpha = -0.5>(x)", "0.5", "0.0"},
        Limited{"s = Gelu(x)", "-0.169", "-0.1701"}, Limited{"s = Mish(x)", "-0.308", "-0.309"},
        Limited{"s = Softplus(x)", "0.0001", "0.0"},
        Limited{"f = Constant<value_float = 0.01>()\n u = Mul(x, f)\n r = Tanh(u)\n k = Constant<value_float = 12.0>()\n s = Mul(r, k)",
                "-10.0", "-12.0"}));

TEST(UntriedModels, ALimitThatAQuickGeluReachesByItsAlpha) {
  const std::string head = "<ir_version: 10, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\ng (float[N, 12] x) => (float[N, 12] y) ";
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  const std::string a = folder.write("a.onnxtxt", head +
                                                      "{ s = com.microsoft.QuickGelu<alpha = 0.02>(x)\n"
                                                      "  l = Constant<value_float = -10.0>()\n y = Max(s, l) }\n");
  const std::string b = folder.write("b.onnxtxt", head + "{ y = com.microsoft.QuickGelu<alpha = 0.02>(x) }\n");
  EXPECT_NE(verify(a, b, options).outcome, Outcome::same);
  EXPECT_NE(verify(b, a, options).outcome, Outcome::same);
}

TEST(UntriedModels, InputsThatCallersMayReplaceAreReadByBoth) {
  const std::string interface = "(float[N, 4] x, float[4] k) => (float[N, 4] y) <float[4] k = {1, 2, 3, 4}, float[4] c = {1, 2, 3, 4}> ";
  for (const auto& [a, b] : {std::pair{"{ y = Mul(x, k) }", "{ y = Mul(x, c) }"}, {"{ y = Mul(x, c) }", "{ y = Mul(x, k) }"}}) {
    const VerifyResult result = verified_texts(interface + a, interface + b);
    EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
    EXPECT_THAT(result.reason, HasSubstr("input 'k' has contents in the files that callers may replace"));
  }
  EXPECT_EQ(verified_texts(interface + "{ y = Mul(x, k) }", interface + "{ y = Mul(k, x) }").outcome, Outcome::same);
}

TEST(UntriedModels, WithoutOutputsAreInconclusive) {
  const VerifyResult result = verified_texts("(float[N, 4] x) => () { y = Relu(x) }", "(float[N, 4] x) => () { y = Abs(x) }");
  EXPECT_EQ(result.outcome, Outcome::inconclusive);
  EXPECT_THAT(result.reason, HasSubstr("no outputs"));
}

}  // namespace
}  // namespace relayout
