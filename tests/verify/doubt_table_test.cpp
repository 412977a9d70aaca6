// Tests the table of doubts: a pair that each rule alone doubts, a near miss that stays the same, and rules asked in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <random>

#include "relayout/model.h"
#include "relayout/verify.h"
#include "verified.h"
#include "verify/compare_models.h"
#include "verify/doubts/doubts.h"
#include "verify/inputs/port.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file

/// Text models: the interface of both, two bodies that the rule doubts, and a body that is the same as the first.
struct Row {
  std::string rule, interface, a, b, near;
  std::set<std::string> also = {};  ///< rules that doubt the same difference for a reason of their own
};
void PrintTo(const Row& row, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << row.rule;
}

constexpr const char* kRows = "(float[N, 8] x) => (float[N, 8] y) ";

std::string number(const std::string& name, const std::string& value) {
  return name + " = Constant<value_float = " + value + ">()\n";
}
std::string integers(const std::string& name, const std::string& values) {
  return name + " = Constant<value_ints = [" + values + "]>()\n";
}
/// Passes numbers on if their sum is too large for any sample, else their magnitudes.
std::string branching(const std::string& op_type) {
  return number("big", "1e30") +
         "p = MatMul(x, w)\n m = ReduceSum<keepdims = 0>(p)\n c = Greater(m, big)\n y = If (c) <then_branch = t () "
         "=> (float[N, 8] s) { s = " +
         op_type + "(x) }, else_branch = e () => (float[N, 8] r) { r = Abs(x) }>";
}
/// A branch that adds a number in front of a Sigmoid, whose end that reaches in all samples.
std::string saturated(const std::string& shift, const std::string& sum) {
  return number("k", shift) + "y = If (c) <then_branch = t () => (float[N, 8] s) { b = " + sum +
         "\n g = Sigmoid(b)\n s = Add(g, x) }, else_branch = e () => (float[N, 8] r) { r = Abs(x) }>";
}
/// A branch for one number of an input, which divides by a norm.
std::string selected(const std::string& quotient) {
  return "<int64 one = {1}, float e = {1e-6}, int64[1] ax = {-1}> { c = Equal(sel, one)\n y = If(c) <then_branch = a () => (float[N, 8] p) "
         "{ u = "
         "Mul(x, x)\n s = ReduceSum<keepdims = 1>(u, ax)\n r = Sqrt(s)\n t = Add(r, e)\n " +
         quotient + " }, else_branch = b () => (float[N, 8] o) { o = Neg(x) }>";
}
/// A Reshape of rows whose length is 8, though the file does not say so.
std::string reshaped(const std::string& target) {
  return number("zero", "0.0") + integers("eight", "8") + integers("s", target) +
         "m = ReduceMax<keepdims = 0>(x)\n z = Mul(m, zero)\n i = Cast<to = 7>(z)\n n = Add(i, eight)\n v = Expand(zero, n)\n u = Add(x, "
         "v)\n r = "
         "Reshape(u, s)\n y = Neg(r)";
}
std::string normalized(const std::string& epsilon) {
  return "<float[8] s = {1, 1, 1, 1, 1, 1, 1, 1}> { y = LayerNormalization" + epsilon + "(x, s)";
}
const std::string kDefaults = "<float[4] k = {1, 2, 3, 4}, float[4] c = {1, 2, 3, 4}> { ";

