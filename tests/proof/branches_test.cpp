// Tests an If against the graph that it takes, where its condition or later nodes decide, and near misses.

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

bool are_proved(const std::string& a, const std::string& b) {
  return prove(Example(a), Example(b)).proved;
}

TEST(ProofOfBranches, ConditionsThatFollowFromConstants) {
  const std::string a =
      "g (float[2] x) => (float[2] y) <bool k = {1}> { c = Not (k)  y = If (c) <then_branch = t () => (float[2] p) { p = "
      "Abs (x) }, else_branch = e () => (float[2] q) { q = Neg (x) }> }";
  EXPECT_TRUE(are_proved(a, "g (float[2] x) => (float[2] y) { y = Neg (x) }"));
  EXPECT_FALSE(are_proved(a, "g (float[2] x) => (float[2] y) { y = Abs (x) }"));
}

/// An LSTM reads three dims (ONNX), which a condition may decide.
TEST(ProofOfBranches, RanksThatAreRead) {
  const auto model = [](const std::string& inputs, const std::string& body) {
    return Example("g (" + inputs + ") => (y) { " + body + " }")
        .add("w", normal("w", {1, 8, 3}))
        .add("r", normal("r", {1, 8, 2}))
        .add("o", std::vector<int64_t>{0});
  };
  const auto are_proved = [](const Example& a, const Example& b) { return prove(a, b).proved; };
  const std::string x = "float[5,N,3] x, bool c",
                    either = "a = If (c) <then_branch = t () => (p) { p = Unsqueeze (x, o) }, else_branch = e () => (q) { q = Neg (x) }> ",
                    reads = "y, h, s = LSTM <hidden_size = 2> (a, w, r)";
  EXPECT_TRUE(are_proved(model(x, either + reads), model(x, "a = Neg (x) " + reads)));
  EXPECT_FALSE(are_proved(model(x, either + reads), model(x, "a = Unsqueeze (x, o) " + reads)));
  EXPECT_FALSE(are_proved(model(x, either + "y = Abs (a)"), model(x, "a = Neg (x) y = Abs (a)")));
  EXPECT_FALSE(
      are_proved(model(x, either + "y = Abs (a) z, h, s = LSTM <hidden_size = 2> (a, w, r)"), model(x, "a = Neg (x) y = Abs (a)")));
}

/// Loops that run once or never, by the standard's words.
TEST(ProofOfBranches, LoopsOfOneRun) {
  const std::string
      head = "g (float[2] x) => (float[2] y) ",
      body =
          " <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity (c)  f = Cast <to = 1> (i)  h = Abs "
          "(v)  w = Add (h, f) }> }";
  const std::string once = head + "<int64 n = {1}> { y = Loop (n, , x)" + body;
  const auto plain = [&](const std::string& zero) { return head + "<float f = {" + zero + "}> { h = Abs (x)  y = Add (h, f) }"; };
  EXPECT_TRUE(are_proved(once, plain("0")));
  EXPECT_TRUE(are_proved(plain("0"), once));
  EXPECT_FALSE(are_proved(once, plain("1")));
  EXPECT_FALSE(are_proved(once, head + "<float f = {0}> { h = Exp (x)  y = Add (h, f) }"));
  EXPECT_FALSE(are_proved(head + "<int64 n = {2}> { y = Loop (n, , x)" + body, plain("0")));
  EXPECT_FALSE(are_proved("g (float[2] x, int64 n) => (float[2] y) { y = Loop (n, , x)" + body, plain("0")));
  EXPECT_TRUE(are_proved(head + "<int64 n = {0}> { y = Loop (n, , x)" + body, head + "{ y = Identity (x) }"));
  EXPECT_FALSE(are_proved(head + "<int64 n = {0}> { y = Loop (n, , x)" + body, plain("0")));
}

/// A loop of several runs stays, in the place of the one around it.
TEST(ProofOfBranches, ALoopWithinOneOfOneRun) {
  const std::string inner =
      "Loop (m, , v) <body = e (int64 j, bool f, float[2] q) => (bool g, float[2] r) { g = Identity (f)  r = Neg (q) }>";
  const std::string head = "g (float[2] v) => (float[2] y) <int64 m = {3}, int64 n = {1}> { ";
  EXPECT_TRUE(are_proved(
      head + "y = Loop (n, , v) <body = b (int64 i, bool c, float[2] u) => (bool d, float[2] w) { d = Identity (c)  w = " + inner + " }> }",
      head + "y = " + inner + " }"));
}

TEST(ProofOfBranches, StacksOfOneAndOfNone) {
  const std::string head = "g (float[2] x) => (float[A,2] y) ",
                    body = " <body = b (int64 i, bool c) => (bool d, float[2] s) { d = Identity (c)  s = Abs (x) }> ";
  const std::string once = head + "<int64 n = {1}> { y = Loop (n)" + body + "}",
                    never = head + "<int64 n = {0}> { y = Loop (n)" + body + "}";
  EXPECT_TRUE(are_proved(once, head + "<int64[1] axes = {0}> { s = Abs (x)  y = Unsqueeze (s, axes) }"));
  EXPECT_FALSE(are_proved(once, "g (float[2] x) => (float[2,A] y) <int64[1] axes = {1}> { s = Abs (x)  y = Unsqueeze (s, axes) }"));
  EXPECT_TRUE(are_proved(head + "<int64 n = {1}, int64[1] axes = {0}> { t = Loop (n)" + body + " u = Squeeze (t, axes)  y = Neg (u) }",
                         head + "{ s = Abs (x)  y = Neg (s) }"));
  const auto empty = [&](const std::string& dims) {
    return Example(head + "{ y = Identity (e) }").add("e", Array{DataType::float32, dims == "0,2" ? Dims{0, 2} : Dims{0, 3}, {}});
  };
  EXPECT_TRUE(prove(Example(never), empty("0,2")).proved);
  EXPECT_FALSE(prove(Example(never), empty("0,3")).proved);
}

}  // namespace
}  // namespace relayout::test
