// Tests differences that no usual number shows: lost guards, operands that underflow, coarse Casts, orders left open, overflow by
// constants. Right spellings beside them stay the same.
#include <gtest/gtest.h>

#include <ostream>

#include "relayout/verify.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file

struct Doubted {
  std::string what;
  std::string interface;  ///< of both graphs
  std::string a, b;       ///< bodies, without braces
  bool fp16 = false;      ///< b may compute in f16; checked in this direction only
  bool one_way = false;   ///< checked in this direction only
};
void PrintTo(const Doubted& pair, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << pair.what;
}

VerifyResult verified_bodies(const Doubted& pair, const std::string& a, const std::string& b) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  if (pair.fp16) options.precision = DataType::float16;
  const auto write = [&](const std::string& name, const std::string& body) {
    const std::string head = "<ir_version: 9, opset_import: [\"\" : 18]>\ng ";
    return folder.write(name, body.front() == '<' ? head + pair.interface + body + "}\n" : head + pair.interface + "{" + body + "}\n");
  };
  return verify(write("a.onnxtxt", a), write("b.onnxtxt", b), options);
}

class NotTheSame : public ::testing::TestWithParam<Doubted> {};

TEST_P(NotTheSame, FromBothSides) {
  const Doubted& pair = GetParam();
  const VerifyResult result = verified_bodies(pair, pair.a, pair.b);
  EXPECT_NE(result.outcome, Outcome::same) << pair.what << "\n" << summary(result);
  if (pair.fp16 || pair.one_way) return;
  const VerifyResult reverse = verified_bodies(pair, pair.b, pair.a);
  EXPECT_NE(reverse.outcome, Outcome::same) << pair.what << ", reversed\n" << summary(reverse);
}

class TheSame : public ::testing::TestWithParam<Doubted> {};

TEST_P(TheSame, FromBothSides) {
  const Doubted& pair = GetParam();
  const VerifyResult result = verified_bodies(pair, pair.a, pair.b);
  EXPECT_EQ(result.outcome, Outcome::same) << pair.what << "\n" << summary(result);
  if (pair.fp16 || pair.one_way) return;
  const VerifyResult reverse = verified_bodies(pair, pair.b, pair.a);
  EXPECT_EQ(reverse.outcome, Outcome::same) << pair.what << ", reversed\n" << summary(reverse);
}

constexpr const char* kRows = "(float[N, 8] x) => (float[N, 8] y) ";
constexpr const char* kHalfRows = "(float16[N, 8] x) => (float16[N, 8] y) ";
constexpr const char* kTokens = "(float[N, 5, 8] x) => (float[N, 5, 8] y) ";
constexpr const char* kMasked = "(float[N, L, 4] x, int64[N, L] m) => (float[N, 4] y) ";

std::string number(const std::string& name, std::string_view value) {
  return name + " = Constant<value_float = " + std::string(value) + ">()\n";
}
std::string half(const std::string& name, std::string_view value) {
  return number(name + "w", value) + name + " = Cast<to = 10>(" + name + "w)\n";
}
std::string integers(const std::string& name, std::string_view values) {
  return name + " = Constant<value_ints = [" + std::string(values) + "]>()\n";
}

/// Text with every occurrence of a part replaced.
std::string with(std::string text, std::string_view part, std::string_view other) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + other.size())) {
    text.replace(at, part.size(), other);
  }
  return text;
}

/// x over its norm. `guarded`: computes t from the sum s of squares and from e.
std::string unit_rows(const std::string& epsilon, const std::string& guarded) {
  return integers("ax", "1") + epsilon + "u = Mul(x, x)\n s = ReduceSum<keepdims = 1>(u, ax)\n " + guarded +
         "\n q = Sqrt(t)\n y = Div(x, q)";
}
/// A LayerNormalization without scale; `guarded` computes t from the variance v.
std::string normalized(const std::string& epsilon, const std::string& guarded) {
  return integers("ax", "-1") + epsilon + "m = ReduceMean(x, ax)\n d = Sub(x, m)\n u = Mul(d, d)\n v = ReduceMean(u, ax)\n " + guarded +
         "\n q = Sqrt(t)\n y = Div(d, q)";
}
/// The same by the mean of squares.
std::string normalized_by_squares(const std::string& epsilon, const std::string& guarded) {
  return integers("ax", "-1") + epsilon +
         "m = ReduceMean(x, ax)\n w = Mul(x, x)\n ww = ReduceMean(w, ax)\n mm = Mul(m, m)\n v = Sub(ww, mm)\n d = Sub(x, m)\n " + guarded +
         "\n q = Sqrt(t)\n y = Div(d, q)";
}
/// The mean of the rows that a mask selects; `guarded` computes t from their number n.
std::string masked_mean(const std::string& epsilon, const std::string& guarded) {
  return integers("ax", "1") + integers("last", "2") + epsilon +
         "f = Cast<to = 1>(m)\n g = Unsqueeze(f, last)\n p = Mul(x, g)\n s = ReduceSum<keepdims = 0>(p, ax)\n"
         " n = ReduceSum<keepdims = 0>(g, ax)\n " +
         guarded + "\n y = Div(s, t)";
}
/// The nodes of a body in f16 between Casts.
std::string in_half(std::string body, std::string_view epsilon) {
  body = with(with(with(with(std::move(body), number("e", epsilon), half("e", epsilon)), "(x,", "(z,"), " x)", " z)"), "Cast<to = 1>(m)",
              "Cast<to = 10>(m)");
  body = with(std::move(body), "\n y = Div", "\n r = Div");
  return "z = Cast<to = 10>(x)\n" + body + "\n y = Cast<to = 1>(r)";
}

const std::string kAdded = "t = Add(s, e)", kLost = "t = Identity(s)";

INSTANTIATE_TEST_SUITE_P(
    LostGuards, NotTheSame,
    ::testing::Values(
        Doubted{"of a norm", kRows, unit_rows(number("e", "1e-12"), kAdded), unit_rows("", kLost)},
        Doubted{"of a norm, by Max", kRows, unit_rows(number("e", "1e-12"), "t = Max(s, e)"), unit_rows("", kLost)},
        Doubted{"of a norm across channels", "(float[N, 3, 5, 5] x) => (float[N, 3, 5, 5] y) ",
                integers("ax", "1") + number("e", "1e-10") + "n = ReduceL2<keepdims = 1>(x, ax)\n t = Add(n, e)\n y = Div(x, t)",
                integers("ax", "1") + "n = ReduceL2<keepdims = 1>(x, ax)\n y = Div(x, n)"},
        Doubted{"of a Reciprocal", kRows, number("e", "1e-8") + "u = Abs(x)\n t = Add(u, e)\n y = Reciprocal(t)",
                "u = Abs(x)\n y = Reciprocal(u)"},
        Doubted{"of a Log", kRows, number("e", "1e-9") + "u = Relu(x)\n t = Add(u, e)\n y = Log(t)", "u = Relu(x)\n y = Log(u)"},
        Doubted{"of a power", kRows,
                number("e", "1e-10") + number("h", "-0.5") + "u = Mul(x, x)\n t = Add(u, e)\n r = Pow(t, h)\n y = Mul(x, r)",
                number("h", "-0.5") + "u = Mul(x, x)\n r = Pow(u, h)\n y = Mul(x, r)"},
        Doubted{"of a variance", kTokens, normalized(number("e", "1e-12"), "t = Add(v, e)"), normalized("", "t = Identity(v)")},
        Doubted{"of a variance by squares", kTokens, normalized_by_squares(number("e", "1e-5"), "t = Add(v, e)"),
                normalized_by_squares("", "t = Identity(v)")},
        Doubted{"of a masked mean", kMasked, masked_mean(number("e", "1e-9"), "t = Add(n, e)"), masked_mean("", "t = Identity(n)")},
        Doubted{"of a masked mean, by Clip", kMasked, masked_mean(number("e", "1e-9"), "t = Clip(n, e)"),
                masked_mean("", "t = Identity(n)")},
        Doubted{"that f16 does not hold, in both files", kHalfRows, unit_rows(half("e", "1e-6"), kAdded),
                unit_rows(half("e", "1e-12"), kAdded)},
        Doubted{"of a norm that f16 does not hold", kRows, unit_rows(number("e", "1e-12"), kAdded),
                in_half(unit_rows(number("e", "1e-12"), kAdded), "1e-12"), true},
        Doubted{"of a norm just below what f16 holds", kRows, unit_rows(number("e", "1e-8"), kAdded),
                in_half(unit_rows(number("e", "1e-8"), kAdded), "1e-8"), true},
        Doubted{"of a variance that f16 does not hold", kTokens, normalized(number("e", "1e-12"), "t = Add(v, e)"),
                in_half(normalized(number("e", "1e-12"), "t = Add(v, e)"), "1e-12"), true},
        Doubted{"of a masked mean that f16 does not hold", kMasked, masked_mean(number("e", "1e-9"), "t = Add(n, e)"),
                in_half(masked_mean(number("e", "1e-9"), "t = Add(n, e)"), "1e-9"), true}));

INSTANTIATE_TEST_SUITE_P(
    Guards, TheSame,
    ::testing::Values(
        Doubted{"in another order", kRows, unit_rows(number("e", "1e-12"), kAdded), unit_rows(number("e", "1e-12"), "t = Add(e, s)")},
        Doubted{"of a root as a power", kRows, unit_rows(number("e", "1e-12"), kAdded),
                with(unit_rows(number("e", "1e-12") + number("h", "0.5"), kAdded), "Sqrt(t)", "Pow(t, h)")},
        Doubted{"of a quotient as a product", kRows, unit_rows(number("e", "1e-12"), kAdded),
                with(unit_rows(number("e", "1e-12"), kAdded), "y = Div(x, q)", "r = Reciprocal(q)\n y = Mul(x, r)")},
        Doubted{"as an attribute", kTokens, normalized(number("e", "1e-5"), "t = Add(v, e)"),
                "<float[8] w = {1, 1, 1, 1, 1, 1, 1, 1}> { y = LayerNormalization<epsilon = 0.00001>(x, w)"},
        Doubted{"that f16 holds", kTokens, normalized(number("e", "1e-5"), "t = Add(v, e)"),
                in_half(normalized(number("e", "1e-5"), "t = Add(v, e)"), "1e-5"), true},
        Doubted{"of what is never near 0", kRows,
                number("e", "1e-12") + number("o", "1.0") + "u = Mul(x, x)\n v = Add(u, o)\n t = Add(v, e)\n q = Sqrt(t)\n y = Div(x, q)",
                number("o", "1.0") + "u = Mul(x, x)\n v = Add(u, o)\n q = Sqrt(v)\n y = Div(x, q)"},
        Doubted{"of the sum of a Softmax", kRows,
                integers("ax", "1") + number("e", "1e-12") +
                    "s = Softmax(x)\n n = ReduceSum<keepdims = 1>(s, ax)\n t = Add(n, e)\n y = Div(s, t)",
                integers("ax", "1") + "s = Softmax(x)\n n = ReduceSum<keepdims = 1>(s, ax)\n y = Div(s, n)"}));

constexpr const char* kImages = "(float[1, 2, 2, 2] x) => (float[M, N, O, P] y) ";
/// A Conv or another linear operator with a bias of 0.5, an added guard, and nodes that read u.
std::string folded_away(const std::string& linear, const std::string& guard, const std::string& readers) {
  return "<float[2, 2, 1, 1] w = {1, 0, 0, 1}, float[2, 2] m = {1, 0, 0, 1}, float[2] b = {0.5, 0.5}, float e = {0.000000001}, "
         "float less = {-0.000000001}, float[1, 2, 1, 1] some = {0.000000001, 0.0}, float one = {1.0}, float h = {-0.5}, int64[1] ax = "
         "{3}> "
         "{ " +
         linear + "\n " + guard + "\n " + readers;
}
Doubted lost_in_a_bias(const std::string& what, const std::string& linear, const std::string& guard, const std::string& readers) {
  return {what, kImages, folded_away(linear, guard, readers), folded_away(with(linear, "t = ", "u = "), "", readers)};
}
const std::string kConv = "t = Conv(x, w, b)", kAddsGuard = "u = Add(t, e)", kLog = "y = Log(u)";

INSTANTIATE_TEST_SUITE_P(
    GuardsFoldedAway, NotTheSame,
    ::testing::Values(
        lost_in_a_bias("of a Log", kConv, kAddsGuard, kLog),
        lost_in_a_bias("of a Log after ConvTranspose", "t = ConvTranspose(x, w, b)", "u = Add(e, t)", kLog),
        lost_in_a_bias("of a divisor", kConv, kAddsGuard, "y = Div(one, u)"),
        lost_in_a_bias("of a Reciprocal", kConv, "u = Sub(t, less)", "y = Reciprocal(u)"),
        lost_in_a_bias("of a power", kConv, kAddsGuard, "y = Pow(u, h)"),
        lost_in_a_bias("of a Log after a sum", kConv, kAddsGuard, "s = ReduceSum<keepdims = 1>(u, ax)\n y = Log(s)"),
        lost_in_a_bias("of a Log after a move", kConv, kAddsGuard, "s = Transpose(u)\n y = Log(s)"),
        lost_in_a_bias("of one channel", kConv, "u = Add(t, some)", kLog),
        lost_in_a_bias("after MatMul and Add", "c = MatMul(x, m)\n t = Add(c, b)", kAddsGuard, kLog),
        Doubted{"with the name of the sum", kImages, folded_away(kConv, kAddsGuard, kLog), folded_away("u = Conv(x, w, b)", "", kLog)},
        Doubted{"under other names", kImages, folded_away(kConv, kAddsGuard, "s = ReduceSum<keepdims = 1>(u, ax)\n y = Log(s)"),
                folded_away("k = Conv(x, w, b)", "", "l = ReduceSum<keepdims = 1>(k, ax)\n y = Log(l)")},
        Doubted{"of a Log after a sum, without a fold", "(float[4, 8] x) => (float[4] y) ",
                number("o", "1.0") + number("e", "1e-12") + integers("ax", "1") +
                    "q = Sub(o, x)\n t = Add(q, e)\n s = ReduceSum<keepdims = 0>(t, ax)\n y = Log(s)",
                number("oo", "1.0") + integers("ax", "1") + "qq = Sub(oo, x)\n s = ReduceSum<keepdims = 0>(qq, ax)\n y = Log(s)"},
        Doubted{"in f16", "(float16[1, 2, 2, 2] x) => (float16[M, N, O, P] y) ",
                "<float16[2, 2, 1, 1] w = {15360, 0, 0, 15360}, float16[2] b = {14336, 14336}, float16 e = {168}> { t = Conv(x, w, b)\n u "
                "= Add(t, e)\n"
                " y = Log(u)",
                "<float16[2, 2, 1, 1] w = {15360, 0, 0, 15360}, float16[2] b = {14336, 14336}> { u = Conv(x, w, b)\n y = Log(u)"},
        Doubted{"in f64", "(double[1, 2, 2, 2] x) => (double[M, N, O, P] y) ",
                "<double[2, 2, 1, 1] w = {1, 0, 0, 1}, double[2] b = {0.5, 0.5}, double e = {0.00000000000000000001}> { t = Conv(x, w, b)\n"
                " u = Add(t, e)\n y = Log(u)",
                "<double[2, 2, 1, 1] w = {1, 0, 0, 1}, double[2] b = {0.5, 0.5}> { u = Conv(x, w, b)\n y = Log(u)"}));

