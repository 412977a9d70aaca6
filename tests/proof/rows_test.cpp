// Tests Transposes, Casts, reshapes and quantizers in a row of one model, which the other model has as one or none, and near misses.

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

/// A text between Abs and Neg.
Example model(const std::string& x, const std::string& nodes) {
  Example out("g (" + x + " x) => (y) { n = Abs (x) " + nodes + " y = Neg (a) }");
  out.add("one", std::vector<int64_t>{1}).add("zero", std::vector<int64_t>{0}).add("flat", std::vector<int64_t>{-1, 15});
  out.add("back", std::vector<int64_t>{-1, 3, 5}).add("turned", std::vector<int64_t>{-1, 5, 3}).add("copied", std::vector<int64_t>{0, 15});
  out.add("kept", std::vector<int64_t>{0, 0, 5}).add("copied_rest", std::vector<int64_t>{0, -1});
  out.add("middle", std::vector<int64_t>{-1, 1, 5}).add("first", std::vector<int64_t>{1, -1, 5});
  return out;
}

/// Whether two texts are proved equal, in both directions.
bool are_equal(const std::string& x, const std::string& one, const std::string& other) {
  const bool first = prove(model(x, one), model(x, other)).proved, second = prove(model(x, other), model(x, one)).proved;
  EXPECT_EQ(first, second) << one;
  return first;
}

const std::string kNothing = "a = Identity (n)";

TEST(ProofOfRows, Transposes) {
  const auto two = [](const std::string& first, const std::string& second) {
    return "m = Transpose <perm = [" + first + "]> (n) a = Transpose <perm = [" + second + "]> (m)";
  };
  const std::string x = "float[3,4,5]";
  EXPECT_TRUE(are_equal(x, two("2,0,1", "1,2,0"), kNothing));
  EXPECT_FALSE(are_equal(x, two("2,0,1", "2,0,1"), kNothing));
  // Axis i of the last result is axis first[second[i]] of the operand.
  EXPECT_TRUE(are_equal(x, two("2,0,1", "0,2,1"), "a = Transpose <perm = [2,1,0]> (n)"));
  EXPECT_FALSE(are_equal(x, two("2,0,1", "0,2,1"), "a = Transpose <perm = [1,0,2]> (n)"));
  EXPECT_TRUE(are_equal(x, two("0,2,1", "2,0,1"), "a = Transpose <perm = [1,0,2]> (n)"));
  EXPECT_TRUE(are_equal(x, "m = Transpose (n) a = Transpose (m)", kNothing));
  EXPECT_TRUE(are_equal(x, two("2,0,1", "0,2,1"), "a = Transpose (n)"));
}

TEST(ProofOfRows, Reshapes) {
  const std::string two = "m = Reshape (n, flat) a = Reshape (m, back)";
  EXPECT_TRUE(are_equal("float[N,3,5]", two, kNothing));
  EXPECT_FALSE(are_equal("float[N,5,3]", two, kNothing));
  EXPECT_FALSE(are_equal("float[N,M,5]", two, kNothing)) << "M may not be 3";
  EXPECT_TRUE(are_equal("float[N,M,5]", two, "a = Reshape (n, back)"));
  EXPECT_FALSE(are_equal("float[N,M,5]", two, "a = Reshape (n, turned)"));
  EXPECT_TRUE(are_equal("float[N,M,5]", "m = Unsqueeze (n, one) a = Reshape (m, back)", "a = Reshape (n, back)"));
  EXPECT_FALSE(are_equal("float[N,M,5]", "m = Unsqueeze (n, zero) a = Reshape (m, copied)", "a = Reshape (n, copied)"))
      << "0 copies 1, or N";
  EXPECT_FALSE(are_equal("float[N,M,5]", "m = Transpose <perm = [1,0,2]> (n) a = Reshape (m, back)", "a = Reshape (n, back)"));
}

TEST(ProofOfRows, Axes) {
  const auto axes = [](const std::string& op, const std::string& list, const std::string& from, const std::string& to) {
    return "c" + to + " = Constant <value_ints = [" + list + "]> () " + to + " = " + op + " (" + from + ", c" + to + ") ";
  };
  const auto are_one = [&](const std::string& op, const std::string& x, const std::string& first, const std::string& second,
                           const std::string& both) {
    return are_equal(x, axes(op, first, "n", "m") + axes(op, second, "m", "a"), axes(op, both, "n", "a"));
  };
  EXPECT_TRUE(are_one("Unsqueeze", "float[N,3]", "1,3", "0,3", "0,2,3,5"));
  EXPECT_FALSE(are_one("Unsqueeze", "float[N,3]", "1,3", "0,3", "0,1,3,5"));
  EXPECT_FALSE(are_one("Unsqueeze", "float[N,3]", "1,3", "0,3", "0,2,3,4"));
  EXPECT_TRUE(are_one("Unsqueeze", "float[N,3]", "-1", "0", "0,3"));
  EXPECT_FALSE(are_one("Unsqueeze", "float[N,3]", "-1", "0", "0,2"));
  EXPECT_TRUE(are_one("Squeeze", "float[1,N,1,1,3,1]", "0,2", "1,3", "0,2,3,5"));
  EXPECT_FALSE(are_one("Squeeze", "float[1,N,1,1,3,1]", "0,2", "1", "0,2,5"));
  EXPECT_FALSE(are_equal("float[N,3]", axes("Unsqueeze", "0", "n", "m") + axes("Unsqueeze", "0", "m", "l") + axes("Squeeze", "1", "l", "a"),
                         axes("Unsqueeze", "1", "n", "a")));
}

