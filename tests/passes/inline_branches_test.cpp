#include <gmock/gmock.h>

#include "relayout/findings.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kPass = "inline-branches";

void expect_unchanged(const TextModel& model) {
  const auto result = run({kPass}, model);
  EXPECT_TRUE(result.bytes == model.bytes()) << to_text(*result.model);
}

const std::string kBranches =
    "<then_branch = t () => (float[2] p) { h = Abs (x)  p = Neg (h) }, else_branch = e () => (float[2] q) { q = Exp (x) }>";

TEST(InlineBranches, OfAConstantCondition) {
  const auto result = expect_rewrite(kPass, "g (float[2] x) => (float[2] y) <bool k = {1}> { y = If (k) " + kBranches + " }",
                                     "g (float[2] x) => (float[2] y) { h = Abs (x)  y = Neg (h) }");
  EXPECT_NE(result.model->graph().find("h"), nullptr) << "names stay";
  expect_rewrite(kPass, "g (float[2] x) => (float[2] y) <bool k = {1}> { c = Not (k)  y = If (c) " + kBranches + " }",
                 "g (float[2] x) => (float[2] y) { y = Exp (x) }");
  expect_unchanged("g (float[2] x, bool k) => (float[2] y) { y = If (k) " + kBranches + " }");
  expect_unchanged("g (float[2] x, bool k) => (float[2] y) <bool k = {1}> { y = If (k) " + kBranches + " }");
}

TEST(InlineBranches, OneWithinAnotherAndItsConstants) {
  expect_rewrite(kPass,
                 "g (float[2] x) => (float[2] y) <bool k = {1}, bool n = {0}> { y = If (k) <then_branch = t () => (float[2] p) <float w = "
                 "{2}> { a = Mul (x, w)  p = If (n) <then_branch = u () => (float[2] r) { r = Abs (a) }, else_branch = v () => (float[2] "
                 "s) { s = Neg (a) }> }, else_branch = e () => (float[2] q) { q = Exp (x) }> }",
                 "g (float[2] x) => (float[2] y) <float w = {2}> { a = Mul (x, w)  y = Neg (a) }");
  // The outer one stays.
  expect_rewrite(kPass,
                 "g (float[2] x, bool k) => (float[2] y) <bool n = {0}> { y = If (k) <then_branch = t () => (float[2] p) { a = Abs (x)  p "
                 "= If (n) <then_branch = u () => (float[2] r) { r = Abs (a) }, else_branch = v () => (float[2] s) { s = Neg (a) }> }, "
                 "else_branch = e () => (float[2] q) { q = Exp (x) }> }",
                 "g (float[2] x, bool k) => (float[2] y) { y = If (k) <then_branch = t () => (float[2] p) { a = Abs (x)  p = Neg (a) }, "
                 "else_branch = e () => (float[2] q) { q = Exp (x) }> }");
}

TEST(InlineBranches, ValuesThatNoNodeOfTheGraphMakes) {
  expect_rewrite(kPass,
                 "g (float[2] x) => (float[2] y, float[2] z) <bool k = {1}> { y, z = If (k) <then_branch = t () => (float[2] p, float[2] "
                 "w) <float[2] w = {2, 3}> { p = Abs (x) }, else_branch = e () => (float[2] q, float[2] r) { q = Exp (x)  r = Neg (x) }> }",
                 "g (float[2] x) => (float[2] y, float[2] z) <float[2] w = {2, 3}> { y = Abs (x)  z = Identity (w) }");
}

/// Both graphs and another value use one name, as exporters write them.
TEST(InlineBranches, NamesOfSeveralGraphs) {
  const auto result =
      run({kPass},
          "g (float[2] x, bool c) => (float[2] y, float[2] z) <bool k = {1}> { y = If (k) <then_branch = t () => (float[2] p) { h = Abs "
          "(x)  p = Neg (h) }, else_branch = e () => (float[2] p) { h = Exp (x)  p = Abs (h) }>  z = If (c) <then_branch = u () => "
          "(float[2] p) { h = Sqrt (x)  p = Neg (h) }, else_branch = v () => (float[2] p) { p = Exp (x) }> }");
  EXPECT_EQ(result.count("If"), 1);
  EXPECT_EQ(result.count("Abs"), 1);
}