INSTANTIATE_TEST_SUITE_P(
    FoldsWithoutGuards, TheSame,
    ::testing::Values(
        Doubted{"no edge after it", kImages, folded_away(kConv, kAddsGuard, "y = Relu(u)"),
                folded_away("u = Conv(x, w, b)", "", "y = Relu(u)")},
        Doubted{"in another order", kImages, folded_away(kConv, kAddsGuard, kLog), folded_away(kConv, "u = Add(e, t)", kLog)},
        Doubted{"a bias of 0", kImages,
                "<float[2, 2, 1, 1] w = {1, 0, 0, 1}, float e = {0.001}> { t = Conv(x, w)\n u = Add(t, e)\n v = Relu(u)\n y = Sqrt(v)",
                "<float[2, 2, 1, 1] w = {1, 0, 0, 1}, float[2] b = {0.001, 0.001}> { u = Conv(x, w, b)\n v = Relu(u)\n y = Sqrt(v)"}));

/// A linear operator of a rank and type, and constants: guards and factors.
std::string linear(int rank, int type, bool has_bias) {
  const std::string ones = rank == 3 ? "1" : rank == 4 ? "1, 1" : "1, 1, 1";
  const std::string dims = rank == 2 ? "[3, 2]" : "[2, 3, " + ones + "]";
  const auto typed = [&](const std::string& name) { return name + " = Cast<to = " + std::to_string(type) + ">(" + name + "_f)\n "; };
  const std::string operands = has_bias ? "(x, w, b)" : "(x, w)";
  const std::string op = rank > 2 ? "Conv" + operands : has_bias ? "Gemm(x, w, b)" : "MatMul(x, w)";
  return "<float" + dims +
         " w_f = {1, -0.5, 0.25, 0.75, 0.5, -1}, float[2] b_f = {0.5, 0.25}, float e_f = {0.000000001}, float g_f = "
         "{0.0001}, float h_f = {0.5}, float n_f = {-0.5}, float two_f = {2}, int64[1] ax = {1}, int64[2] rows = {0, -1}> { " +
         typed("w") + typed("b") + typed("e") + typed("g") + typed("h") + typed("n") + typed("two") + "t = " + op + "\n ";
}
Doubted without_guard(const std::string& what, int rank, int type, bool has_bias, const std::string& a, const std::string& b) {
  const std::string name = type == 10 ? "float16" : type == 11 ? "double" : "float";
  const std::string sizes = rank == 2 ? "" : rank == 3 ? ", 4" : rank == 4 ? ", 4, 3" : ", 2, 4, 3";
  return {what, "(" + name + "[N, 3" + sizes + "] x) => (" + name + " y) ", linear(rank, type, has_bias) + a,
          linear(rank, type, has_bias) + b};
}

INSTANTIATE_TEST_SUITE_P(
    GuardsAfterLinearOperators, NotTheSame,
    ::testing::Values(
        without_guard("for an Identity", 4, 1, true, "u = Add(t, e)\n y = Log(u)", "u = Identity(t)\n y = Log(u)"),
        without_guard("for an Identity in f64", 3, 11, true, "u = Add(t, e)\n y = Reciprocal(u)", "u = Identity(t)\n y = Reciprocal(u)"),
        without_guard("for an Identity after Gemm", 2, 1, true, "u = Add(t, e)\n y = Log(u)", "u = Identity(t)\n y = Log(u)"),
        without_guard("in front of Relu", 5, 1, false, "r = Add(t, e)\n u = Relu(r)\n y = Log(u)", "u = Relu(t)\n y = Log(u)"),
        without_guard("in front of Relu in f16", 4, 10, true, "r = Add(t, g)\n u = Relu(r)\n y = Log(u)", "u = Relu(t)\n y = Log(u)"),
        without_guard("after a factor", 3, 1, true, "m = Mul(t, two)\n u = Add(m, e)\n y = Log(u)", "u = Mul(t, two)\n y = Log(u)"),
        without_guard("between factors", 4, 1, true, "m = Mul(t, two)\n r = Add(m, e)\n u = Mul(r, h)\n y = Log(u)", "y = Log(t)"),
        without_guard("around a Reshape", 4, 1, true, "u = Add(t, e)\n r = Reshape(u, rows)\n y = Log(r)",
                      "r = Reshape(t, rows)\n u = Identity(r)\n y = Log(u)"),
        without_guard("in front of a mean", 4, 1, true, "r = Relu(t)\n u = Add(r, e)\n p = GlobalAveragePool(u)\n y = Log(p)",
                      "r = Relu(t)\n p = GlobalAveragePool(r)\n y = Log(p)"),
        without_guard("of a root", 4, 1, true, "u = Add(t, e)\n y = Sqrt(u)", "u = Identity(t)\n y = Sqrt(u)"),
        without_guard("of a root of what is folded", 4, 1, true, "u = Add(t, e)\n y = Sqrt(u)", "y = Sqrt(t)"),
        without_guard("of a root in f16", 3, 10, false, "r = Abs(t)\n u = Add(r, g)\n y = Sqrt(u)", "r = Abs(t)\n y = Sqrt(r)"),
        without_guard("of a root in f64", 5, 11, true, "r = Relu(t)\n u = Add(r, e)\n y = Sqrt(u)", "r = Relu(t)\n y = Sqrt(r)"),
        without_guard("of a root as a power", 2, 1, false, "r = Abs(t)\n u = Add(r, e)\n y = Pow(u, h)", "r = Abs(t)\n y = Pow(r, h)"),
        without_guard("of a root of a square", 2, 1, true, "s = Mul(t, t)\n u = Add(s, e)\n y = Sqrt(u)", "y = Abs(t)"),
        without_guard("of a root of a sum", 3, 1, true, "s = Mul(t, t)\n r = ReduceSum(s, ax)\n u = Add(r, e)\n y = Sqrt(u)",
                      "y = ReduceL2(t, ax)"),
        Doubted{"in front of a product", "(float[N, 2] x) => (float[N, 2] y) ",
                "<float[2, 2] w = {1, 0.5, 0.25, 0.75}, float e = {0.000000001}> { s = Mul(x, x)\n u = Add(s, e)\n t = MatMul(u, w)\n y = "
                "Log(t)",
                "<float[2, 2] w = {1, 0.5, 0.25, 0.75}> { s = Mul(x, x)\n t = MatMul(s, w)\n y = Log(t)"}));

/// Of k in front of an edge, which a fold brings into the bias, one element is small.
const std::string kSmallShifts =
    "<float[2, 2] w = {-0.6, -0.3, 0.5, 0.8}, float[2] b = {-0.25, 0.0000001}, float[2] k = {0.5, 0.000003}, float[2] s = {0.25, "
    "0.0000031}, "
    "float c = {1.5}, float d = {1.5000002}> { ";

INSTANTIATE_TEST_SUITE_P(
    ConstantsAfterLinearOperators, TheSame,
    ::testing::Values(Doubted{"folded, some of them small", "(float[N, 2] x) => (float[N, 2] y) ",
                              kSmallShifts + "t = Gemm(x, w, b)\n u = Add(t, k)\n y = "
                                             "Reciprocal(u)",
                              kSmallShifts + "u = Gemm(x, w, s)\n y = Reciprocal(u)"},
                      Doubted{"folded beside another difference", "(float[N, 2] x) => (float[N, 2] y, float[N, 2] z) ",
                              kSmallShifts + "t = Gemm(x, w, b)\n u = Add(t, k)\n y = Reciprocal(u)\n z = Mul(x, c)",
                              kSmallShifts + "u = Gemm(x, w, s)\n y = Reciprocal(u)\n z = Mul(x, d)"},
                      without_guard("0", 4, 1, true, "z = Sub(e, e)\n u = Add(t, z)\n y = Log(u)", "y = Log(t)"),
                      without_guard("no edge", 4, 1, true, "u = Add(t, e)\n y = Tanh(u)", "y = Tanh(t)"),
                      without_guard("in both, moved", 4, 1, true, "u = Add(t, e)\n r = Reshape(u, rows)\n y = Log(r)",
                                    "r = Reshape(t, rows)\n u = Add(r, e)\n y = Log(u)"),
                      without_guard("in both, in front of a root", 3, 1, false, "r = Abs(t)\n u = Add(r, e)\n y = Sqrt(u)",
                                    "r = Abs(t)\n u = Add(e, r)\n y = Pow(u, h)"),
                      without_guard("as the bias", 4, 1, false, "u = Add(t, e)\n y = Log(u)",
                                    "s = Shape(b)\n k = Expand(e, s)\n u = Conv(x, w, k)\n y = Log(u)"),
                      without_guard("in a larger bias that holds it", 4, 1, true,
                                    "k = Mul(h, h)\n d = Pow(k, two)\n c = Mul(d, d)\n u = Add(t, c)\n y = "
                                    "Log(u)",
                                    "k = Mul(h, h)\n d = Pow(k, two)\n c = Mul(d, d)\n v = Add(b, c)\n u = Conv(x, w, v)\n y = Log(u)"),
                      without_guard("a usual bias", 2, 1, true, "u = Add(t, h)\n y = Log(u)",
                                    "v = Add(b, h)\n u = Gemm(x, w, v)\n y = Log(u)")));

/// The logarithm of a Softmax that is written out.
const std::string kLogSoftmaxByHand = integers("ax", "1") +
                                      "m = ReduceMax<keepdims = 1>(x, ax)\n d = Sub(x, m)\n u = Exp(d)\n"
                                      " s = ReduceSum<keepdims = 1>(u, ax)\n l = Log(s)\n y = Sub(d, l)";
const std::string kLogOfSoftmax = "p = Softmax(x)\n y = Log(p)";
std::string softmax_by_hand(const std::string& distance, const std::string& quotient) {
  return integers("ax", "1") + "m = ReduceMax<keepdims = 1>(x, ax)\n " + distance +
         "\n u = Exp(d)\n s = ReduceSum<keepdims = 1>(u, ax)\n " + quotient;
}

INSTANTIATE_TEST_SUITE_P(
    VanishingOperands, NotTheSame,
    ::testing::Values(Doubted{"Log of Softmax", kRows, "y = LogSoftmax(x)", kLogOfSoftmax},
                      Doubted{"Log of Softmax in f16", kHalfRows, "y = LogSoftmax(x)", kLogOfSoftmax},
                      Doubted{"Log of Softmax in f64", "(double[N, 8] x) => (double[N, 8] y) ", "y = LogSoftmax(x)", kLogOfSoftmax},
                      Doubted{"Log of Softmax across channels", "(float[N, 3, 6, 6] x) => (float[N, 3, 6, 6] y) ",
                              "y = LogSoftmax<axis = 1>(x)", "p = Softmax<axis = 1>(x)\n y = Log(p)"},
                      Doubted{"Log of Softmax against one by hand", kRows, kLogSoftmaxByHand, "s = Softmax(x)\n y = Log(s)"},
                      Doubted{"Log of Sigmoid", kRows, "n = Neg(x)\n p = Softplus(n)\n y = Neg(p)", "s = Sigmoid(x)\n y = Log(s)"},
                      Doubted{"Log of 1 minus Sigmoid", kRows,
                              number("o", "1.0") + number("e", "1e-7") + "s = Sigmoid(x)\n q = Sub(o, s)\n t = Add(q, e)\n y = Log(t)",
                              number("o", "1.0") + "s = Sigmoid(x)\n q = Sub(o, s)\n y = Log(q)"},
                      Doubted{"Log of Exp", kRows, "y = Identity(x)", "u = Exp(x)\n y = Log(u)"},
                      Doubted{"Log of a sum of Exp", kRows,
                              integers("ax", "1") + "l = ReduceLogSumExp<keepdims = 1>(x, ax)\n y = Add(x, l)",
                              integers("ax", "1") + "u = Exp(x)\n s = ReduceSum<keepdims = 1>(u, ax)\n l = Log(s)\n y = Add(x, l)"}));

INSTANTIATE_TEST_SUITE_P(VanishingOperands, TheSame,
                         ::testing::Values(Doubted{"LogSoftmax by hand", kRows, "y = LogSoftmax(x)", kLogSoftmaxByHand},
                                           Doubted{"a guard in both", kRows,
                                                   number("e", "1e-9") + "p = Softmax(x)\n t = Add(p, e)\n y = Log(t)",
                                                   number("e", "1e-9") + "p = Softmax(x)\n t = Add(e, p)\n y = Log(t)"},
                                           Doubted{"Log of Softmax in both", kRows, kLogOfSoftmax,
                                                   softmax_by_hand("d = Sub(x, m)", "p = Div(u, s)\n y = Log(p)")},
                                           Doubted{"the largest added as its negative", kRows, "y = Softmax(x)",
                                                   softmax_by_hand("n = Neg(m)\n d = Add(x, n)", "y = Div(u, s)")},
                                           Doubted{"the negative first, and a Reciprocal", kRows, "y = Softmax(x)",
                                                   softmax_by_hand("n = Neg(m)\n d = Add(n, x)", "r = Reciprocal(s)\n y = Mul(u, r)")}));

constexpr const char* kIntegers = "(int64[N, 8] x) => (int64[N, 8] y) ";
constexpr const char* kTwoIntegers = "(int64[N, 8] x, int64[N, 8] z) => (bool[N, 8] y) ";

std::string through(int type, int back = 7) {
  return "f = Cast<to = " + std::to_string(type) + ">(x)\n y = Cast<to = " + std::to_string(back) + ">(f)";
}