const std::vector<Row>& rows() {
  static const std::vector<Row> kAll{
      {"hidden-constant",
       kRows,
       number("k", "1e6") + "y = Min(x, k)",
       number("k", "2e6") + "y = Min(x, k)",
       number("k", "1e6") + "y = Min(k, x)",
       {"rule-not-tried"}},
      {"values-not-reached",
       kRows,
       number("k", "1000.0") + "m = Add(x, k)\n r = Relu(m)\n y = Sub(r, k)",
       number("k", "1000.0") + "m = Add(x, k)\n y = Sub(m, k)",
       number("k", "1000.0") + "m = Add(x, k)\n r = Relu(m)\n q = Relu(r)\n y = Sub(q, k)",
       {"rule-not-tried"}},
      {"edge-values", "(float[N, 8] x) => (int64[N, 1] y) ", "y = ArgMax<axis = 1, select_last_index = 0>(x)",
       "y = ArgMax<axis = 1, select_last_index = 1>(x)", "y = ArgMax<axis = 1>(x)"},
      {"one-sign", "(float[N, 2, H, W] x) => (float[N, 2, 1, 1] y) ", "r = Relu(x)\n y = GlobalMaxPool(r)", "y = GlobalMaxPool(x)",
       "r = Relu(x)\n q = Relu(r)\n y = GlobalMaxPool(q)"},
      {"rounding-ties", kRows, number("s", "0.37") + "m = Div(x, s)\n y = Round(m)",
       number("s", "0.37") + number("h", "0.5") + "m = Div(x, s)\n a = Sub(m, h)\n y = Ceil(a)",
       number("s", "-0.37") + "n = Div(x, s)\n r = Round(n)\n y = Neg(r)"},
      {"unentered-graph",
       "(float[N, 8] x, float[8, 8] w) => (float[N, 8] y) ",
       branching("Neg"),
       branching("Exp"),
       branching("Neg") + "\n dead = Exp(x)",
       {"rule-not-tried", "graph-alone"}},
      {"hidden-in-graph",
       "(float[N, 8] x, bool c) => (float[N, 8] y) ",
       saturated("-60.0", "Add(x, k)"),
       saturated("-60.5", "Add(x, k)"),
       saturated("-60.0", "Add(k, x)"),
       {"hidden-constant", "graph-alone"}},
      {"hidden-by-maximum", "(float[N, 600] x) => (float[N, 1] y) ", integers("a", "1") + "y = ReduceMax(x, a)",
       integers("b", "0") + integers("e", "599") + integers("a", "1") + "s = Slice(x, b, e, a)\n y = ReduceMax(s, a)",
       integers("a", "1") + "c = Concat<axis = 1>(x, x)\n y = ReduceMax(c, a)"},
      {"labels-in-mask", "(int64[N, 6] labels, float[N, 6] x) => (float[N, 6] y) ", "c = Cast<to = 1>(labels)\n y = Mul(x, c)",
       "b = Cast<to = 9>(labels)\n c = Cast<to = 1>(b)\n y = Mul(x, c)", "c = Cast<to = 1>(labels)\n y = Mul(c, x)"},
      {"graph-alone", "(float[N, 8] x, int64 sel) => (float[N, 8] y) ", selected("p = Div(x, t)"), selected("p = Div(x, r)"),
       selected("n = Neg(x)\n q = Neg(n)\n p = Div(q, t)")},
      {"other-comparison", "(int64[N, 8] x, int64[8, 8] w) => (bool[N, 8] y) ",
       integers("k", "123456789") + "p = MatMul(x, w)\n y = Greater(p, k)",
       integers("k", "123456789") + "p = MatMul(x, w)\n y = GreaterOrEqual(p, k)",
       integers("k", "123456789") + "p = MatMul(x, w)\n y = Less(k, p)"},
      {"replaceable-input", "(float[N, 4] x, float[4] k) => (float[N, 4] y) ", kDefaults + "y = Mul(x, k)", kDefaults + "y = Mul(x, c)",
       kDefaults + "y = Mul(k, x)"},
      {"unread-attribute",
       kRows,
       normalized("<epsilon = 0.00001>"),
       normalized("<epsilon = 0.0000100001>"),
       normalized(""),
       {"hidden-constant", "guard-changed"}},
      {"one-size-only", "(float[N, seq] x) => (float[R, S] y) ", reshaped("-1, 8"), reshaped("0, -1"),
       reshaped("-1, 8") + "\n dead = Exp(x)"},
      {"other-sizes", "(float[1, S] x) => (float[1, T] y) ",
       integers("b", "0") + integers("e", "512") + integers("ax", "1") + "y = Slice(x, b, e, ax)", "y = Identity(x)",
       integers("b", "0") + integers("e", "512") + integers("ax", "1") + "i = Identity(x)\n y = Slice(i, b, e, ax)"},
      {"cast-beyond-type", "(float[N, 8] x) => (uint8[N, 8] y) ",
       number("k", "100.0") + number("l", "0.0") + number("h", "255.0") + "m = Mul(x, k)\n c = Clip(m, l, h)\n y = Cast<to = 2>(c)",
       number("k", "100.0") + "m = Mul(x, k)\n y = Cast<to = 2>(m)",
       number("k", "100.0") + number("l", "0.0") + number("h", "255.0") +
           "m = Mul(x, k)\n r = Relu(m)\n c = Min(r, h)\n y = Cast<to = 2>(c)"},
      {"rule-not-tried", kRows, "y = Softplus(x)", number("o", "1.0") + "e = Exp(x)\n t = Add(e, o)\n y = Log(t)",
       "s = Softplus(x)\n y = Identity(s)"},
      {"rule-not-tried", "(float[N, 4] x, int64[N, 1] chosen) => (float[N, 1] y) ",
       number("k", "500.0") + "a = Add(x, k)\n r = Relu(a)\n y = GatherElements<axis = 1>(r, chosen)",
       number("k", "500.0") + "a = Add(x, k)\n y = GatherElements<axis = 1>(a, chosen)",
       number("k", "500.0") + number("z", "0.0") + "a = Add(x, k)\n r = Max(a, z)\n y = GatherElements<axis = 1>(r, chosen)"},
      {"undefined-order", "(float[2, 64] x) => (float[2, 9] y) ", integers("k", "9") + "y, i = TopK<sorted = 1>(x, k)",
       integers("k", "9") + "y, i = TopK<sorted = 0>(x, k)", integers("k", "9") + "y, i = TopK(x, k)"},
      {"formula-overflow", kRows, "y = Identity(x)", number("k", "1e37") + number("l", "1e-37") + "t = Mul(x, k)\n y = Mul(t, l)",
       number("k", "4096.0") + "t = Mul(x, k)\n y = Div(t, k)"},
      {"formula-overflow", "(float[N, 8] x, float[N, 8] z) => (float[N, 8] y) ", number("k", "1e37") + "t = Mul(x, k)\n y = Mul(t, z)",
       number("k", "1e37") + "t = Mul(x, z)\n y = Mul(t, k)", number("k", "1e37") + "t = Mul(k, x)\n y = Mul(z, t)"},
      {"cast-grain", "(int64[N, 8] x) => (int64[N, 8] y) ", "y = Identity(x)", "f = Cast<to = 1>(x)\n y = Cast<to = 7>(f)",
       "f = Cast<to = 7>(x)\n y = Identity(f)"},
      {"hidden-by-choice", kRows, number("k", "10.0") + number("d", "0.0001") + "m = Add(x, k)\n n = Add(m, d)\n y = Round(n)",
       number("k", "10.0") + "m = Add(x, k)\n y = Round(m)",
       number("k", "5.0") + number("d", "5.0001") + "m = Add(x, k)\n n = Add(m, d)\n y = Round(n)"},
      {"guard-changed", "(float[N, 1] v, float[N, 8] x) => (float[N, 8] y) ",
       number("e", "1e-6") + "t = Add(v, e)\n q = Sqrt(t)\n r = Reciprocal(q)\n y = Mul(x, r)",
       number("e", "1.1e-6") + "t = Add(v, e)\n q = Sqrt(t)\n r = Reciprocal(q)\n y = Mul(x, r)",
       number("e", "1e-6") + "t = Add(e, v)\n q = Sqrt(t)\n r = Reciprocal(q)\n y = Mul(r, x)"},
      {"guard-lost",
       kRows,
       number("e", "1e-9") + "p = Abs(x)\n t = Add(p, e)\n y = Log(t)",
       "p = Abs(x)\n y = Log(p)",
       number("e", "1e-9") + "p = Abs(x)\n t = Add(e, p)\n y = Log(t)",
       {"guard-changed"}},
      {"shows-nothing", kRows, number("z", "0.0") + "t = Sin(x)\n q = Mul(t, t)\n y = Mul(q, z)",
       number("z", "0.0") + "t = Cos(x)\n q = Exp(t)\n y = Mul(q, z)",
       number("z", "0.0") + "u = Identity(x)\n t = Sin(u)\n q = Mul(t, t)\n y = Mul(q, z)"}};
  return kAll;
}

