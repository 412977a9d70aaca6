// Tests that a proof leaves open numbers that overflow in one model alone, unless a fold may have undone that.
#include <gmock/gmock.h>

#include <ostream>

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

/// Bodies of two graphs that read x and make y.
struct OverflowRow {
  std::string name, type, a, b;
};
void PrintTo(const OverflowRow& row, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << row.name;
}

Example graph_of(const std::string& type, const std::string& body) {
  std::string casts;
  for (const char* const name : {"k", "l", "w", "v", "c"}) {
    casts += std::string(name) + " = Cast<to = " + (type == "float" ? "1" : "10") + "> (" + name + "_f) ";
  }
  return Example("g (" + type + "[N,2] x) => (" + type +
                 "[N,2] y) <float k_f = {4096}, float l_f = {1e37}, float c_f = {64}, float[2,2] w_f = {1, 0.5, -1, 2}, float[2,2] v_f = "
                 "{0.000244140625, 0.0001220703125, -0.000244140625, 0.00048828125}> { " +
                 casts + body + " }");
}

class LeavesOverflowOpen : public testing::TestWithParam<OverflowRow> {};
TEST_P(LeavesOverflowOpen, InEitherDirection) {
  const OverflowRow& row = GetParam();
  for (const bool is_forward : {true, false}) {
    const ProofResult result = prove(graph_of(row.type, is_forward ? row.a : row.b), graph_of(row.type, is_forward ? row.b : row.a));
    EXPECT_FALSE(result.proved);
    ASSERT_FALSE(result.unexplained.empty());
    EXPECT_THAT(result.unexplained[0].text, testing::HasSubstr("overflows from about"));
    EXPECT_EQ(result.unexplained[0].in_first, !is_forward);
  }
}
INSTANTIATE_TEST_SUITE_P(Overflows, LeavesOverflowOpen,
                         testing::Values(OverflowRow{"AFactor", "float16", "y = Identity (x)", "t = Mul (x, k) y = Div (t, k)"},
                                         OverflowRow{"AFactorAndItsReciprocal", "float16", "y = Identity (x)",
                                                     "r = Reciprocal (k) t = Mul (k, x) y = Mul (t, r)"},
                                         OverflowRow{"AFactorOfSingles", "float", "y = Identity (x)", "t = Mul (l, x) y = Div (t, l)"}),
                         [](const auto& row) { return row.param.name; });

TEST(LeavesOverflowOpen, AtTheLowEnd) {
  const auto through = [](const std::string& factor, const std::string& way) {
    return Example("g (float[N,2] x) => (float[N,2] y) <float l = {1e-20}, float m = {" + factor + "}> { n = Mul (l, l) k = Mul (n, m) " +
                   way + " }");
  };
  const std::string by_product = "t = Mul (x, k) y = Div (t, k)", by_quotient = "t = Div (x, k) y = Mul (t, k)";
  const Example plain("g (float[N,2] x) => (float[N,2] y) { y = Identity (x) }");
  for (const Example& low : {through("1e-4", by_product), through("-1e-2", by_product), through("0.9", by_product)}) {
    for (const bool is_first : {true, false}) {
      const ProofResult result = is_first ? prove(low, plain) : prove(plain, low);
      ASSERT_FALSE(result.unexplained.empty());
      EXPECT_THAT(result.unexplained[0].text, testing::HasSubstr("fewer bits"));
    }
  }
  EXPECT_TRUE(prove(plain, through("1e10", by_product)).proved);
  EXPECT_TRUE(prove(plain, through("-1e10", by_quotient)).proved);
  EXPECT_TRUE(prove(through("1e-4", by_product), through("1e-4", "t = Mul (k, x) y = Div (t, k)")).proved) << "both do";
}

TEST(LeavesOverflowOpen, WhereAFactorIsBroughtOutOfWeights) {
  const Example plain = graph_of("float16", "y = MatMul (x, w)"), scaled = graph_of("float16", "t = Mul (x, k) y = MatMul (t, v)");
  EXPECT_FALSE(prove(plain, scaled).proved);
  EXPECT_TRUE(prove(scaled, plain).proved) << "a fold";
}

TEST(LeavesOverflowOpen, OnlyOfEverydayNumbers) {
  EXPECT_TRUE(prove(graph_of("float", "y = Identity (x)"), graph_of("float", "t = Mul (x, k) y = Div (t, k)")).proved);
  EXPECT_TRUE(prove(graph_of("float16", "y = Identity (x)"), graph_of("float16", "t = Mul (x, c) y = Div (t, c)")).proved);
  EXPECT_TRUE(prove(graph_of("float16", "t = Mul (x, k) y = Div (t, k)"), graph_of("float16", "t = Mul (k, x) y = Div (t, k)")).proved);
}

}  // namespace
}  // namespace relayout::test