INSTANTIATE_TEST_SUITE_P(
    CoarseCasts, NotTheSame,
    ::testing::Values(
        Doubted{"through f32", kIntegers, "y = Identity(x)", through(1)}, Doubted{"through f16", kIntegers, "y = Identity(x)", through(10)},
        Doubted{"through bf16", kIntegers, "y = Identity(x)", through(16)},
        Doubted{"through f64", kIntegers, "y = Identity(x)", through(11)},
        Doubted{"of 32 bits through f32", "(int32[N, 8] x) => (int32[N, 8] y) ", "y = Identity(x)", through(1, 6)},
        Doubted{"of row numbers through f16", "(int64[N] x, float[3000, 2] t) => (float[N, 2] y) ", "y = Gather(t, x)",
                "f = Cast<to = 10>(x)\n i = Cast<to = 7>(f)\n y = Gather(t, i)"},
        Doubted{"of 16 bits through f16", "(int16[N, 8] x) => (int16[N, 8] y) ", "y = Identity(x)", through(10, 5)},
        Doubted{"in front of Equal", kTwoIntegers, "y = Equal(x, z)", "a = Cast<to = 1>(x)\n b = Cast<to = 1>(z)\n y = Equal(a, b)"},
        Doubted{"in front of Less of four numbers", "(int32[N, 4] x, int32[N, 4] z) => (bool[N, 4] y) ", "y = Less(x, z)",
                "a = Cast<to = 1>(x)\n b = Cast<to = 1>(z)\n y = Less(a, b)"},
        Doubted{"in front of Less", kTwoIntegers, "y = Less(x, z)", "a = Cast<to = 1>(x)\n b = Cast<to = 1>(z)\n y = Less(a, b)"},
        Doubted{"in front of ArgMax", "(int64[N, 8] x) => (int64[N, 1] y) ", "y = ArgMax<axis = 1>(x)",
                "f = Cast<to = 1>(x)\n y = ArgMax<axis = 1>(f)"},
        Doubted{"in front of ArgMin", "(int64[N, 8] x) => (int64[N, 1] y) ", "y = ArgMin<axis = 1>(x)",
                "f = Cast<to = 1>(x)\n y = ArgMin<axis = 1>(f)"},
        Doubted{"in front of a sum", kIntegers, "<int64 k = {3}> { y = Add(x, k)",
                "<int64 k = {3}> { f = Cast<to = 1>(x)\n i = Cast<to = 7>(f)\n y = Add(i, k)"}));

INSTANTIATE_TEST_SUITE_P(
    FineCasts, TheSame,
    ::testing::Values(
        Doubted{"of 32 bits through f64", "(int32[N, 8] x) => (int32[N, 8] y) ", "y = Identity(x)", through(11, 6)},
        Doubted{
            "of time steps, to f16 on purpose", "(int64[N, 1] x) => (float[N, 4] y) ",
            "<float[1, 4] k = {0.5, 0.1, 0.02, 0.001}> { f = Cast<to = 1>(x)\n y = Mul(f, k)",
            "<float[1, 4] k = {0.5, 0.1, 0.02, 0.001}> { f = Cast<to = 10>(x)\n h = Cast<to = 10>(k)\n m = Mul(f, h)\n y = Cast<to = 1>(m)",
            true},
        Doubted{"of 8 bits", "(uint8[N, 8] x) => (uint8[N, 8] y) ", "y = Identity(x)", through(1, 2)},
        Doubted{"of conditions", "(bool[N, 8] x) => (bool[N, 8] y) ", "y = Identity(x)", through(1, 9)},
        Doubted{"of positions", "(float[N, 8] x) => (int64[N, 1] y) ", "y = ArgMax<axis = 1>(x)",
                "p = ArgMax<axis = 1>(x)\n f = Cast<to = 1>(p)\n y = Cast<to = 7>(f)"},
        Doubted{"of dims", "(float[N, M] x) => (int64[2] y) ", "y = Shape(x)", "s = Shape(x)\n f = Cast<to = 1>(s)\n y = Cast<to = 7>(f)"},
        Doubted{"of limited numbers", kIntegers, "<int64 l = {0}, int64 h = {1000}> { c = Clip(x, l, h)\n y = Identity(c)",
                "<int64 l = {0}, int64 h = {1000}> { c = Clip(x, l, h)\n f = Cast<to = 1>(c)\n y = Cast<to = 7>(f)"},
        Doubted{"of row numbers", "(int64[N] x, float[30, 4] t) => (float[N, 4] y) ", "y = Gather(t, x)",
                "f = Cast<to = 1>(x)\n i = Cast<to = 7>(f)\n y = Gather(t, i)"}));

std::string top(std::string_view count, int sorted, const std::string& reader) {
  return integers("k", count) + integers("ax", "1") + "v, i = TopK<sorted = " + std::to_string(sorted) + ">(x, k)\n " + reader;
}
Doubted top_pair(const std::string& what, const std::string& result, const std::string& reader, std::string_view count = "9") {
  return {what, "(float[2, 64] x) => (" + result + " y) ", top(count, 1, reader), top(count, 0, reader)};
}

INSTANTIATE_TEST_SUITE_P(
    OpenOrders, NotTheSame,
    ::testing::Values(top_pair("numbers", "float[2, 9]", "y = Identity(v)"), top_pair("positions", "int64[2, 9]", "y = Identity(i)"),
                      top_pair("numbers at positions", "float[2, 9]", "y = GatherElements<axis = 1>(x, i)"),
                      top_pair("positions sorted again", "int64[2, 9]", "w, y = TopK(v, k)"),
                      top_pair("a mean across the batch", "float[1, 9]", "b = Constant<value_ints = [0]>()\n y = ReduceMean(v, b)"),
                      top_pair("the first", "float[2]", "z = Constant<value_int = 0>()\n y = Gather<axis = 1>(v, z)")));

INSTANTIATE_TEST_SUITE_P(OpenOrders, TheSame,
                         ::testing::Values(top_pair("a sum", "float[2, 1]", "y = ReduceSum(v, ax)"),
                                           top_pair("a mean of an activation", "float[2, 1]", "r = Relu(v)\n y = ReduceMean(r, ax)"),
                                           top_pair("the smallest", "float[2, 1]", "y = ReduceMin(v, ax)"),
                                           top_pair("numbers put back", "float[2, 64]",
                                                    "z = Sub(x, x)\n y = ScatterElements<axis = 1>(z, i, v)"),
                                           top_pair("numbers sorted again", "float[2, 9]", "w, j = TopK(v, k)\n y = Identity(w)"),
                                           top_pair("one number", "float[2, 1]", "y = Identity(v)", "1")));

const std::string kSpread =
    integers("ax", "1") + number("e", "1e-5") + "m = ReduceMean(x, ax)\n d = Sub(x, m)\n q = Mul(d, d)\n" + "v = ReduceMean(q, ax)\n";
const std::string kMoments = integers("ax", "1") + number("e", "1e-5") + "m = ReduceMean(x, ax)\n r = Mul(m, m)\n q = Mul(x, x)\n" +
                             "p = ReduceMean(q, ax)\n v = Sub(p, r)\n";
Doubted variances(const std::string& what, const std::string& reader) {
  return {what, "(float[N, 64] x) => (float[N, 1] y) ", kSpread + reader, kMoments + reader};
}

INSTANTIATE_TEST_SUITE_P(Variances, NotTheSame,
                         ::testing::Values(variances("in front of a root", "y = Sqrt(v)"),
                                           variances("guarded less than they may be off", "w = Add(v, e)\n y = Sqrt(w)"),
                                           variances("in front of a logarithm", "w = Add(v, e)\n y = Log(w)"),
                                           Doubted{
                                               "of sums", "(float[N, 64] x) => (float[N, 1] y) ", kSpread + "y = Sqrt(v)",
                                               number("n", "64.0") + integers("ax", "1") +
                                                   "s = ReduceSum(x, ax)\n m = Div(s, n)\n r = Mul(m, m)\n q = ReduceSumSquare(x, ax)\n" +
                                                   "p = Div(q, n)\n v = Sub(p, r)\n y = Sqrt(v)"}));

INSTANTIATE_TEST_SUITE_P(
    Variances, TheSame,
    ::testing::Values(variances("as such", "y = Identity(v)"), variances("with a least one", "w = Max(v, e)\n y = Sqrt(w)"),
                      variances("next to a large number", number("o", "1.0") + "w = Add(v, o)\n y = Sqrt(w)"),
                      Doubted{"by moments in both", "(float[N, 64] x) => (float[N, 1] y) ", kMoments + "y = Sqrt(v)",
                              with(kMoments, "Mul(m, m)", "Pow(m, two)").insert(0, number("two", "2.0")) + "y = Sqrt(v)"}));

const std::string kCut = integers("b", "0") + integers("e", "299") + integers("ax", "1") + "p = Slice(x, b, e, ax)\n ";
const std::string kScale = "q, y, z = DynamicQuantizeLinear(x)";

INSTANTIATE_TEST_SUITE_P(HiddenMaxima, NotTheSame,
                         ::testing::Values(Doubted{"the scale of a dynamic quantizer", "(float[2, 300] x) => (float y) ", kScale,
                                                   kCut + "q, y, z = DynamicQuantizeLinear(p)"},
                                           Doubted{"its zero point", "(float[2, 300] x) => (uint8 z) ", kScale,
                                                   kCut + "q, y, z = DynamicQuantizeLinear(p)"}));

INSTANTIATE_TEST_SUITE_P(
    HiddenMaxima, TheSame,
    ::testing::Values(
        Doubted{"of a transposed matrix", "(float[3, 300] x) => (float y) ", kScale,
                "t = Transpose(x)\n q, y, z = DynamicQuantizeLinear(t)"},
        Doubted{"of quantized numbers", "(float[2, 300] x) => (float[2, 1] y) ",
                integers("a", "1") + "q, s, z = DynamicQuantizeLinear(x)\n d = DequantizeLinear(q, s, z)\n y = ReduceMax(d, a)",
                integers("a", "1") + "q, s, z = DynamicQuantizeLinear(x)\n m = ReduceMax(q, a)\n y = DequantizeLinear(m, s, z)"}));

constexpr const char* kHalfPairs = "(float16[N, 2] x) => (float16[N, 2] y) ";
const std::string kProduct = "<float[2, 2] v = {1, 0.5, -1, 2}> { w = Cast<to = 10>(v)\n y = MatMul(x, w)";
const std::string kScaledProduct =
    "<float[2, 2] v = {0.000244140625, 0.0001220703125, -0.000244140625, 0.00048828125}> { w = Cast<to = 10>(v)\n" + half("k", "4096.0") +
    "t = Mul(x, k)\n y = MatMul(t, w)";

constexpr const char* kHalfSums = "(float16[N, 64] x) => (float16[N, 1] y) ";
const std::string kMean = integers("ax", "1") + "y = ReduceMean(x, ax)";
std::string scaled_sum(std::string_view factor, std::string_view divisor) {
  return integers("ax", "1") + half("k", factor) + half("d", divisor) + "t = Mul(x, k)\n s = ReduceSum(t, ax)\n y = Div(s, d)";
}

INSTANTIATE_TEST_SUITE_P(
    Overflow, NotTheSame,
    ::testing::Values(
        Doubted{"of a factor in f16", kHalfRows, "y = Identity(x)", half("k", "4096.0") + "t = Mul(x, k)\n y = Div(t, k)"},
        Doubted{"of a factor in f32", kRows, "y = Identity(x)",
                number("k", "1e37") + number("l", "1e-37") + "t = Mul(x, k)\n y = Mul(t, l)"},
        Doubted{"around another operator", kRows, "y = Abs(x)", number("k", "1e37") + "t = Mul(x, k)\n u = Abs(t)\n y = Div(u, k)"},
        Doubted{"of a factor that weights undo", kHalfPairs, kProduct, kScaledProduct, false, true},
        Doubted{"of a product of its own in f32", kRows, "y = Mul(x, x)",
                number("k", "1e37") + "t = Mul(x, k)\n u = Mul(t, x)\n y = Div(u, k)"},
        Doubted{"in front of a maximum", kRows, "y = ReduceMax(x)",
                number("k", "1e37") + "t = Mul(x, k)\n u = ReduceMax(t)\n y = Div(u, k)"},
        Doubted{"of both terms of a sum", kRows, "y = Add(x, x)", number("k", "1e37") + "t = Mul(x, k)\n u = Add(t, t)\n y = Div(u, k)"},
        Doubted{"in front of a choice", kRows, number("z", "0.0") + "c = Greater(x, z)\n y = Where(c, x, z)",
                number("z", "0.0") + number("k", "1e37") + "c = Greater(x, z)\n t = Mul(x, k)\n u = Where(c, t, z)\n y = Div(u, k)"},
        Doubted{"of a square in f16", kHalfRows, "y = Abs(x)", "t = Mul(x, x)\n y = Sqrt(t)"},
        Doubted{"of a power in f16", kHalfRows, "y = Abs(x)", half("k", "2.0") + "t = Pow(x, k)\n y = Sqrt(t)"},
        Doubted{"of a sum of scaled numbers in f16", kHalfSums, kMean, scaled_sum("1000.0", "64000.0")},
        Doubted{"of a sum of few everyday numbers in f16", kHalfSums, kMean, scaled_sum("50.0", "3200.0")},
        Doubted{"of a sum of squares in f16", kHalfSums, integers("ax", "1") + "y = ReduceL2(x, ax)",
                integers("ax", "1") + "s = ReduceSumSquare(x, ax)\n y = Sqrt(s)"},
        Doubted{"of a sum over an image in f16", "(float16[N, 2, 64, 64] x) => (float16[N, 2, 1, 1] y) ", "y = GlobalAveragePool(x)",
                integers("ax", "2, 3") + half("k", "4096.0") + "s = ReduceSum(x, ax)\n y = Div(s, k)"}));

INSTANTIATE_TEST_SUITE_P(
    Scaling, TheSame,
    ::testing::Values(Doubted{"of a sum by everyday factors", kRows, "y = Add(x, x)",
                              number("k", "4096.0") + "t = Mul(x, k)\n u = Add(t, t)\n y = Div(u, k)"},
                      Doubted{"that a fold brings into weights", kHalfPairs, kScaledProduct, kProduct, false, true},
                      Doubted{"of a mean of 64 numbers in f16", kHalfSums, kMean, scaled_sum("1.0", "64.0")},
                      Doubted{"of a sum of numbers scaled down in f16", kHalfSums, kMean, scaled_sum("0.015625", "1.0")},
                      Doubted{"of bytes", kHalfRows, "y = Identity(x)", half("k", "255.0") + "t = Mul(x, k)\n y = Div(t, k)"},
                      Doubted{"by a root of dims", kHalfRows, half("k", "8.0") + "y = Div(x, k)", half("k", "0.125") + "y = Mul(x, k)"},
                      Doubted{"by a large factor in f32", kRows, "y = Identity(x)",
                              number("k", "4096.0") + "t = Mul(x, k)\n y = Div(t, k)"},
                      Doubted{"of a square in f32", kRows, "y = Abs(x)", "t = Mul(x, x)\n y = Sqrt(t)"}));