/// Names of rules that other tests of this room raise, with models too large for the table: they need 16 bits or rounding at work.
const std::set<std::string_view> kElsewhere{"hidden-by-rounding", "diluted-constant", "ill-conditioned", "wide-floor"};

Side side(const std::filesystem::path& path) {
  Side out;
  out.name = path.string();
  out.model = Model::load(path, {});
  out.outputs = output_ports(out.model->graph());
  return out;
}

VerifyResult judged(const Row& row, const std::string& b, std::span<const Rule> rules = all_rules()) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  const auto write = [&](const std::string& name, const std::string& body) {
    return folder.write(
        name, "<ir_version: 9, opset_import: [\"\" : 18]>\ng " + row.interface + (body.front() == '<' ? "" : "{ ") + body + " }\n");
  };
  return compare_models(side(write("a.onnxtxt", row.a)), side(write("b.onnxtxt", b)), options, open_session, rules);
}

class DoubtTable : public ::testing::TestWithParam<Row> {};

TEST_P(DoubtTable, ItsRuleDoubts) {
  const VerifyResult result = judged(GetParam(), GetParam().b);
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  std::set<std::string> names;
  for (const Doubt& doubt : result.doubts) names.insert(doubt.name);
  std::set<std::string> expected = GetParam().also;
  expected.insert(GetParam().rule);
  EXPECT_EQ(names, expected) << summary(result);
}

TEST_P(DoubtTable, ANearMissIsTheSame) {
  const VerifyResult result = judged(GetParam(), GetParam().near);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_TRUE(result.doubts.empty());
}

INSTANTIATE_TEST_SUITE_P(Doubts, DoubtTable, ::testing::ValuesIn(rows()));

TEST(DoubtRules, HasARowForEveryRule) {
  const std::vector<std::string_view> names = doubt_names();
  for (const Rule& rule : all_rules()) {
    if (std::ranges::find(names, rule.name) == names.end() || kElsewhere.contains(rule.name)) continue;
    EXPECT_NE(std::ranges::find(rows(), rule.name, &Row::rule), rows().end()) << rule.name;
  }
}

TEST(DoubtRules, TheOrderOfRulesChangesNoVerdict) {
  std::mt19937 random(7);
  std::vector<Rule> rules(all_rules().begin(), all_rules().end());
  for (int round = 0; round < 50; ++round) {
    std::ranges::shuffle(rules, random);
    const Row& row = rows()[static_cast<std::size_t>(round) % rows().size()];
    const VerifyResult result = judged(row, row.b, rules);
    EXPECT_EQ(result.outcome, Outcome::inconclusive) << row.rule << ", round " << round << "\n" << summary(result);
    EXPECT_EQ(judged(row, row.near, rules).outcome, Outcome::same) << row.rule << ", round " << round;
  }
}

}  // namespace
}  // namespace relayout
