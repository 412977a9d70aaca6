// Tests roundings that differ exactly between two steps alone, and the same rule written in another way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "relayout/verify.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file

/// Text models: what is special about the pair, the interface of both, and their bodies.
struct Rounded {
  std::string name, interface, a, b;
};
void PrintTo(const Rounded& pair, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << pair.name;
}

constexpr const char* kRealRows = "(float[N, 4] x) => (float[N, 4] y) ";

VerifyResult judged(const Rounded& pair) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  const auto write = [&](const std::string& name, const std::string& body) {
    return folder.write(name,
                        "<ir_version: 9, opset_import: [\"\" : 18]>\ng " + pair.interface +
                            "<float h = {0.5}, float s = {0.37}, float[4] c = {0.37, 0.11, 0.83, 0.59}, float[4] d = {2.7027028, 9.090909, "
                            "1.2048193, 1.6949153}, uint8 z = {128}, float m = {128}, float lo = {0}, float hi = {255}> { " +
                            body + " }\n");
  };
  return verify(write("a.onnxtxt", pair.a), write("b.onnxtxt", pair.b), options);
}

/// In a branch, beside another that computes something else.
std::string in_branch(const std::string& body) {
  return "y = If (k) <then_branch = t () => (float[N, 4] r) { " + body + " }, else_branch = e () => (float[N, 4] q) { q = Abs(x) }>";
}
std::string in_loop(const std::string& body) {
  return "n = Constant<value_int = 2>() y = Loop (n, ) <body = l (int64 i, bool g) => (bool o, float[N, 4] r) { o = Identity(g) " + body +
         " }>";
}

class OtherTies : public ::testing::TestWithParam<Rounded> {};
TEST_P(OtherTies, AreInDoubt) {
  const VerifyResult result = judged(GetParam());
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_NE(std::ranges::find(result.doubts, "rounding-ties", &Doubt::name), result.doubts.end()) << summary(result);
}

const std::string kStepsUp = "v = Div(x, s) w = Add(v, h) f = Floor(w) g = Add(f, m) l = Clip(g, lo, hi) ";
INSTANTIATE_TEST_SUITE_P(
    Ties, OtherTies,
    ::testing::Values(
        Rounded{"down", kRealRows, "y = Round(x)", "w = Sub(x, h) y = Ceil(w)"},
        Rounded{"up_and_down", kRealRows, "w = Add(x, h) y = Floor(w)", "w = Sub(x, h) y = Ceil(w)"},
        Rounded{"away", kRealRows, "g = Sign(x) p = Abs(x) w = Add(p, h) f = Floor(w) y = Mul(f, g)", "y = Round(x)"},
        Rounded{"mirrored", kRealRows, "w = Add(x, h) y = Floor(w)", "n = Neg(x) w = Add(n, h) f = Floor(w) y = Neg(f)"},
        Rounded{"cast", "(float[N, 4] x) => (int64[N, 4] y) ", "r = Round(x) y = Cast<to = 7>(r)",
                "w = Sub(x, h) r = Ceil(w) y = Cast<to = 7>(r)"},
        Rounded{"half", "(float16[N, 4] x) => (float16[N, 4] y) ", "j = CastLike(h, x) w = Add(x, j) y = Floor(w)",
                "j = CastLike(h, x) w = Sub(x, j) y = Ceil(w)"},
        Rounded{"scaled", kRealRows, "v = Div(x, s) r = Round(v) y = Mul(r, s)", "v = Div(x, s) w = Sub(v, h) r = Ceil(w) y = Mul(r, s)"},
        Rounded{"per_channel", kRealRows, "v = Mul(x, c) r = Round(v) y = Div(r, c)",
                "v = Mul(x, c) w = Sub(v, h) r = Ceil(w) y = Div(r, c)"},
        Rounded{"quantizer", "(float[N, 4] x) => (uint8[N, 4] y) ", "y = QuantizeLinear(x, s, z)", kStepsUp + "y = Cast<to = 2>(l)"},
        Rounded{"dequantized", kRealRows, "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)",
                kStepsUp + "t = Sub(l, m) y = Mul(t, s)"},
        Rounded{"of_a_function", kRealRows, "p = Sigmoid(x) v = Mul(p, hi) y = Round(v)",
                "p = Sigmoid(x) v = Mul(p, hi) w = Sub(v, h) y = Ceil(w)"},
        Rounded{"in_branch", "(float[N, 4] x, bool k) => (float[N, 4] y) ", in_branch("r = Round(x)"),
                in_branch("w = Sub(x, h) r = Ceil(w)")},
        Rounded{"in_loop", "(float[N, 4] x) => (float[L, N, 4] y) ", in_loop("r = Round(x)"), in_loop("w = Sub(x, h) r = Ceil(w)")}));

class SameTies : public ::testing::TestWithParam<Rounded> {};
TEST_P(SameTies, AreTheSame) {
  const VerifyResult result = judged(GetParam());
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

INSTANTIATE_TEST_SUITE_P(
    Ties, SameTies,
    ::testing::Values(
        Rounded{"mirrored", kRealRows, "y = Round(x)", "n = Neg(x) r = Round(n) y = Neg(r)"},
        Rounded{"up_and_down", kRealRows, "w = Sub(x, h) y = Ceil(w)", "n = Neg(x) w = Add(n, h) f = Floor(w) y = Neg(f)"},
        Rounded{"reciprocal", kRealRows, "v = Div(x, c) y = Round(v)", "v = Mul(x, d) y = Round(v)"},
        Rounded{"to_even", kRealRows, "y = Round(x)",
                "f = Floor(x) t = Sub(x, f) g = Greater(t, h) e = Equal(t, h) u = Mul(f, h) w = Floor(u) k = Add(w, w) o = Sub(f, k) "
                "i = Cast<to = 1>(g) j = Cast<to = 1>(e) n = Mul(j, o) p = Add(i, n) y = Add(f, p)"},
        Rounded{"quantizer", kRealRows, "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)",
                "v = Div(x, s) r = Round(v) g = Add(r, m) l = Clip(g, lo, hi) t = Sub(l, m) y = Mul(t, s)"}));

}  // namespace
}  // namespace relayout