constexpr const char* kPooled = "(float[N, 2, H, W] x) => (float[N, 2, 1, 1] y) ";
constexpr const char* kLongRows = "(float[N, 64] x) => (float[N, 1] y) ";
const std::string kAxis = integers("ax", "1");
const std::string kZeroAlone = number("zero", "0.0");

INSTANTIATE_TEST_SUITE_P(
    LimitsInFrontOfAMaximum, NotTheSame,
    ::testing::Values(Doubted{"Relu in front of GlobalMaxPool", kPooled, "r = Relu(x)\n y = GlobalMaxPool(r)", "y = GlobalMaxPool(x)"},
                      Doubted{"Relu in front of ReduceMax", kLongRows, kAxis + "r = Relu(x)\n y = ReduceMax<keepdims = 1>(r, ax)",
                              kAxis + "y = ReduceMax<keepdims = 1>(x, ax)"},
                      Doubted{"Max in front of ReduceMax", kLongRows,
                              kAxis + kZeroAlone + "r = Max(x, zero)\n y = ReduceMax<keepdims = 1>(r, ax)",
                              kAxis + "y = ReduceMax<keepdims = 1>(x, ax)"},
                      Doubted{"Min in front of ReduceMin", kLongRows,
                              kAxis + kZeroAlone + "r = Min(x, zero)\n y = ReduceMin<keepdims = 1>(r, ax)",
                              kAxis + "y = ReduceMin<keepdims = 1>(x, ax)"},
                      Doubted{"LeakyRelu for Relu behind a maximum", kLongRows,
                              kAxis + "m = ReduceMax<keepdims = 1>(x, ax)\n y = LeakyRelu<alpha = 1.0>(m)",
                              kAxis + "m = ReduceMax<keepdims = 1>(x, ax)\n y = Relu(m)"},
                      Doubted{"Relu in front of a large MaxPool", "(float[N, 2, 8, 8] x) => (float[N, 2, 1, 1] y) ",
                              "r = Relu(x)\n y = MaxPool<kernel_shape = [8, 8]>(r)", "y = MaxPool<kernel_shape = [8, 8]>(x)"}));

INSTANTIATE_TEST_SUITE_P(
    LimitsInFrontOfAMaximum, TheSame,
    ::testing::Values(
        Doubted{"Relu behind GlobalMaxPool", kPooled, "r = Relu(x)\n y = GlobalMaxPool(r)", "m = GlobalMaxPool(x)\n y = Relu(m)"},
        Doubted{"Relu twice", kPooled, "r = Relu(x)\n q = Relu(r)\n y = GlobalMaxPool(q)", "r = Relu(x)\n y = GlobalMaxPool(r)"},
        Doubted{"Relu of what is never negative", kLongRows,
                kAxis + "p = Softmax<axis = 1>(x)\n r = Relu(p)\n y = ReduceMax<keepdims = 1>(r, ax)",
                kAxis + "p = Softmax<axis = 1>(x)\n y = ReduceMax<keepdims = 1>(p, ax)"},
        Doubted{"Clip for Relu and Min", kLongRows,
                kAxis + number("low", "0.0") + number("high", "6.0") + "r = Clip(x, low, high)\n y = ReduceMax<keepdims = 1>(r, ax)",
                kAxis + number("high", "6.0") + "p = Relu(x)\n r = Min(p, high)\n y = ReduceMax<keepdims = 1>(r, ax)"}));

INSTANTIATE_TEST_SUITE_P(
    FactorsInFrontOfAStep, NotTheSame,
    ::testing::Values(Doubted{"of a Cast", "(float[N, 8] x) => (int32[N, 8] y) ",
                              number("k", "10.0") + "m = Mul(x, k)\n y = Cast<to = 6>(m)",
                              number("k", "10.0") + number("f", "1.001") + "m = Mul(x, k)\n q = Mul(m, f)\n y = Cast<to = 6>(q)"},
                      Doubted{"of a Floor", kRows, number("k", "10.0") + "m = Mul(x, k)\n y = Floor(m)",
                              number("k", "10.0") + number("f", "1.001") + "m = Mul(x, k)\n q = Mul(m, f)\n y = Floor(q)"},
                      Doubted{"of a Round", kRows, number("k", "3.0") + "m = Mul(x, k)\n y = Round(m)",
                              number("k", "3.0") + number("f", "1.0001") + "m = Mul(x, k)\n q = Mul(m, f)\n y = Round(q)"}));

INSTANTIATE_TEST_SUITE_P(
    FactorsInFrontOfAStep, TheSame,
    ::testing::Values(Doubted{"of 1", "(float[N, 8] x) => (int32[N, 8] y) ", number("k", "8.0") + "m = Mul(x, k)\n y = Cast<to = 6>(m)",
                              number("k", "8.0") + number("f", "1.0") + "m = Mul(x, k)\n q = Mul(m, f)\n y = Cast<to = 6>(q)"},
                      Doubted{"in another order", kRows,
                              number("k", "8.0") + number("f", "0.5") + "m = Mul(x, k)\n q = Mul(m, f)\n y = Floor(q)",
                              number("k", "4.0") + "m = Mul(x, k)\n y = Floor(m)"},
                      Doubted{"within rounding", kRows, number("k", "0.1") + number("f", "3.0") + "m = Mul(x, k)\n y = Mul(m, f)",
                              number("k", "0.3") + "y = Mul(x, k)"}));

// Differences in front of nodes that choose.
constexpr const char* kPlaces = "(float[N, 4] x) => (int64[N, 1] y) ";
constexpr const char* kConditions = "(float[N, 8] x) => (bool[N, 8] y) ";
constexpr const char* kSteps = "(float[N, 8] x) => (uint8[N, 8] y) ";
const std::string kBiases = "<float[4] b = {0.0001, 0, 0, 0}, float[4] c = {0.5, 0.5, 0.5, 0.5}> { t = Tanh(x)\n ";
const std::string kGrid =
    "<float s = {0.0625}, float h = {0.03125}, float half = {0.5}, float f = {1.001}, uint8 z = {128}, int8 o = {0}> { t = Tanh(x)\n ";
constexpr const char* kTurnedSteps = "(float[N, 8] x) => (uint8[8, N] y) ";
const std::string kTwo = number("k", "10.0") + number("d", "0.0001") + "t = Tanh(x)\n m = Mul(t, k)\n ";

/// An If, one of whose graphs no sample enters.
std::string around_branch(const std::string& then, const std::string& other) {
  return number("limit", "1000.0") + number("half", "0.5") +
         "s = ReduceSum<keepdims = 0>(x)\n c = Greater(s, limit)\n y = If(c) <then_branch = a () => (float[N, 8] p) { " + then +
         " }, else_branch = b () => (float[N, 8] q) { " + other + " }>";
}
/// Sigmoid, in a form that the proof does not know.
constexpr const char* kHalves = "h = Mul(x, half) t = Tanh(h) u = Mul(t, half) q = Add(u, half)";

/// Both graphs of an If, one of which no sample enters; without an If, Cos. Behind these an activation in two forms that the proof does not
/// know as one.
std::string behind_branches(const std::string& then) {
  return number("limit", "1000.0") +
         "s = ReduceSum<keepdims = 0>(x)\n c = Greater(s, limit)\n z = If(c) <then_branch = a () => (float[N, 8] p) { " + then +
         " }, else_branch = b () => (float[N, 8] q) { q = Cos(x) }>\n e = Sigmoid(z)\n y = Mul(e, z)";
}
const std::string kWithoutBranches = number("half", "0.5") + "z = Cos(x)\n h = Mul(z, half)\n t = Tanh(h)\n u = Mul(t, h)\n y = Add(u, h)";

INSTANTIATE_TEST_SUITE_P(OfConditions, TheSame,
                         ::testing::Values(Doubted{"without effect", kRows, kWithoutBranches, behind_branches("p = Cos(x)")},
                                           Doubted{"spelled apart", kRows, kWithoutBranches, behind_branches("i = Identity(x) p = Cos(i)")},
                                           Doubted{"in A alone", kRows, around_branch("p = Sigmoid(x)", "q = Sigmoid(x)"),
                                                   around_branch("p = Sigmoid(x)", kHalves)}));
INSTANTIATE_TEST_SUITE_P(OfConditions, NotTheSame,
                         ::testing::Values(Doubted{"of another operator", kRows, kWithoutBranches, behind_branches("p = Sin(x)")},
                                           Doubted{"of one operator more", kRows, kWithoutBranches,
                                                   behind_branches("o = Cos(x) p = Cos(o)")},
                                           Doubted{"of a cast more", kRows, kWithoutBranches,
                                                   behind_branches("o = Cast<to = 10>(x) i = Cast<to = 1>(o) p = Cos(i)")},
                                           Doubted{"of one operator less", kRows, kWithoutBranches, behind_branches("p = Identity(x)")}));

/// A branch that samples enter by the sign of a sum.
std::string in_branch(const std::string& then, const std::string& constants) {
  return constants + number("zero", "0.0") +
         "sum = ReduceSum<keepdims = 0>(x)\n c = Greater(sum, zero)\n y = If(c) <then_branch = t () => (float[N, 8] p) {" + then +
         "}, else_branch = e () => (float[N, 8] q) { q = Neg(x) }>";
}

INSTANTIATE_TEST_SUITE_P(
    InFrontOfChoices, NotTheSame,
    ::testing::Values(
        Doubted{"of Round", kRows, kTwo + "y = Round(m)", kTwo + "n = Add(m, d)\n y = Round(n)"},
        Doubted{"of Floor", kRows, kTwo + "y = Floor(m)", kTwo + "n = Sub(m, d)\n y = Floor(n)"},
        Doubted{"of a Cast", "(float[N, 8] x) => (int64[N, 8] y) ", kTwo + "y = Cast<to = 7>(m)",
                kTwo + "n = Sub(m, d)\n y = Cast<to = 7>(n)"},
        Doubted{"of Round in f64", "(double[N, 8] x) => (double[N, 8] y) ", "<double d = {0.00000001}> { m = Tanh(x)\n y = Round(m)",
                "<double d = {0.00000001}> { m = Tanh(x)\n n = Add(m, d)\n y = Round(n)"},
        Doubted{"of ArgMax", kPlaces, kBiases + "y = ArgMax<axis = 1>(t)", kBiases + "n = Add(t, b)\n y = ArgMax<axis = 1>(n)"},
        Doubted{"of ArgMax, by f16", kPlaces, "t = Tanh(x)\n y = ArgMax<axis = 1>(t)",
                "t = Tanh(x)\n r = Cast<to = 10>(t)\n n = Cast<to = 1>(r)\n y = ArgMax<axis = 1>(n)"},
        Doubted{"of Hardmax, by steps", kRows, number("s", "64.0") + "t = Tanh(x)\n y = Hardmax(t)",
                number("s", "64.0") + "t = Tanh(x)\n m = Mul(t, s)\n r = Round(m)\n n = Div(r, s)\n y = Hardmax(n)"},
        Doubted{"of Hardmax, of numbers that saturate", kRows, "t = Sigmoid(x)\n y = Hardmax(t)", "y = Hardmax(x)"},
        Doubted{"of ArgMax, of numbers that saturate", kPlaces, "t = Sigmoid(x)\n y = ArgMax<axis = 1>(t)", "y = ArgMax<axis = 1>(x)"},
        Doubted{"of ArgMax, of numbers that saturate and are turned", "(float[8, N] x) => (int64[N, 1] y) ",
                "t = Sigmoid(x)\n p = Transpose(t)\n y = ArgMax<axis = 1>(p)", "p = Transpose(x)\n y = ArgMax<axis = 1>(p)"},
        Doubted{"of Hardmax, of numbers that saturate, across rows", "(float[8, N] x) => (float[8, N] y) ",
                "t = Tanh(x)\n y = Hardmax<axis = 0>(t)", "y = Hardmax<axis = 0>(x)"},
        Doubted{"of a comparison", kConditions, number("h", "0.5") + kTwo + "y = Greater(t, h)",
                number("h", "0.5") + kTwo + "n = Add(t, d)\n y = Greater(n, h)"},
        Doubted{"of a quantizer", kSteps, kGrid + "y = QuantizeLinear(t, s, z)", kGrid + "n = Mul(t, f)\n y = QuantizeLinear(n, s, z)"},
        Doubted{"of a quantizer, rounded to its steps before", kSteps, kGrid + "y = QuantizeLinear(t, s, z)",
                kGrid + "n = Mul(t, f)\n q = QuantizeLinear(n, s, z)\n d = DequantizeLinear(q, s, z)\n y = QuantizeLinear(d, s, z)"},
        Doubted{"of a quantizer, moved after it", kTurnedSteps, kGrid + "p = Transpose(t)\n y = QuantizeLinear(p, s, z)",
                kGrid + "n = Mul(t, f)\n q = QuantizeLinear(n, s, z)\n y = Transpose(q)"},
        Doubted{
            "of a quantizer, moved and rounded to its steps before", kTurnedSteps, kGrid + "p = Transpose(t)\n y = QuantizeLinear(p, s, z)",
            kGrid +
                "n = Mul(t, f)\n q = QuantizeLinear(n, s, o)\n m = Transpose(q)\n d = DequantizeLinear(m, s, o)\n y = QuantizeLinear(d, s, "
                "z)"},
        Doubted{"of Round in a branch", kRows, in_branch("a = Add(x, k)\n p = Round(a)", number("k", "10.0") + number("d", "0.0001")),
                in_branch("a = Add(x, k)\n b = Add(a, d)\n p = Round(b)", number("k", "10.0") + number("d", "0.0001"))}));