TEST(ProofOfRows, AxesThatMove) {
  const std::string c0 = "c0 = Constant <value_ints = [0]> () ", c1 = "c1 = Constant <value_ints = [1]> () ",
                    c2 = "c2 = Constant <value_ints = [2]> () ";
  const std::string three = c0 + c2 + "m = Unsqueeze (n, c0) l = Transpose <perm = [3,1,0,2]> (m) a = Squeeze (l, c2)";
  EXPECT_TRUE(are_equal("float[N,M,5]", three, "a = Transpose <perm = [2,0,1]> (n)"));
  EXPECT_FALSE(are_equal("float[N,M,5]", three, "a = Transpose <perm = [2,1,0]> (n)"));
  EXPECT_FALSE(are_equal("float[N,M,5]", three, kNothing));
  const std::string two = c2 + "l = Transpose <perm = [0,2,1,3]> (n) a = Squeeze (l, c2)";
  EXPECT_TRUE(are_equal("float[N,1,M,5]", two, c1 + "a = Squeeze (n, c1)"));
  EXPECT_FALSE(are_equal("float[N,1,1,5]", two, c2 + "a = Squeeze (n, c2)")) << "the dims are the same, and so are the numbers, as M is 1";
  EXPECT_FALSE(are_equal("float[N,1,M,5]", c2 + "l = Transpose <perm = [3,2,1,0]> (n) a = Squeeze (l, c2)", c1 + "a = Squeeze (n, c1)"));
}

TEST(ProofOfRows, TransposesThatKeepTheOrderOfElements) {
  const std::string before = "m = Transpose <perm = [0,2,1,3]> (n) a = Reshape (m, back)", alone = "a = Reshape (n, back)";
  EXPECT_TRUE(are_equal("float[N,1,M,5]", before, alone));
  EXPECT_FALSE(are_equal("float[N,K,M,5]", before, alone));
  EXPECT_FALSE(are_equal("float[N,2,M,5]", before, alone));
  EXPECT_FALSE(are_equal("float[N,1,M,5]", before, "a = Reshape (n, turned)"));
  const std::string after = "m = Reshape (n, middle) a = Transpose <perm = [1,0,2]> (m)";
  EXPECT_TRUE(are_equal("float[N,M,5]", after, "a = Reshape (n, first)"));
  EXPECT_FALSE(are_equal("float[N,M,5]", after, "a = Reshape (n, middle)"));
  EXPECT_FALSE(are_equal("float[N,M,5]", "m = Reshape (n, back) a = Transpose <perm = [1,0,2]> (m)", "a = Reshape (n, back)"));
}

/// The dim that the first model computes is the only one that the number of elements leaves.
TEST(ProofOfRows, RequestsThatAreComputedInARow) {
  const auto is_found = [](const std::string& x, const std::string& request, const std::string& b) {
    const std::string dims = "zero_1 = Constant <value_ints = [0]> () s = Shape (n) p = Gather <axis = 0> (s, zero_1) ";
    const std::string three = "t = Constant <value_ints = [3]> () f = Constant <value_ints = [5]> () ";
    return prove(model(x, dims + three + "m = Transpose <perm = [0,2,1,3]> (n) r = Concat <axis = 0> (" + request + ") a = Reshape (m, r)"),
                 model(x, b))
        .proved;
  };
  EXPECT_TRUE(is_found("float[N,1,3,5]", "p, t, f", "a = Reshape (n, back)"));
  EXPECT_FALSE(is_found("float[N,1,3,5]", "p, f, t", "a = Reshape (n, back)"));
  EXPECT_FALSE(is_found("float[N,1,3,5]", "p, p, f", "a = Reshape (n, back)"));
  EXPECT_FALSE(is_found("float[N,M,3,5]", "p, t, f", "a = Reshape (n, back)"));
}

