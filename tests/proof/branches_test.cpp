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

}  // namespace
}  // namespace relayout::test