INSTANTIATE_TEST_SUITE_P(
    InFrontOfChoices, TheSame,
    ::testing::Values(
        Doubted{"of Round, in another order", kRows,
                number("k", "10.0") + number("f", "0.3") + "m = Mul(x, k)\n n = Mul(m, f)\n y = Round(n)",
                number("g", "3.0") + "n = Mul(x, g)\n y = Round(n)"},
        Doubted{"of Floor, twice", kRows, kTwo + "y = Floor(m)", kTwo + "n = Floor(m)\n y = Floor(n)"},
        Doubted{"of a Cast of positive numbers", "(float[N, 8] x) => (int64[N, 8] y) ",
                number("k", "10.0") + "t = Sigmoid(x)\n m = Mul(t, k)\n y = Cast<to = 7>(m)",
                number("k", "10.0") + "t = Sigmoid(x)\n m = Mul(t, k)\n n = Floor(m)\n y = Cast<to = 7>(n)"},
        Doubted{"of ArgMax: Softmax", kPlaces, kBiases + "y = ArgMax<axis = 1>(t)", kBiases + "n = Softmax(t)\n y = ArgMax<axis = 1>(n)"},
        Doubted{"of Hardmax: Softmax", kRows, "n = Softmax(x)\n y = Hardmax(n)", "y = Hardmax(x)"},
        Doubted{"of Hardmax: a factor of all", kRows, number("k", "3.0") + "n = Mul(x, k)\n y = Hardmax(n)",
                number("k", "3.0") + "y = Hardmax(x)"},
        Doubted{"of ArgMax: a shift of all", kPlaces, kBiases + "y = ArgMax<axis = 1>(t)",
                kBiases + "n = Add(t, c)\n y = ArgMax<axis = 1>(n)"},
        Doubted{"of a comparison: both negated", "(float[N, 8] x, float[N, 8] z) => (bool[N, 8] y) ", "t = Tanh(x)\n y = Less(t, z)",
                "t = Tanh(x)\n n = Neg(t)\n w = Neg(z)\n y = Greater(n, w)"},
        Doubted{
            "of a comparison of one number, turned", "(float[N, 8] x) => (bool[] y) ",
            number("h", "0.5") + integers("i", "0") + "t = ReduceMax<keepdims = 0>(x)\n y = Less(t, h)",
            number("h", "0.5") + integers("i", "0") +
                "t = ReduceMax<keepdims = 0>(x)\n q = SequenceConstruct(t)\n j = Squeeze(i)\n n = SequenceAt(q, j)\n y = Greater(h, n)"},
        Doubted{"of a comparison with 0", kConditions, number("h", "0.5") + "t = Tanh(x)\n y = Greater(t, h)",
                number("h", "0.5") + number("o", "0.0") + "t = Tanh(x)\n n = Sub(t, h)\n y = Greater(n, o)"},
        Doubted{"of a quantizer that limits", kSteps, "<float s = {0.05}, uint8 z = {0}> { t = Relu(x)\n y = QuantizeLinear(t, s, z)",
                "<float s = {0.05}, uint8 z = {0}> { y = QuantizeLinear(x, s, z)"},
        Doubted{"of a quantizer, rounded to its steps before", kSteps, kGrid + "y = QuantizeLinear(t, s, z)",
                kGrid + "q = QuantizeLinear(t, s, z)\n d = DequantizeLinear(q, s, z)\n y = QuantizeLinear(d, s, z)"},
        Doubted{"of a quantizer, rounded to its steps before from another zero point", kSteps, kGrid + "y = QuantizeLinear(t, s, z)",
                kGrid + "q = QuantizeLinear(t, s, o)\n d = DequantizeLinear(q, s, o)\n y = QuantizeLinear(d, s, z)"},
        Doubted{"of a quantizer, moved after it", kTurnedSteps, kGrid + "p = Transpose(t)\n y = QuantizeLinear(p, s, z)",
                kGrid + "q = QuantizeLinear(t, s, z)\n y = Transpose(q)"},
        Doubted{"of a quantizer, moved and rounded to its steps before", kTurnedSteps,
                kGrid + "p = Transpose(t)\n y = QuantizeLinear(p, s, z)",
                kGrid + "q = QuantizeLinear(t, s, z)\n m = Transpose(q)\n d = DequantizeLinear(m, s, z)\n y = QuantizeLinear(d, s, z)"},
        Doubted{"of Round in a branch", kRows, in_branch("a = Add(x, k)\n p = Round(a)", number("k", "10.0")),
                in_branch("a = Add(x, h)\n b = Add(a, h)\n p = Round(b)", number("h", "5.0"))}));

// Guards of another size.
std::string guarded_log(const std::string& epsilon) {
  return number("e", epsilon) + "p = Relu(x)\n t = Add(p, e)\n y = Log(t)";
}
std::string guarded_quotient(const std::string& epsilon) {
  return number("e", epsilon) + "p = Abs(x)\n t = Add(p, e)\n y = Div(x, t)";
}
std::string guarded_maximum(const std::string& epsilon) {
  return number("e", epsilon) + "p = Relu(x)\n t = Max(p, e)\n y = Log(t)";
}
std::string scaled_guard(const std::string& epsilon, const std::string& nodes) {
  return integers("ax", "1") + number("e", epsilon) + number("n", "0.125") + number("eight", "8.0") +
         "u = Mul(x, x)\n s = ReduceSum<keepdims = 1>(u, ax)\n " + nodes + "\n q = Sqrt(t)\n y = Div(x, q)";
}

INSTANTIATE_TEST_SUITE_P(OtherGuards, NotTheSame,
                         ::testing::Values(Doubted{"of a norm", kRows, unit_rows(number("e", "1e-6"), kAdded),
                                                   unit_rows(number("e", "1.01e-6"), kAdded)},
                                           Doubted{"of a Log", kRows, guarded_log("1e-8"), guarded_log("1.2e-8")},
                                           Doubted{"of a divisor", kRows, guarded_quotient("1e-7"), guarded_quotient("1.3e-7")},
                                           Doubted{"by Max", kRows, guarded_maximum("1e-7"), guarded_maximum("1.1e-7")},
                                           Doubted{"of the other sign", kRows, guarded_quotient("1e-6"), guarded_quotient("-1e-6")},
                                           Doubted{"of a variance", kTokens, normalized(number("e", "1e-5"), "t = Add(v, e)"),
                                                   normalized(number("e", "1.02e-5"), "t = Add(v, e)")},
                                           Doubted{"in f64", "(double[N, 8] x) => (double[N, 8] y) ",
                                                   "<double e = {0.000000000001}> { p = Mul(x, x)\n t = Add(p, e)\n y = Sqrt(t)",
                                                   "<double e = {0.0000000000011}> { p = Mul(x, x)\n t = Add(p, e)\n y = Sqrt(t)"}));

INSTANTIATE_TEST_SUITE_P(OtherGuards, TheSame,
                         ::testing::Values(Doubted{"by an ULP", kRows, unit_rows(number("e", "1e-6"), kAdded),
                                                   unit_rows(number("e", "1.0000001e-6"), kAdded)},
                                           Doubted{"scaled with the sum", kRows, scaled_guard("1e-6", "w = Mul(s, n)\n t = Add(w, e)"),
                                                   scaled_guard("8e-6", "w = Add(s, e)\n t = Div(w, eight)")},
                                           Doubted{"in two parts", kRows, guarded_log("2e-8"),
                                                   number("e", "1e-8") + "p = Relu(x)\n v = Add(p, e)\n t = Add(v, e)\n y = Log(t)"},
                                           Doubted{"of the other sign, subtracted", kRows, guarded_quotient("1e-6"),
                                                   with(guarded_quotient("-1e-6"), "Add", "Sub")},
                                           Doubted{"in front of no edge", kRows, with(guarded_log("1e-9"), "Log", "Tanh"),
                                                   with(guarded_log("1.5e-9"), "Log", "Tanh")}));

// Guards below 0, and of a norm that no guard of the file's keeps off 0.
std::string below_zero(const std::string& nodes) {
  return number("e", "1e-7") + number("n", "-1e-7") + number("o", "1.0") + "s = Tanh(x)\n " + nodes + "\n y = Reciprocal(b)";
}
const std::string kUnguardedNorm = "s = ReduceL2<axes = [-1]>(x)\n y = Div(x, s)";

INSTANTIATE_TEST_SUITE_P(
    OneSidedGuards, NotTheSame,
    ::testing::Values(Doubted{"subtracted", kRows, below_zero("a = Sub(s, o)\n b = Sub(a, e)"), below_zero("b = Sub(s, o)")},
                      Doubted{"added", kRows, below_zero("a = Sub(s, o)\n b = Add(n, a)"), below_zero("b = Sub(s, o)")},
                      Doubted{"of a norm", kRows, "y = LpNormalization(x)", kUnguardedNorm},
                      Doubted{"of a sign", kRows, guarded_quotient("1e-6"), "y = Sign(x)"},
                      Doubted{"of a sign in f16", kHalfRows, half("e", "1e-4") + "p = Abs(x)\n t = Add(p, e)\n y = Div(x, t)",
                              "y = Sign(x)"}));

INSTANTIATE_TEST_SUITE_P(OneSidedGuards, TheSame,
                         ::testing::Values(Doubted{"in another spelling", kRows, below_zero("a = Sub(s, o)\n b = Sub(a, e)"),
                                                   below_zero("a = Sub(s, o)\n b = Add(a, n)")},
                                           Doubted{"of a norm on either side", kRows, "y = LpNormalization(x)",
                                                   "n = Neg(x)\n m = LpNormalization(n)\n y = Neg(m)"},
                                           Doubted{"of a sign", kHalfRows, half("e", "1e-4") + "p = Abs(x)\n t = Add(p, e)\n y = Div(x, t)",
                                                   half("e", "1e-4") + "n = Neg(x)\n p = Max(n, x)\n t = Add(e, p)\n y = Div(x, t)"},
                                           Doubted{"where 0 is far", kRows, below_zero("a = Sub(s, o)\n c = Sub(a, o)\n b = Sub(c, e)"),
                                                   below_zero("a = Sub(s, o)\n b = Sub(a, o)")}));

// Guards of one size at other places, and forms of a function that leave the numbers of float16.
std::string guarded_norm(const std::string& nodes, const std::string& epsilon = "1e-12") {
  return integers("ax", "1") + number("e", epsilon) + "u = Mul(x, x)\n s = ReduceSum<keepdims = 1>(u, ax)\n " + nodes + "\n y = Div(x, q)";
}
const std::string kAddedWithin = "t = Add(s, e)\n q = Sqrt(t)", kAddedAfter = "r = Sqrt(s)\n q = Add(r, e)",
                  kLeastWithin = "t = Max(s, e)\n q = Sqrt(t)";

INSTANTIATE_TEST_SUITE_P(
    PlacesOfGuards, NotTheSame,
    ::testing::Values(Doubted{"after a root", kRows, guarded_norm(kAddedWithin), guarded_norm(kAddedAfter)},
                      Doubted{"after a root, larger", kRows, guarded_norm(kAddedWithin, "1e-8"), guarded_norm(kAddedAfter, "1e-8")},
                      Doubted{"as a least number", kRows, guarded_norm(kAddedWithin), guarded_norm(kLeastWithin)},
                      Doubted{"as a least number of a logarithm", kRows, guarded_log("1e-7"), guarded_maximum("1e-7")}));

INSTANTIATE_TEST_SUITE_P(
    PlacesOfGuards, TheSame,
    ::testing::Values(Doubted{"by a power", kRows, guarded_norm(kAddedWithin),
                              number("h", "0.5") + guarded_norm("t = Add(e, s)\n q = Pow(t, h)")},
                      Doubted{"by Clip", kRows, guarded_norm(kLeastWithin), guarded_norm("t = Clip(s, e)\n q = Sqrt(t)")},
                      Doubted{"of a limit upstream", kRows, guarded_maximum("1e-7"), number("e", "1e-7") + "p = Max(x, e)\n y = Log(p)"}));

INSTANTIATE_TEST_SUITE_P(
    ExponentialsInHalf, NotTheSame,
    ::testing::Values(Doubted{"of a Sigmoid", kHalfRows, "y = Sigmoid(x)", half("o", "1.0") + "p = Exp(x)\n b = Add(p, o)\n y = Div(p, b)"},
                      Doubted{"of a Tanh", kHalfRows, "y = Tanh(x)",
                              "p = Exp(x)\n n = Neg(x)\n m = Exp(n)\n a = Sub(p, m)\n b = Add(p, m)\n y = Div(a, b)"}));

INSTANTIATE_TEST_SUITE_P(ExponentialsInHalf, TheSame,
                         ::testing::Values(Doubted{"of a Sigmoid that ends at 0", kHalfRows, "y = Sigmoid(x)",
                                                   half("o", "1.0") + "n = Neg(x)\n p = Exp(n)\n b = Add(p, o)\n y = Div(o, b)"}));

// Limits in nested graphs, and limits of sizes.
std::string rarely_entered(const std::string& nodes) {
  return number("k", "0.9") + number("h", "0.5") + number("z", "0.0") + number("six", "6.0") +
         "a = Tanh(x)\n m = ReduceMax<keepdims = 0>(a)\n c = Greater(m, k)\n y = If(c) <then_branch = t () => (float[1, 8] p) { p = Mul(x, "
         "h) }, else_branch = e () => (float[1, 8] q) {" +
         nodes + "}>";
}
std::string looped(const std::string& nodes) {
  return number("h", "0.5") + number("cap", "1000.0") + number("z", "0.0") +
         "n = Constant<value_int = 3>()\n one = Constant<value_int = 1>()\n c = Cast<to = 9>(one)\n s0 = Add(x, z)\n y = Loop(n, c, s0) "
         "<body = b (int64 i, bool cc, float[1, 8] s) => (bool co, float[1, 8] so) { co = Identity(cc)\n " +
         nodes + "}>";
}
constexpr const char* kRow = "(float[1, 8] x) => (float[1, 8] y) ";
constexpr const char* kSizes = "(float[N, 4] x) => (int64[M] y) ";
std::string by_size(const std::string& nodes) {
  return integers("four", "4") + integers("seven", "7") + integers("i", "0") + "s = Shape(x)\n d = Gather(s, i)\n " + nodes;
}

constexpr const char* kPieces = "(float[N, M] x, bool c) => (float[P, Q] y) ";
std::string sliced(const std::string& end, const std::string& nodes) {
  return integers("b", "0") + integers("e", end) + integers("a", "1") + "n = Constant<value_int = 2>()\n " + nodes;
}
const std::string kSliceInLoop =
    "l = Loop(n, ) <body = r (int64 i, bool d) => (bool k, p) { k = Identity(d)\n p = Slice(x, b, e, a) }>\n y = ReduceSum<keepdims = "
    "0>(l, b)";
std::string rarely_looped(const std::string& op_type) {
  return number("k", "1e30") +
         "n = Constant<value_int = 2>()\n m = ReduceMax<keepdims = 0>(x)\n c = Greater(m, k)\n y = If(c) <then_branch "
         "= t () => (p) { p = Loop(n, , x) <body = b (int64 i, bool d, float[1, 8] s) => (bool w, so) { w = "
         "Identity(d)\n so = " +
         op_type + "(s) }> }, else_branch = f () => (q) { q = Tanh(x) }>";
}