/// The second model copies what the first one computes.
TEST(ProofOfRows, RequestsOfOwnDims) {
  const auto is_copied = [](const std::string& x, const std::string& one, const std::string& other) {
    return prove(model(x, one), model(x, other)).proved;
  };
  const std::string dims = "s = Shape (n) p = Gather <axis = 0> (s, zero) q = Gather <axis = 0> (s, one) ";
  const std::string x = "float[N,M,5]", five = "f = Constant <value_ints = [5]> () ";
  EXPECT_TRUE(is_copied(x, dims + five + "r = Concat <axis = 0> (p, q, f) a = Reshape (n, r)", "a = Reshape (n, kept)"));
  EXPECT_FALSE(is_copied(x, dims + five + "r = Concat <axis = 0> (q, p, f) a = Reshape (n, r)", "a = Reshape (n, kept)"));
  const std::string turned = "t = Transpose <perm = [1,0,2]> (n) ";
  EXPECT_TRUE(
      is_copied(x, dims + five + "r = Concat <axis = 0> (q, p, f) " + turned + "a = Reshape (t, r)", turned + "a = Reshape (t, kept)"))
      << "the dims that the Transpose moved";
  EXPECT_FALSE(
      is_copied(x, dims + five + "r = Concat <axis = 0> (p, q, f) " + turned + "a = Reshape (t, r)", turned + "a = Reshape (t, kept)"));
  const std::string free = "f = Constant <value_ints = [-1]> () ";
  EXPECT_TRUE(is_copied(x, dims + free + "r = Concat <axis = 0> (p, f) a = Reshape (n, r)", "a = Reshape (n, copied_rest)"));
  EXPECT_FALSE(is_copied(x, dims + free + "r = Concat <axis = 0> (q, f) a = Reshape (n, r)", "a = Reshape (n, copied_rest)"));
  EXPECT_FALSE(is_copied(x, dims + free + "r = Concat <axis = 0> (f, p) a = Reshape (n, r)", "a = Reshape (n, copied_rest)"));
  EXPECT_TRUE(is_copied(x, dims + free + "r = Concat <axis = 0> (p, q, f) a = Reshape (n, r)", kNothing));
  EXPECT_FALSE(is_copied(x, dims + free + "r = Concat <axis = 0> (q, p, f) a = Reshape (n, r)", kNothing));
  const std::string other = "w = Softmax (n) ";
  EXPECT_TRUE(
      is_copied(x, dims + free + other + "r = Concat <axis = 0> (p, f) a = Reshape (w, r)", other + "a = Reshape (w, copied_rest)"));
  EXPECT_FALSE(is_copied(x, "o = Concat <axis = 0> (n, n) " + dims + free + "r = Concat <axis = 0> (p, f) a = Reshape (o, r)",
                         "o = Concat <axis = 0> (n, n) a = Reshape (o, copied_rest)"));
}

TEST(ProofOfRows, CastsThatHoldAllNumbers) {
  const auto two = [](int first, int second) {
    return "m = Cast <to = " + std::to_string(first) + "> (n) a = Cast <to = " + std::to_string(second) + "> (m)";
  };
  constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kHalf = 10, kDouble = 11;
  EXPECT_TRUE(are_equal("float[4]", two(kDouble, kFloat), kNothing));
  EXPECT_TRUE(are_equal("float16[4]", two(kFloat, kHalf), kNothing));
  EXPECT_TRUE(are_equal("float16[4]", two(kFloat, kDouble), "a = Cast <to = 11> (n)"));
  EXPECT_TRUE(are_equal("int32[4]", two(kInt64, kInt32), kNothing));
  EXPECT_FALSE(are_equal("float[4]", two(kHalf, kFloat), kNothing));
  EXPECT_FALSE(are_equal("int32[4]", two(kFloat, kInt32), kNothing));
  EXPECT_FALSE(are_equal("int64[4]", two(kInt32, kInt64), kNothing));
  EXPECT_FALSE(are_equal("double[4]", two(kFloat, kHalf), "a = Cast <to = 10> (n)")) << "rounds twice";
}

TEST(ProofOfRows, IntegersQuantizedAgain) {
  const auto proved = [](const std::string& scale, const std::string& zero) {
    const std::string head =
        "g (float[8] x) => (float[8] y) <float s = {0.1}, uint8 z = {3}, float t = {0.2}, uint8 o = {4}> { q = QuantizeLinear (x, s, z) ";
    const Example again(head + "d = DequantizeLinear (q, s, z) e = QuantizeLinear (d, " + scale + ", " + zero +
                        ") y = DequantizeLinear (e, s, z) }");
    const Example once(head + "y = DequantizeLinear (q, s, z) }");
    const bool first = prove(again, once).proved;
    EXPECT_EQ(first, prove(once, again).proved);
    return first;
  };
  EXPECT_TRUE(proved("s", "z"));
  EXPECT_FALSE(proved("t", "z"));
  EXPECT_FALSE(proved("s", "o"));
}

}  // namespace
}  // namespace relayout::test