TEST(InlineBranches, ExcludedAndInFunctions) {
  PassOptions options;
  options.exclude = {"y"};
  const auto result = run({kPass}, "g (float[2] x) => (float[2] y) <bool k = {1}> { y = If (k) " + kBranches + " }", options);
  EXPECT_THAT(result.reasons(), testing::ElementsAre(Reason::excluded));
  expect_unchanged(
      TextModel("g (float[2] x) => (float[2] y) { y = local.f (x) } <opset_import: [\"\" : 17], domain: \"local\"> "
                "f (x) => (y) { k = Constant <value = bool {1}> ()  y = If (k) " +
                    kBranches + " }",
                R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)"));
}

// Ranks that later nodes refuse. LSTM: X has three dims, and Squeeze, Unsqueeze and Conv have their axes.

const std::string kWeights = "<float[1,8,3] w, float[1,8,2] r, int64[1] o = {0}> ";
const std::string kEither =
    "a = If (c) <then_branch = t () => (p) { p = Unsqueeze (x, o) }, else_branch = e () => (q) { q = Identity (x) }>  ";

TEST(InlineBranches, OfAnotherRankThanIsRead) {
  const std::string before = "g (float[5,N,3] x, bool c) => (y) " + kWeights + "{ ";
  const auto count = [](const std::string& text) { return run({kPass}, text).count("If"); };
  EXPECT_EQ(count(before + kEither + "y, h, s = LSTM <hidden_size = 2> (a, w, r) }"), 0);
  EXPECT_EQ(run({kPass}, before + kEither + "y, h, s = LSTM <hidden_size = 2> (a, w, r) }").count("Identity"), 1);
  EXPECT_EQ(count(before + kEither + "n = Neg (a)  y, h, s = LSTM <hidden_size = 2> (n, w, r) }"), 0);
  EXPECT_EQ(run({kPass}, before + kEither + "n = Squeeze (a, o)  y, h, s = LSTM <hidden_size = 2> (n, w, r) }").count("Unsqueeze"), 1);
  // Another If of the same condition is decided with it.
  EXPECT_EQ(
      count(before + kEither +
            "d = Cast <to = 9> (c)  b = If (d) <then_branch = u () => (i) { i = Neg (x) }, else_branch = v () => (j) { j = Exp (x) }> "
            " s = Add (b, b)  k, h, l = LSTM <hidden_size = 2> (a, w, r)  y = Add (h, s) }"),
      0);
}

TEST(InlineBranches, OfARankThatMayBeRead) {
  const auto count = [](const std::string& text) { return run({kPass}, text).count("If"); };
  const std::string before = "g (float[5,N,3] x, bool c) => (y) " + kWeights + "{ ";
  EXPECT_EQ(count(before + kEither + "y = Neg (a) }"), 1);
  EXPECT_EQ(count(before + kEither + "y = Squeeze (a, o) }"), 1);
  // Nothing needs the LSTM, or it does not always run.
  EXPECT_EQ(count(before + kEither + "y = Neg (a)  z, h, s = LSTM <hidden_size = 2> (a, w, r) }"), 1);
  EXPECT_EQ(count("g (float[5,N,3] x, bool c, bool d) => (y) " + kWeights + "{ " + kEither +
                  "y = If (d) <then_branch = u () => (i) { j, i, s = LSTM <hidden_size = 2> (a, w, r) }, else_branch = v () => (k) { k = "
                  "Neg (a) }> }"),
            2);
  // The rank of the operand is not known.
  EXPECT_EQ(count("g (x, bool c) => (y) " + kWeights + "{ " + kEither + "y, h, s = LSTM <hidden_size = 2> (a, w, r) }"), 1);
  // Neither graph gives what is read.
  EXPECT_EQ(count("g (float[5,3] x, bool c) => (y) " + kWeights + "{ " + kEither +
                  "n = Squeeze (a, o)  y, h, s = LSTM <hidden_size = 2> (n, w, r) }"),
            1);
}

}  // namespace
}  // namespace relayout::test