INSTANTIATE_TEST_SUITE_P(
    InnerLimits, NotTheSame,
    ::testing::Values(Doubted{"Min in a branch", kRow, rarely_entered("q = Identity(x)"), rarely_entered("q = Min(x, six)")},
                      Doubted{"Relu in a branch", kRow, rarely_entered("q = Identity(x)"), rarely_entered("q = Relu(x)")},
                      Doubted{"LeakyRelu in a branch", kRow, rarely_entered("q = Identity(x)"), rarely_entered("q = LeakyRelu(x)")},
                      Doubted{"Min in a loop", kRow, looped("so = Mul(s, h)"), looped("r = Min(s, cap)\n so = Mul(r, h)")},
                      Doubted{"Where of a size", kSizes, by_size("y = Identity(d)"), by_size("c = Less(d, four)\n y = Where(c, d, four)")},
                      Doubted{"Where of all sizes, one of them larger", "(float[N, 16] x) => (int64[M] y) ", by_size("y = Identity(d)"),
                              by_size("c = Less(s, four)\n w = Where(c, s, four)\n y = Gather(w, i)")},
                      Doubted{"Max of what a size exceeds", kSizes, by_size("y = Identity(d)"),
                              by_size("z = Sub(d, d)\n e = Sub(d, four)\n f = Max(e, z)\n y = Sub(d, f)")},
                      Doubted{"Min of a size as a real number", kSizes, by_size("y = Identity(d)"),
                              by_size("e = Cast<to = 1>(d)\n f = Cast<to = 1>(four)\n m = Min(e, f)\n y = Cast<to = 7>(m)")},
                      Doubted{"a comparison of a size as a number", kSizes, by_size("y = Identity(d)"),
                              by_size("c = Less(d, four)\n a = Cast<to = 7>(c)\n n = Not(c)\n b = Cast<to = 7>(n)\n p = Mul(a, d)\n q = "
                                      "Mul(b, four)\n y = Add(p, q)")},
                      Doubted{"Mod of a size", kSizes, by_size("y = Identity(d)"), by_size("y = Mod(d, seven)")},
                      Doubted{"a Slice in a branch", kPieces,
                              sliced("9",
                                     "y = If(c) <then_branch = t () => (p) { p = Slice(x, b, e, a) }, "
                                     "else_branch = f () => (q) { q = Abs(x) }>"),
                              sliced("8",
                                     "y = If(c) <then_branch = t () => (p) { p = Slice(x, b, e, a) }, else_branch = f () => (q) { q "
                                     "= Abs(x) }>")},
                      Doubted{"a Slice in a loop", kPieces, sliced("300", kSliceInLoop), sliced("301", kSliceInLoop)},
                      Doubted{"a loop in a branch that no sample enters", kRow, rarely_looped("Neg"), rarely_looped("Abs")}));

INSTANTIATE_TEST_SUITE_P(
    InnerLimits, TheSame,
    ::testing::Values(
        Doubted{"Max for Relu in a branch", kRow, rarely_entered("q = Relu(x)"), rarely_entered("q = Max(x, z)")},
        Doubted{"Relu of what is positive in a branch", kRow, rarely_entered("w = Sigmoid(x)\n q = Mul(w, h)"),
                rarely_entered("w = Sigmoid(x)\n v = Relu(w)\n q = Mul(v, h)")},
        Doubted{"Min in both loops", kRow, looped("r = Min(s, cap)\n so = Mul(r, h)"), looped("r = Min(cap, s)\n so = Mul(h, r)")},
        Doubted{"Where for Min of a size", kSizes, by_size("y = Min(d, four)"), by_size("c = Less(d, four)\n y = Where(c, d, four)")},
        Doubted{"Where for Where of a size", kSizes, by_size("c = Greater(d, four)\n y = Where(c, four, d)"),
                by_size("c = Less(d, four)\n y = Where(c, d, four)")},
        Doubted{"arithmetic for Where by a size", "(float[N, 4] x) => (float[N, 4] y) ",
                number("k", "2.0") + by_size("c = Less(d, four)\n u = Mul(x, k)\n y = Where(c, x, u)"),
                number("k", "2.0") + number("o", "1.0") +
                    by_size("c = Less(d, four)\n u = Mul(x, k)\n f = Cast<to = 1>(c)\n g = Sub(o, f)\n p = Mul(x, f)\n q = "
                            "Mul(u, g)\n y = Add(p, q)"),
                false, true},
        Doubted{"a size is never below 0", kSizes, by_size("y = Identity(d)"),
                by_size("z = Sub(d, d)\n c = Less(d, z)\n y = Where(c, four, d)")}));

// Numbers that follow from sizes, computed in 16 bits by one model and in 32 by the other.
constexpr const char* kHalfSizes = "(float16[N, 4] x) => (int64[M] y) ";
std::string buckets(int type, const std::string& base, const std::string& counted, const std::string& result) {
  const std::string cast = " = Cast<to = " + std::to_string(type) + ">";
  return "<int64[1] first = {0}, int64 zero = {0}, int64 one = {1}, int64 nine = {9}, float kw = {8}, float lw = {" + base +
         "}> { k = Cast<to = 10>(kw)\n l = Cast<to = 10>(lw)\n s = Shape(x)\n " + counted + "f" + cast + "(r)\n kf" + cast + "(k)\n lf" +
         cast + "(l)\n d = Div(f, kf)\n g = Log(d)\n m = Div(g, lf)\n w = Mul(m, kf)\n t = Cast<to = 7>(w)\n c = Less(r, nine)\n " + result;
}
const std::string kPositions = "n = Gather(s, zero)\n r = Range(zero, n, one)\n ", kSize = "r = Gather(s, first)\n ",
                  kBucket = "y = Where(c, r, t)", kOnes = "v = Where(c, r, t)\n y = ConstantOfShape<value = int64[1] {1}>(v)";

INSTANTIATE_TEST_SUITE_P(
    SizesInHalf, TheSame,
    ::testing::Values(Doubted{"whose steps A's rounding takes", kHalfSizes, buckets(10, "2.7734375", kPositions, kBucket),
                              buckets(1, "2.7734375", kPositions, kBucket), true},
                      Doubted{"whose steps B's rounding takes", kHalfSizes, buckets(1, "2.7734375", kPositions, kBucket),
                              buckets(10, "2.7734375", kPositions, kBucket), true}));

INSTANTIATE_TEST_SUITE_P(SizesInHalf, NotTheSame,
                         ::testing::Values(Doubted{"to another base", kHalfSizes, buckets(10, "2.7734375", kPositions, kBucket),
                                                   buckets(1, "2.5", kPositions, kBucket), true},
                                           Doubted{"that give dims", kHalfSizes, buckets(10, "2.7734375", kSize, kOnes),
                                                   buckets(1, "2.7734375", kSize, kOnes), true}));

// Roundings of B's own sums and constants, and sums of larger numbers than A's.
const std::string kGridSteps = "<float s = {0.1}, uint8 z = {110}, float t = {10.0}, float m = {11.0}> { q = QuantizeLinear(x, s, z)\n ";

INSTANTIATE_TEST_SUITE_P(
    OwnRounding, TheSame,
    ::testing::Values(Doubted{"of a difference of products", kRows, kGridSteps + "y = DequantizeLinear(q, s, z)",
                              kGridSteps + "r = Cast<to = 1>(q)\n i = Reciprocal(t)\n p = Mul(r, i)\n y = Sub(p, m)", false, true},
                      Doubted{
                          "of the logarithm of a sum near 1", "(float[2, 3, 4, 1000] x) => (float[] y) ",
                          number("k", "8.0") + "u = Mul(x, k)\n v = LogSoftmax(u)\n y = ReduceMax<keepdims = 0>(v)",
                          number("k", "8.0") + integers("ax", "3") +
                              "u = Mul(x, k)\n m = ReduceMax<keepdims = 1>(u, ax)\n d = Sub(u, m)\n e = Exp(d)\n s = ReduceSum<keepdims "
                              "= 1>(e, ax)\n l = Log(s)\n v = Sub(d, l)\n y = ReduceMax<keepdims = 0>(v)",
                          false, true}));

INSTANTIATE_TEST_SUITE_P(OwnRounding, NotTheSame,
                         ::testing::Values(Doubted{"of sums of larger numbers", kRows, "y = Neg(x)",
                                                   number("k", "4096.0") + "t = Add(x, k)\n u = Sub(t, k)\n y = Neg(u)"},
                                           Doubted{"that a weight exceeds", kRows, number("k", "0.3") + "m = Mul(x, k)\n y = Tanh(m)",
                                                   number("k", "0.3000003") + "m = Mul(x, k)\n y = Tanh(m)", false, true}));

// Outputs that no input reaches.
constexpr const char* kWithConstant = "(float[N, 8] x) => (float[N, 8] y, float[] m) ";
const std::string kCancelling = "<float[4] c = {1.1, -0.7, 0.3, -0.6667}, float k = {0.008325}> { y = Tanh(x)\n ";

INSTANTIATE_TEST_SUITE_P(WithoutInputs, TheSame,
                         ::testing::Values(Doubted{"a mean of constants", kWithConstant, kCancelling + "m = ReduceMean<keepdims = 0>(c)",
                                                   kCancelling + "m = Identity(k)"}));

INSTANTIATE_TEST_SUITE_P(WithoutInputs, NotTheSame,
                         ::testing::Values(Doubted{"a mean of constants, by an input that no sample makes large", kWithConstant,
                                                   kCancelling + "m = ReduceMean<keepdims = 0>(c)",
                                                   kCancelling + number("far", "10000.0") +
                                                       "z = Sub(y, far)\n r = Relu(z)\n s = ReduceSum<keepdims = 0>(r)\n m = Add(s, k)"}));

// Values that a fold moved, or that one model alone reads.
const std::string kTwoConvs =
    "<float[2, 2, 1, 1] w = {1, 0.5, -0.25, 0.75}, float[1, 2, 1, 1] v = {0.3, -0.7}, float[2, 2, 1, 1] wk = {2, 1, "
    "0.75, -2.25}, float[1, 2, 1, 1] vk = {0.15, -0.35}, float[1, 3, 1, 1] k = {2, -3, 0.5}> { ";

std::string past_zero(const std::string& factor, const std::string& nodes) {
  return "<float[4, 4] w = {1, 0.5, -0.25, 0.75, 0.3, -0.7, 0.6, 0.2, -0.4, 0.9, 0.1, -0.8, 0.45, -0.35, 0.55, 0.65}, float few = {0.001}, "
         "float f = {" +
         factor + "}> { n = Shape<start = 2>(x)\n z = ConstantOfShape(n)\n " + nodes;
}
const std::string kPastZero =
    "p = MatMul(x, w)\n a = Add(p, z)\n t = Transpose<perm = [0, 2, 1]>(a)\n s = Mul(t, f)\n u = Tanh(s)\n q = Mul(u, few)\n v = "
    "Transpose<perm = [0, 2, 1]>(x)\n y = Add(v, q)";
const std::string kPastZeroInHalf =
    "wf = Mul(w, f)\n h = Cast<to = 10>(x)\n k = Cast<to = 10>(wf)\n zh = Cast<to = 10>(z)\n g = Cast<to = 10>(few)\n p = MatMul(h, k)\n a "
    "= Add(p, zh)\n s = Transpose<perm = [0, 2, 1]>(a)\n u = Tanh(s)\n q = Mul(u, g)\n v = Transpose<perm = [0, 2, 1]>(h)\n r = Add(v, "
    "q)\n y = Cast<to = 1>(r)";

INSTANTIATE_TEST_SUITE_P(
    MovedValues, TheSame,
    ::testing::Values(
        Doubted{"of two convolutions in f16", "(float[1, 2, 3, 3] x) => (float[1, 3, 3, 3] y) ",
                kTwoConvs + "a = Conv(x, w)\n b = Conv(x, v)\n c = Concat<axis = 1>(a, b)\n y = Mul(c, k)",
                kTwoConvs + "xh = Cast<to = 10>(x)\n wh = Cast<to = 10>(wk)\n vh = Cast<to = 10>(vk)\n a = Conv(xh, wh)\n b = "
                            "Conv(xh, vh)\n yh = Concat<axis = 1>(a, b)\n y = Cast<to = 1>(yh)",
                true},
        Doubted{"past a sum with 0 in f16", "(float[2, 3, 4] x) => (float[2, 4, 3] y) ", past_zero("0.7", kPastZero),
                past_zero("0.7", kPastZeroInHalf), true},
        Doubted{"of a product that another node reads too", "(float[N, 2] x) => (float[N, 2] y, float[N, 2] z) ",
                "<float[2, 2] v = {1, 0.5, -0.25, 0.75}, float[2, 2] w = {2, -1, 0.5, 4}> { p = MatMul(x, v)\n y = MatMul(p, w)\n "
                "z = Tanh(p)",
                "<float[2, 2] v = {1, 0.5, -0.25, 0.75}, float[2, 2] w = {2.25, 1, -0.125, 3.25}> { p = MatMul(x, v)\n y = "
                "MatMul(x, w)\n z = Tanh(p)"}));

INSTANTIATE_TEST_SUITE_P(MovedValues, NotTheSame,
                         ::testing::Values(Doubted{"past a sum with 0 in f16, another factor", "(float[2, 3, 4] x) => (float[2, 4, 3] y) ",
                                                   past_zero("0.7", kPastZero), past_zero("0.69", kPastZeroInHalf), true}));

// Names of values that differ too little to be told from the other model's.
constexpr const char* kDoubleRows = "(double[N, 4] x) => (double[N, 4] y) ";
const std::string kNearlyOne =
    "<double one = {1}, double few = {0.000000000001}, double less = {0.999999999999}, double other = {0.99999999999}> { e = Exp(x)\n ";

INSTANTIATE_TEST_SUITE_P(NearNames, TheSame,
                         ::testing::Values(Doubted{"of a logarithm", kDoubleRows,
                                                   kNearlyOne + "a = Add(e, one)\n b = Sub(a, few)\n y = Log(b)",
                                                   kNearlyOne + "a = Add(e, less)\n y = Log(a)"}));

INSTANTIATE_TEST_SUITE_P(NearNames, NotTheSame,
                         ::testing::Values(Doubted{"of another logarithm", kDoubleRows,
                                                   kNearlyOne + "a = Add(e, one)\n b = Sub(a, few)\n y = Log(b)",
                                                   kNearlyOne + "a = Add(e, other)\n y = Log(a)"}));

// Branches all of whose numbers follow from sizes, and branches that give two values by nature.
std::string in_then(const std::string& nodes, const std::string& otherwise) {
  return "y = If(c) <then_branch = t () => (p) {" + nodes + "}, else_branch = e () => (q) {" + otherwise + "}>";
}

const std::string kPool = "p = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(f)";

INSTANTIATE_TEST_SUITE_P(
    PlainBranches, TheSame,
    ::testing::Values(Doubted{"of sizes", "(float[N, M] x, bool c) => (int64[2] y) ", in_then("p = Shape(x)", "q = Shape(x)"),
                              in_then("s = Shape(x)\n f = Cast<to = 1>(s)\n p = Cast<to = 7>(f)", "q = Shape(x)")},
                      Doubted{"of conditions as numbers", "(bool[N, 4] x, bool c) => (float[N, 4] y) ",
                              in_then("p = Cast<to = 1>(x)", "q = Cast<to = 1>(x)"),
                              in_then("h = Cast<to = 10>(x)\n p = Cast<to = 1>(h)", "q = Cast<to = 1>(x)")},
                      Doubted{"of conditions that a pool reads", "(bool[N, 2, 8, 8] x, bool c) => (float[N, 2, 8, 8] y) ",
                              in_then("f = Cast<to = 1>(x)\n " + kPool, "q = Cast<to = 1>(x)"),
                              in_then("h = Cast<to = 10>(x)\n f = Cast<to = 1>(h)\n " + kPool, "q = Cast<to = 1>(x)")}));

// Integers that a branch computes in floating-point numbers, with a constant of its own.
constexpr const char* kChosenIntegers = "(int64[N, 8] x, bool c) => (int64[N, 8] y) ";
std::string in_chosen(const std::string& constants, const std::string& nodes) {
  return "<" + constants + "> { " + in_then(nodes, "q = Neg(x)");
}
std::string in_chosen_through(int type, const std::string& constants, const std::string& operation, int back = 7) {
  return in_chosen(constants, "f = Cast<to = " + std::to_string(type) + ">(x)\n r = " + operation +
                                  "(f, k)\n p = Cast<to = " + std::to_string(back) + ">(r)");
}

INSTANTIATE_TEST_SUITE_P(CoarseBranches, NotTheSame,
                         ::testing::Values(Doubted{"of products", kChosenIntegers, in_chosen("int64 k = {1000}", "p = Mul(x, k)"),
                                                   in_chosen_through(1, "float k = {1000}", "Mul")},
                                           Doubted{"of limits", kChosenIntegers, in_chosen("int64 k = {1}", "p = Max(x, k)"),
                                                   in_chosen_through(1, "float k = {1}", "Max")},
                                           Doubted{"of differences in f64", kChosenIntegers, in_chosen("int64 k = {1}", "p = Sub(x, k)"),
                                                   in_chosen_through(11, "double k = {1}", "Sub")}));

INSTANTIATE_TEST_SUITE_P(CoarseBranches, TheSame,
                         ::testing::Values(Doubted{"of 32 bits through f64", "(int32[N, 8] x, bool c) => (int32[N, 8] y) ",
                                                   in_chosen("int32 k = {1}", "p = Max(x, k)"),
                                                   in_chosen_through(11, "double k = {1}", "Max", 6)}));

// A step so large that rounding alone moves its sine anywhere, where no node can be judged by itself.
std::string sine_of(const std::string& steps) {
  return "<float k = {100000}, float[4] f = {1, 0.1, 0.01, 0.001}, int64[1] ax = {1}> { s = Cast<to = 1>(t)\n" +
         in_then(steps + "u = Unsqueeze(m, ax)\n w = Mul(u, f)\n p = Sin(w)", "u = Unsqueeze(s, ax)\n q = Mul(u, f)");
}
constexpr const char* kLargeSteps = "(uint8[N] t, bool c) => (float[N, 4] y) ";

INSTANTIATE_TEST_SUITE_P(
    WideFloors, NotTheSame,
    ::testing::Values(Doubted{"of signs of steps", kLargeSteps, sine_of("m = Mul(s, k)\n"), sine_of("g = Sign(s)\n m = Mul(g, k)\n")},
                      Doubted{"of roots of steps", kLargeSteps, sine_of("m = Mul(s, k)\n"), sine_of("g = Sqrt(s)\n m = Mul(g, k)\n")}));

INSTANTIATE_TEST_SUITE_P(WideFloors, TheSame,
                         ::testing::Values(Doubted{"of the same steps", kLargeSteps, sine_of("m = Mul(s, k)\n"),
                                                   sine_of("g = Abs(s)\n m = Mul(k, g)\n")}));

// What one of two branches lacks, whichever the first sample enters.
constexpr const char* kChosenRows = "(float[N, 8] x, bool c) => (float[N, 8] y) ";
std::string norms_of(const std::string& then, const std::string& otherwise) {
  return "<float e = {1e-6}, int64[1] ax = {-1}> { " +
         in_then("u = Mul(x, x)\n s = ReduceSum<keepdims = 1>(u, ax)\n r = Sqrt(s)\n t = Add(r, e)\n p = Div(x, " + then + ")",
                 "v = Mul(x, x)\n o = ReduceSum<keepdims = 1>(v, ax)\n n = Sqrt(o)\n m = Add(n, e)\n q = Div(x, " + otherwise + ")");
}
std::string limited(const std::string& then, const std::string& otherwise) {
  return "<float k = {0}> { " + in_then(then, otherwise);
}
constexpr const char *kThenLimit = "p = Max(x, k)", *kThenChoice = "g = Greater(x, k)\n p = Where(g, x, k)";
constexpr const char *kElseLimit = "q = Max(x, k)", *kElseChoice = "h = Greater(x, k)\n q = Where(h, x, k)";

INSTANTIATE_TEST_SUITE_P(
    OneOfTwoBranches, NotTheSame,
    ::testing::Values(Doubted{"lost guard of the first", kChosenRows, norms_of("t", "m"), norms_of("r", "m")},
                      Doubted{"lost guard of the second", kChosenRows, norms_of("t", "m"), norms_of("t", "n")},
                      Doubted{"NaN in the first", kChosenRows, limited(kThenLimit, kElseLimit), limited(kThenChoice, kElseLimit)},
                      Doubted{"NaN in the second", kChosenRows, limited(kThenLimit, kElseLimit), limited(kThenLimit, kElseChoice)}));

INSTANTIATE_TEST_SUITE_P(
    OneOfTwoBranches, TheSame,
    ::testing::Values(Doubted{"guards of both", kChosenRows, norms_of("t", "m"), with(norms_of("t", "m"), "Add(r, e)", "Add(e, r)")},
                      Doubted{"limits of both", kChosenRows, limited(kThenLimit, kElseLimit), limited("p = Max(k, x)", "q = Relu(x)")}));

std::string within_itself(const std::string& condition, const std::string& unentered) {
  return "n = Not(c)\n y = If(c) <then_branch = t () => (p) { p = Neg(x) }, else_branch = e () => (q) { q = If(" + condition +
         ") <then_branch = u () => (r) { r = " + unentered + "(x) }, else_branch = v () => (s) { s = Tanh(x) }> }>";
}

INSTANTIATE_TEST_SUITE_P(ContradictedBranches, TheSame,
                         ::testing::Values(Doubted{"of one condition", "(float[N, 4] x, bool c) => (float[N, 4] y) ",
                                                   within_itself("c", "Sin"), within_itself("c", "Cos")}));

INSTANTIATE_TEST_SUITE_P(ContradictedBranches, NotTheSame,
                         ::testing::Values(Doubted{"of its negation", "(float[N, 4] x, bool c) => (float[N, 4] y) ",
                                                   within_itself("n", "Sin"), within_itself("n", "Cos")}));

INSTANTIATE_TEST_SUITE_P(PlainBranches, NotTheSame,
                         ::testing::Values(Doubted{"of other sizes", "(float[N, M] x, bool c) => (int64[2] y) ",
                                                   in_then("p = Shape(x)", "q = Shape(x)"),
                                                   in_then("t = Transpose(x)\n p = Shape(t)", "q = Shape(x)")},
                                           Doubted{"of other conditions as numbers", "(bool[N, 4] x, bool c) => (float[N, 4] y) ",
                                                   in_then("p = Cast<to = 1>(x)", "q = Cast<to = 1>(x)"),
                                                   in_then("n = Not(x)\n p = Cast<to = 1>(n)", "q = Cast<to = 1>(x)")}));

// Integers that a large factor scales, or that are called a mask, and are none.
std::string step_by(const std::string& type, const std::string& nodes) {
  return "<" + type + " one = {1}, float k = {1000}, float few = {0.001}> { " + nodes +
         " f = Cast<to = 1>(m)\n g = Mul(f, k)\n h = Mul(g, few)\n y = Tanh(h)";
}
std::string labels_by(const std::string& nodes) {
  return "<int64 one = {1}, float[6, 4] table = {0.1, 0.2, 0.3, 0.4, 1.1, 1.2, 1.3, 1.4, -1.1, 0.7, 0.5, 2.1, 3.1, -0.3, 0.9, 0.6, 0.8, "
         "2.5, "
         "-2.2, 1.9, 0.05, -0.7, 1.6, 2.8}> { " +
         nodes + " y = Gather(table, m)";
}
constexpr const char *kStepAsIs = "m = Identity(t)\n", *kStepOfOne = "m = Min(t, one)\n";

INSTANTIATE_TEST_SUITE_P(
    NoMasks, NotTheSame,
    ::testing::Values(Doubted{"an int64 step", "(int64[N] t) => (float[N] y) ", step_by("int64", kStepAsIs), step_by("int64", kStepOfOne)},
                      Doubted{"an int32 step", "(int32[N, 1] t) => (float[N, 1] y) ", step_by("int32", kStepAsIs),
                              step_by("int32", kStepOfOne)},
                      Doubted{"a u8 step", "(uint8[N] t) => (float[N] y) ", step_by("uint8", kStepAsIs), step_by("uint8", kStepOfOne)},
                      Doubted{"labels called mask", "(int64[N, 5] mask) => (float[N, 5, 4] y) ", labels_by("m = Identity(mask)\n"),
                              labels_by("m = Min(mask, one)\n")}));

INSTANTIATE_TEST_SUITE_P(
    NoMasks, TheSame,
    ::testing::Values(Doubted{"an int64 step", "(int64[N] t) => (float[N] y) ", step_by("int64", kStepAsIs),
                              step_by("int64", "a = Min(t, one)\n b = Max(t, one)\n c = Add(a, b)\n m = Sub(c, one)\n")},
                      Doubted{"labels called mask", "(int64[N, 5] mask) => (float[N, 5, 4] y) ", labels_by("m = Identity(mask)\n"),
                              labels_by("a = Add(mask, one)\n m = Sub(a, one)\n")}));

// Masks of scores within a branch.
constexpr const char* kMaskedScores = "(float[N, 4, 8] x, bool[N, 1, 8] m, bool c) => (float[N, 4, 8] y) ";
std::string masked_by(const std::string& number) {
  return "<float low = {" + number + "}, float zero = {0}> { " +
         in_then("b = Where(m, zero, low)\n s = Add(x, b)\n p = Softmax<axis = -1>(s)", "q = Softmax<axis = -1>(x)");
}

INSTANTIATE_TEST_SUITE_P(MaskedBranches, TheSame,
                         ::testing::Values(Doubted{"of a lower number", kMaskedScores, masked_by("-1e9"), masked_by("-3e38")},
                                           Doubted{"of a higher number", kMaskedScores, masked_by("-1e9"), masked_by("-65504")}));

INSTANTIATE_TEST_SUITE_P(MaskedBranches, NotTheSame,
                         ::testing::Values(Doubted{"of a common score", kMaskedScores, masked_by("-1e9"), masked_by("-50")},
                                           Doubted{"of no mask", kMaskedScores, masked_by("-1e9"), masked_by("1e9")}));

// Names that an exporter counts: B gives those of A's values to others.
constexpr const char* kCounted = "(float[3, 4, 4] x) => (float[4, 4] y) ";
std::string counted(const std::string& factors, const std::string& names) {
  return "<float[4] kw = {0.3, 0.7, -0.45, 1.1}, float[3] cw = {" + factors +
         "}, int64 zero = {0}, int64 one = {1}, float few = {0.001}> { " + names;
}
const std::string kCountedNodes =
    "m0 = Mul(x, kw)\n t1 = Transpose<perm = [1, 2, 0]>(m0)\n m1 = Mul(t1, cw)\n t2 = Transpose<perm = [2, 0, 1]>(m1)\n g1 = Gather(t2, "
    "zero)\n g2 = Gather(t2, one)\n p = MatMul(g1, g2)\n u = Gather(x, zero)\n r = Mul(p, few)\n y = Add(u, r)";
const std::string kRecountedNodes =
    "h = Cast<to = 10>(x)\n k = Cast<to = 10>(kw)\n c = Cast<to = 10>(cw)\n f = Cast<to = 10>(few)\n m0 = Mul(h, k)\n t0 = Transpose<perm "
    "= [1, 2, 0]>(m0)\n m1 = Mul(t0, c)\n t1 = Transpose<perm = [2, 0, 1]>(m1)\n g0 = Gather(t1, zero)\n g1 = Gather(t1, one)\n p = "
    "MatMul(g0, g1)\n u = Gather(h, zero)\n r = Mul(p, f)\n s = Add(u, r)\n y = Cast<to = 1>(s)";

INSTANTIATE_TEST_SUITE_P(CountedNames, TheSame,
                         ::testing::Values(Doubted{"of other dims in f16", kCounted, counted("1.3, -0.55, 0.85", kCountedNodes),
                                                   counted("1.3, -0.55, 0.85", kRecountedNodes), true}));

INSTANTIATE_TEST_SUITE_P(CountedNames, NotTheSame,
                         ::testing::Values(Doubted{"of other dims in f16, beside another factor", kCounted,
                                                   counted("1.3, -0.55, 0.85", kCountedNodes), counted("1.3, -0.55, 0.9", kRecountedNodes),
                                                   true}));

// Numbers that an integer input selects, of a Softmax that vanishes.
constexpr const char* kNearestClass = "(float[N, 4] x, int64[N, 1] t) => (float[N, 1] y) ";
constexpr const char* kClass = "(float[N, 4] x, int64[N] t) => (float[N] y) ";
const std::string kLoss = "l = LogSoftmax(x)\n y = NegativeLogLikelihoodLoss<reduction = \"none\">(l, t)";

INSTANTIATE_TEST_SUITE_P(
    SelectedNumbers, NotTheSame,
    ::testing::Values(
        Doubted{"GatherElements", kNearestClass, "l = LogSoftmax(x)\n y = GatherElements<axis = 1>(l, t)",
                "s = Softmax(x)\n g = GatherElements<axis = 1>(s, t)\n y = Log(g)"},
        Doubted{"GatherND", "(float[N, 4] x, int64[N, 1] t) => (float[N] y) ", "l = LogSoftmax(x)\n y = GatherND<batch_dims = 1>(l, t)",
                "s = Softmax(x)\n g = GatherND<batch_dims = 1>(s, t)\n y = Log(g)"},
        Doubted{"a loss", kClass, kLoss, "s = Softmax(x)\n l = Log(s)\n y = NegativeLogLikelihoodLoss<reduction = \"none\">(l, t)"},
        Doubted{"a loss of scores", kClass, "y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, t)",
                "s = Softmax(x)\n l = Log(s)\n y = NegativeLogLikelihoodLoss<reduction = \"none\">(l, t)"}));

INSTANTIATE_TEST_SUITE_P(
    SelectedNumbers, TheSame,
    ::testing::Values(Doubted{"a loss by LogSoftmax", kClass, "y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, t)", kLoss},
                      Doubted{"GatherElements first", kNearestClass, "l = LogSoftmax(x)\n y = GatherElements<axis = 1>(l, t)",
                              "m = LogSoftmax(x)\n n = Neg(m)\n g = GatherElements<axis = 1>(n, t)\n y = Neg(g)"},
                      Doubted{"a guard in both", kNearestClass,
                              number("e", "1e-9") + "p = Softmax(x)\n q = Add(p, e)\n l = Log(q)\n y = GatherElements<axis = 1>(l, t)",
                              number("e", "1e-9") + "p = Softmax(x)\n g = GatherElements<axis = 1>(p, t)\n q = Add(e, g)\n y = Log(q)"}));

// Data that B drops, which a maximum hides.
constexpr const char* kTwoParts = "(float[N, 50] x, float[N, 3] z) => (float[N, 1] y) ";
constexpr const char* kJoined = "p = Concat<axis = 1>(x, z)\n";
constexpr const char* kBytes = "(uint8[N, 300] x) => (int32[N, 1] y) ";
const std::string kAllButLast = integers("b", "0") + integers("e", "299") + integers("a", "1") + "s = Slice(x, b, e, a)\n";

INSTANTIATE_TEST_SUITE_P(
    DroppedData, NotTheSame,
    ::testing::Values(Doubted{"an input, of a maximum", kTwoParts, integers("a", "1") + kJoined + "y = ReduceMax(p, a)",
                              integers("a", "1") + "y = ReduceMax(x, a)"},
                      Doubted{"an input, of a minimum", kTwoParts, integers("a", "1") + kJoined + "y = ReduceMin(p, a)",
                              integers("a", "1") + "y = ReduceMin(x, a)"},
                      Doubted{"an end of bytes", kBytes, integers("a", "1") + "c = Cast<to = 6>(x)\n y = ReduceMax(c, a)",
                              kAllButLast + "c = Cast<to = 6>(s)\n y = ReduceMax(c, a)"},
                      Doubted{"an end of bytes, of a minimum", kBytes, integers("a", "1") + "c = Cast<to = 6>(x)\n y = ReduceMin(c, a)",
                              kAllButLast + "c = Cast<to = 6>(s)\n y = ReduceMin(c, a)"}));

INSTANTIATE_TEST_SUITE_P(
    DroppedData, TheSame,
    ::testing::Values(Doubted{"parts in another order", kTwoParts, integers("a", "1") + kJoined + "y = ReduceMax(p, a)",
                              integers("a", "1") + "q = Concat<axis = 1>(z, x)\n y = ReduceMax(q, a)"},
                      Doubted{"the maximum of parts", kTwoParts, integers("a", "1") + kJoined + "y = ReduceMax(p, a)",
                              integers("a", "1") + "m = ReduceMax(x, a)\n n = ReduceMax(z, a)\n y = Max(m, n)"},
                      Doubted{"bytes as floats", kBytes, integers("a", "1") + "c = Cast<to = 6>(x)\n y = ReduceMax(c, a)",
                              integers("a", "1") + "c = Cast<to = 1>(x)\n m = ReduceMax(c, a)\n y = Cast<to = 6>(m)"}));

// Integers that multiply features may be labels.
constexpr const char* kLabelled = "(int64[N, 6, 6] labels, float[N, 3, 6, 6] x) => (float[N, 3, 6, 6] y) ";
const std::string kByLabels = integers("a", "1") + "c = Cast<to = 1>(labels)\n u = Unsqueeze(c, a)\n y = Mul(x, u)";

INSTANTIATE_TEST_SUITE_P(
    FactorsOfFeatures, NotTheSame,
    ::testing::Values(Doubted{"through bool", kLabelled, kByLabels, "d = Cast<to = 9>(labels)\n" + with(kByLabels, "(labels)", "(d)")},
                      Doubted{"a count of a mask", "(int64[N, 4] mask) => (float[N, 1] y) ",
                              integers("a", "1") + "r = ReduceSum(mask, a)\n y = Cast<to = 1>(r)",
                              integers("a", "1") + integers("o", "1") + "m = Min(mask, o)\n r = ReduceSum(m, a)\n y = Cast<to = 1>(r)"}));

INSTANTIATE_TEST_SUITE_P(FactorsOfFeatures, TheSame,
                         ::testing::Values(Doubted{"a Cast after the Unsqueeze", kLabelled, kByLabels,
                                                   integers("a", "1") + "u = Unsqueeze(labels, a)\n c = Cast<to = 1>(u)\n y = Mul(c, x)"}));

// Rows of zeros in a table, which ids select.
std::string table_with_zeros(const std::string& body) {
  std::string rows;
  for (int i = 0; i < 4000; ++i) rows += (i == 0 ? "" : ", ") + (i / 4 == 777 ? std::string("-0") : std::to_string(1 + i % 7));
  return "<float[1000, 4] w = {" + rows +
         "}, int64[1] a = {2}, float e = {1e-12}> { g = Gather(w, ids)\n q = Mul(g, g)\n s = ReduceSum(q, a)\n" + body;
}
constexpr const char* kSelectsRows = "(int64[N, 3] ids) => (float[N, 3, 4] y) ";

INSTANTIATE_TEST_SUITE_P(RowsOfZeros, NotTheSame,
                         ::testing::Values(Doubted{"a norm's guard", kSelectsRows,
                                                   table_with_zeros("t = Add(s, e)\n r = Sqrt(t)\n y = Div(g, r)"),
                                                   table_with_zeros("r = Sqrt(s)\n y = Div(g, r)")}));
INSTANTIATE_TEST_SUITE_P(RowsOfZeros, TheSame,
                         ::testing::Values(Doubted{"a norm's guard first", kSelectsRows,
                                                   table_with_zeros("t = Add(s, e)\n r = Sqrt(t)\n y = Div(g, r)"),
                                                   table_with_zeros("t = Add(e, s)\n r = Sqrt(t)\n y = Div(g, r)")}));

// Guards that the operand never needs.
const std::string kLargestShare = integers("a", "1") + number("e", "1e-12") + "s = Softmax(x)\n m = ReduceMax(s, a)\n";
const std::string kSumOfExp = integers("a", "1") + number("e", "1e-12") + "t = Tanh(x)\n s = Exp(t)\n m = ReduceSum(s, a)\n";

INSTANTIATE_TEST_SUITE_P(NeedlessGuards, TheSame,
                         ::testing::Values(Doubted{"of the largest share", kRows, kLargestShare + "c = Max(m, e)\n y = Div(s, c)",
                                                   kLargestShare + "y = Div(s, m)"},
                                           Doubted{"of a sum of Exp", kRows, kSumOfExp + "c = Max(m, e)\n y = Div(s, c)",
                                                   kSumOfExp + "y = Div(s, m)"}));
INSTANTIATE_TEST_SUITE_P(NeedlessGuards, NotTheSame,
                         ::testing::Values(Doubted{"of the smallest share", kRows,
                                                   with(kLargestShare, "ReduceMax", "ReduceMin") + "c = Max(m, e)\n y = Div(s, c)",
                                                   with(kLargestShare, "ReduceMax", "ReduceMin") + "y = Div(s, m)"},
                                           Doubted{"of a sum of Tanh", kRows,
                                                   with(kSumOfExp, "Exp", "Relu") + "c = Max(m, e)\n y = Div(s, c)",
                                                   with(kSumOfExp, "Exp", "Relu") + "y = Div(s, m)"}));

// Choices by scores of quantized weights: noise moves their scales.
std::string best_of_quantized(const std::string& scale) {
  return "<int8[8, 2] q = {3, 3, -5, -5, 9, 9, 1, 1, -7, -7, 4, 4, 2, 2, -6, -6}, float[2] s = {0.1, " + scale +
         "}> { w = DequantizeLinear<axis = 1>(q, s) p = MatMul(x, w) y = ArgMax<axis = 1>(p) ";
}
constexpr const char* kBest = "(float[N, 8] x) => (int64[N, 1] y) ";

INSTANTIATE_TEST_SUITE_P(TiesOfQuantizedWeights, TheSame,
                         ::testing::Values(Doubted{"a scale beside the other", kBest, best_of_quantized("0.1"),
                                                   best_of_quantized("0.10000001")}));
INSTANTIATE_TEST_SUITE_P(TiesOfQuantizedWeights, NotTheSame,
                         ::testing::Values(Doubted{"a scale further off", kBest, best_of_quantized("0.1"), best_of_quantized("0.101")}));

/// A constant just above the largest number that is subtracted from it.
Doubted headroom_pair(const std::string& what, const std::string& body, const std::string& constant, const std::string& other) {
  return {what, kRows, number("k", constant) + body, number("k", other) + body};
}

INSTANTIATE_TEST_SUITE_P(
    Headroom, NotTheSame,
    ::testing::Values(headroom_pair("over a Sigmoid", "s = Sigmoid(x)\n a = Sub(k, s)\n y = Log(a)", "1.0", "1.0000001"),
                      headroom_pair("over a Softmax, in a sum", "s = Softmax(x)\n n = Neg(s)\n a = Add(n, k)\n y = Reciprocal(a)", "1.0",
                                    "1.0000001"),
                      Doubted{"over one of 100 classes", "(float[N, 100] x) => (float[N, 100] y) ",
                              number("k", "1.0") + number("e", "1e-7") + "s = Softmax(x)\n a = Sub(k, s)\n b = Add(a, e)\n y = Log(b)",
                              number("k", "1.0") + "s = Softmax(x)\n a = Sub(k, s)\n y = Log(a)"},
                      headroom_pair("over a Cos, in a quotient", "s = Cos(x)\n a = Sub(k, s)\n y = Div(s, a)", "1.0", "1.0000001")));

INSTANTIATE_TEST_SUITE_P(
    Headroom, TheSame,
    ::testing::Values(headroom_pair("without an edge", "s = Sigmoid(x)\n a = Sub(k, s)\n y = Tanh(a)", "1.0", "1.0000001"),
                      headroom_pair("far from the edge", "s = Sigmoid(x)\n a = Sub(k, s)\n y = Log(a)", "2.0", "2.0000002"),
                      Doubted{"in another order", kRows, number("k", "1.0000001") + "s = Sigmoid(x)\n a = Sub(k, s)\n y = Log(a)",
                              number("k", "1.0000001") + "s = Sigmoid(x)\n n = Neg(s)\n a = Add(n, k)\n y = Log(a)"}));

/// Two tables that both models hold: which of them a node reads is told by the files alone.
Doubted table_pair(const std::string& what, const std::string& interface, const std::string& body, const std::string& other) {
  std::string first = "0", second = "0";
  for (int i = 1; i < 64; ++i) {
    first += ", " + std::to_string(i % 7);
    second += ", " + std::to_string(i % 7 + (i == 60 ? 1 : 0));
  }
  const std::string tables = "<float[64] u = {" + first + "}, float[64] v = {" + second + "}> {";
  return {what, interface, tables + body, tables + other};
}

/// A table that holds the factor of what is gathered from it, in all rows or in all but one.
Doubted scaled_table(const std::string& what, double factor, double other, const std::string& rows = "t") {
  std::string plain = "1", scaled = std::to_string(factor);
  for (int i = 1; i < 64; ++i) {
    const int number = i % 7 + 1;
    plain += ", " + std::to_string(number);
    scaled += ", " + std::to_string(number * (i == 60 ? other : factor));
  }
  const std::string cast = rows == "t" ? "" : "c = Cast<to = 1>(t)\n";
  return {what, "(int64[N] i) => (float[N] y) ",
          "<" + std::string(rows == "t" ? "float" : "double") + "[64] t = {" + plain + "}> {" + cast + number("k", std::to_string(factor)) +
              "g = Gather(" + rows + ", i)\n y = Mul(g, k)",
          "<" + std::string(rows == "t" ? "float" : "double") + "[64] t = {" + scaled + "}> {" + cast + "y = Gather(" + rows + ", i)"};
}

INSTANTIATE_TEST_SUITE_P(ScaledTables, NotTheSame,
                         ::testing::Values(scaled_table("by a power of two", 4, 5), scaled_table("by another number", 0.3, 0.5),
                                           scaled_table("cast from wider numbers", 0.3, 0.5, "c")));
INSTANTIATE_TEST_SUITE_P(ScaledTables, TheSame,
                         ::testing::Values(Doubted{"no table but a number of parts", "(float[2, 64] x) => (float[2, 5] y) ",
                                                   "<int64[1] k = {5}, int64[1] l = {9}> {" + integers("z", "0") + integers("o", "1") +
                                                       "v, i = TopK(x, k)\n y = Tanh(v)",
                                                   "<int64[1] k = {5}, int64[1] l = {9}> {" + integers("z", "0") + integers("o", "1") +
                                                       "w, i = TopK(x, l)\n v = Slice(w, z, k, o)\n y = Tanh(v)",
                                                   false, true},
                                           scaled_table("by a power of two", 4, 4), scaled_table("by another number", 0.25, 0.25)));

INSTANTIATE_TEST_SUITE_P(OtherTables, NotTheSame,
                         ::testing::Values(table_pair("rows", "(int64[N] i) => (float[N] y) ", "y = Gather(u, i)", "y = Gather(v, i)"),
                                           table_pair("rows of an inner node", "(int64[N] i) => (float[N] y) ",
                                                      "t = Gather(u, i)\n y = Tanh(t)", "t = Gather(v, i)\n y = Tanh(t)"),
                                           table_pair("elements", "(int64[1] i) => (float[1] y) ", "y = GatherElements(u, i)",
                                                      "y = GatherElements(v, i)")));

INSTANTIATE_TEST_SUITE_P(OtherTables, TheSame,
                         ::testing::Values(table_pair("exchanged terms", "(int64[N] i) => (float[N] y) ",
                                                      "s = Gather(u, i)\n t = Gather(v, i)\n y = Add(s, t)",
                                                      "s = Gather(v, i)\n t = Gather(u, i)\n y = Add(s, t)")));

}  // namespace
}  // namespace relayout
