// Tests that samples hold the numbers at which models decide: words carried back to inputs, pairs that only such numbers tell apart, and
// right pairs beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "relayout/model.h"
#include "relayout/verify.h"
#include "verified.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/roles.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

std::string whole(const std::string& graph) {
  return graph.find("opset_import") != std::string::npos ? graph : "<ir_version: 9, opset_import: [\"\" : 18]>\ng " + graph + "\n";
}

std::vector<double> words_of(const std::string& graph) {
  const auto model = Model::from_text(whole(graph));
  return vocabulary_of(*model->graph().inputs()[0]);
}

VerifyResult compared(const std::string& a, const std::string& b) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  return verify(folder.write("a.onnxtxt", whole(a)), folder.write("b.onnxtxt", whole(b)), options);
}

TEST(Vocabulary, NumbersAreCarriedBackThroughArithmetic) {
  const std::string integers = "(int64[N, 6] x) => (bool[N, 6] y) <int64 k = {4998}, int64 two = {2}, int64[1] at = {1}> ";
  EXPECT_THAT(words_of(integers + "{ y = Equal(x, k) }"), IsSupersetOf({4998.0}));
  EXPECT_THAT(words_of(integers + "{ a = Add(x, two) y = Equal(a, k) }"), IsSupersetOf({4996.0}));
  EXPECT_THAT(words_of(integers + "{ a = Sub(two, x) y = Equal(k, a) }"), IsSupersetOf({-4996.0}));
  EXPECT_THAT(words_of(integers + "{ a = Mul(x, two) y = Greater(a, k) }"), IsSupersetOf({2499.0, 2500.0, 2498.0}));
  EXPECT_THAT(words_of(integers + "{ a = Div(x, two) y = Less(a, k) }"), IsSupersetOf({9996.0, 9998.0, 9994.0}));
  EXPECT_THAT(words_of(integers + "{ a = Neg(x) b = Abs(a) y = Equal(b, k) }"), IsSupersetOf({4998.0, -4998.0}));
  EXPECT_THAT(words_of(integers + "{ a = Mod(x, k) y = Equal(a, two) }"), IsSupersetOf({2.0, 5000.0, 4998.0}));
  EXPECT_THAT(words_of(integers + "{ a = Min(x, two) b = Unsqueeze(a, at) c = Gather<axis = 2>(b, two) y = Equal(c, k) }"),
              IsSupersetOf({4998.0}));
  EXPECT_THAT(
      words_of(integers + "{ a = Cast<to = 1>(x) h = Constant<value_float = 0.5>() b = Mul(a, h) c = Cast<to = 7>(b) y = Equal(c, k) }"),
      IsSupersetOf({9996.0}));
  EXPECT_THAT(words_of(integers + "{ y = Cast<to = 9>(x) }"), IsSupersetOf({0.0, 1.0}));
  EXPECT_THAT(words_of(integers + "{ s = Shape(x) y = Equal(s, k) }"), ::testing::IsEmpty());
}

TEST(Vocabulary, FloatsAreEqualAfterRounding) {
  // 0.1 is no binary fraction: only some neighbours of 50 give 5 when multiplied by it in f32.
  const std::string graph =
      "(float[N, 6] x) => (bool[N, 6] y) <float k = {4.99}, float tenth = {0.1}> { a = Mul(x, tenth) y = Equal(a, k) }";
  const std::vector<double> words = words_of(graph);
  ASSERT_FALSE(words.empty());
  EXPECT_EQ(static_cast<float>(words.front()) * 0.1F, 4.99F);
  EXPECT_THAT(words_of("(float[N] x) => (bool[N] y) <float k = {1000}> { y = GreaterOrEqual(x, k) }"),
              IsSupersetOf({1000.0, 1125.0, 875.0}));
  EXPECT_THAT(words_of("(double[N] x) => (bool[N] y) <double k = {0.25}> { s = Sqrt(x) y = Equal(s, k) }"), IsSupersetOf({0.0625}));
}

TEST(Vocabulary, BranchesLoopsAndFunctionsAreEntered) {
  const std::string branch = R"((int64 x, bool c) => (bool y) <int64 k = {7000}, int64 one = {1}> { a = Add(x, one)
    y = If (c) <then_branch = p () => (bool u) { u = Equal(a, k) }, else_branch = q () => (bool v) { v = Less(a, one) }> })";
  EXPECT_THAT(words_of(branch), IsSupersetOf({6999.0, 0.0}));
  const std::string result = R"((int64 x, bool c) => (bool y) <int64 k = {7000}> {
    a = If (c) <then_branch = p () => (int64 u) { u = Neg(x) }, else_branch = q () => (int64 v) { v = Identity(x) }>  y = Equal(a, k) })";
  EXPECT_THAT(words_of(result), IsSupersetOf({-7000.0}));
  const std::string loop = R"((int64 x) => (bool y) <int64 n = {3}, bool go = {1}, bool no = {0}, int64 k = {7000}> {
    l, y = Loop (n, go, x, no) <body = b (int64 i, bool d, int64 s, bool t) => (bool e, int64 r, bool f) {
      e = Identity(d)  r = Identity(s)  f = Equal(s, k) }> })";
  EXPECT_THAT(words_of(loop), IsSupersetOf({7000.0}));
  const std::string function = R"(<ir_version: 9, opset_import: ["" : 18, "own" : 1]>
    g (int64[N] x) => (bool[N] y) <int64 k = {7000}, int64 three = {3}> { a = own.Shifted(x, three)  y = own.Tested(a, k) }
    <domain: "own", opset_import: ["" : 18]> Shifted (v, by) => (w) { w = Add(v, by) }
    <domain: "own", opset_import: ["" : 18]> Tested (v, with) => (w) { w = Equal(v, with) })";
  EXPECT_THAT(words_of(function), IsSupersetOf({6997.0}));
}

TEST(Vocabulary, SamplesHoldEachWordAndOthers) {
  const auto one =
      Model::from_text(whole(R"((int64 x) => (bool y, bool z) <int64 k = {16000}, int64 j = {8000}> { y = Equal(x, k) z = Equal(x, j) })"));
  const InputMaker scalar(one->graph(), {});
  EXPECT_EQ(scalar.samples_for_words(), 3);
  std::vector<int64_t> seen;
  for (int sample = 0; sample < 4; ++sample)
    seen.push_back(scalar.make(scalar.dims().assign({sample, 4}), sample).at("x").tensor.data<int64_t>()[0]);
  EXPECT_EQ(seen[0], 16000);
  EXPECT_EQ(seen[2], 8000);
  EXPECT_LE(seen[1], 1000);
  // Each place of an input holds the word in some sample, and no row is full of it.
  const auto row = Model::from_text(whole("(int64[2, 4] x) => (bool[2, 4] y) <int64 k = {4998}> { y = Equal(x, k) }"));
  const InputMaker rows(row->graph(), {});
  std::vector<int> counts(8, 0);
  for (int sample = 0; sample < 4; ++sample) {
    const Tensor made = rows.make(rows.dims().assign({sample, 4}), sample).at("x").tensor;
    int in_row = 0;
    for (int i = 0; i < 8; ++i) {
      const bool is_word = made.data<int64_t>()[i] == 4998;
      in_row = i % 4 == 0 ? 0 : in_row;
      in_row += int{is_word};
      counts[static_cast<std::size_t>(i)] += int{is_word};
      EXPECT_LT(in_row, 4);
    }
  }
  EXPECT_THAT(counts, ::testing::Each(::testing::Ge(1)));
}

struct Decision {
  std::string what;
  std::string interface;  ///< of all graphs, with constants
  std::string a;          ///< body
  std::string wrong;      ///< a body that differs at the numbers at which `a` decides
  std::string right;      ///< another spelling of `a`
};
void PrintTo(const Decision& decision, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << decision.what;
}

class Decisions : public ::testing::TestWithParam<Decision> {};

TEST_P(Decisions, AreTriedByBothModelsNumbers) {
  const auto& [what, interface, a, wrong, right] = GetParam();
  const VerifyResult there = compared(interface + a, interface + wrong), back = compared(interface + wrong, interface + a);
  EXPECT_EQ(there.outcome, Outcome::different) << summary(there);
  EXPECT_EQ(back.outcome, Outcome::different) << summary(back);
  const VerifyResult fits = compared(interface + a, interface + right);
  EXPECT_EQ(fits.outcome, Outcome::same) << summary(fits);
}

/// Two branches that compute `then` and `other` from x, taken by a condition c.
std::string branches(const std::string& then, const std::string& other) {
  return "y = If (c) <then_branch = p () => (float[N, 4] u) { u = " + then + "(x) }, else_branch = q () => (float[N, 4] v) { v = " + other +
         "(x) }> }";
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Decisions,
    ::testing::Values(
        Decision{"the search for the end of a text",
                 "(int64[N, 6] x) => (int64[N, 1] y) <int64 k = {4998}, int64 one = {1}, int64 zero = {0}> ",
                 "{ e = Equal(x, k) c = Cast<to = 6>(e) y = ArgMax<axis = 1, keepdims = 1>(c) }",
                 "{ m = Min(x, one) e = Equal(m, k) c = Cast<to = 6>(e) y = ArgMax<axis = 1, keepdims = 1>(c) }",
                 "{ m = Sub(x, k) e = Equal(m, zero) c = Cast<to = 6>(e) y = ArgMax<axis = 1, keepdims = 1>(c) }"},
        Decision{"a rate", "(float[N, 4] x, int64 sr) => (float[N, 4] y) <int64 k = {16000}, int64 zero = {0}> ",
                 "{ c = Equal(sr, k) " + branches("Tanh", "Sin"), "{ c = Equal(sr, k) " + branches("Sigmoid", "Sin"),
                 "{ d = Sub(sr, k) c = Equal(d, zero) " + branches("Tanh", "Sin")},
        Decision{"a rate as a float", "(float[N, 4] x, float sr) => (float[N, 4] y) <float k = {16}, float t = {1000}, float l = {16000}> ",
                 "{ r = Div(sr, t) c = Equal(r, k) " + branches("Tanh", "Sin"),
                 "{ r = Div(sr, t) c = Equal(r, k) " + branches("Tanh", "Cos"), "{ c = Equal(sr, l) " + branches("Tanh", "Sin")},
        Decision{"a limit that usual numbers stay below",
                 "(float[N, 4] x) => (float[N, 4] y) <float k = {1000}, float z = {0}, float n = {-1000}> ",
                 "{ c = Greater(x, k) y = Where(c, z, x) }", "{ y = Identity(x) }", "{ m = Neg(x) c = Less(m, n) y = Where(c, z, x) }"},
        Decision{"the number of a limit itself", "(int32[N, 4] x) => (float[N, 4] y) <int32 k = {-70000}, int32 l = {-70001}> ",
                 "{ c = GreaterOrEqual(x, k) y = Cast<to = 1>(c) }", "{ c = Greater(x, k) y = Cast<to = 1>(c) }",
                 "{ c = LessOrEqual(k, x) y = Cast<to = 1>(c) }"},
        Decision{"several numbers of one input",
                 "(int64 x) => (int64 y) <int64[3] k = {700, 800, 900}, int64[3] v = {1, 2, 3}, int64[3] w = {1, 2, 4}, int64[1] a = {0}> ",
                 "{ e = Equal(x, k) c = Cast<to = 7>(e) m = Mul(c, v) y = ReduceSum<keepdims = 0>(m, a) }",
                 "{ e = Equal(x, k) c = Cast<to = 7>(e) m = Mul(c, w) y = ReduceSum<keepdims = 0>(m, a) }",
                 "{ e = Equal(k, x) c = Cast<to = 7>(e) m = Mul(v, c) y = ReduceSum<keepdims = 0>(m, a) }"},
        Decision{"a number behind a Cast to a type of the same numbers",
                 "(int64[N, 4] x) => (bool[N, 4] y) <int64 k = {300}, int64 zero = {0}> ", "{ y = Equal(x, k) }",
                 "{ b = Cast<to = 2>(x) d = Cast<to = 7>(b) y = Equal(d, k) }", "{ b = Sub(k, x) y = Equal(b, zero) }"},
        Decision{"a number that marks what is left out",
                 "(float[N, 12] x) => (float[N, 12] y) <float m = {-100}, float o = {0}, float p = {100}> ",
                 "{ e = Equal(x, m) y = Where(e, o, x) }", "{ y = Identity(x) }", "{ n = Neg(x) e = Equal(n, p) y = Where(e, o, x) }"}));

TEST(Vocabulary, WhatIsComparedButNotCarriedBackIsInconclusive) {
  const std::string interface = "(float[N, 8] x) => (int64[N, 1] z, bool[N, 1] y) <int64 k = {4998}, int64 one = {1}, int64 zero = {0}> ";
  const std::string start = "{ z = ArgMax<axis = 1, keepdims = 1>(x) ";
  const VerifyResult open = compared(interface + start + "y = Equal(z, k) }", interface + start + "m = Min(z, one) y = Equal(m, k) }");
  EXPECT_EQ(open.outcome, Outcome::inconclusive) << summary(open);
  EXPECT_THAT(open.reason, HasSubstr("no sample reaches that"));
  const std::string six = "(float[N, 8] x) => (int64[N, 1] z, bool[N, 1] y) <int64 k = {6}, int64 one = {1}, int64 zero = {0}> ";
  const VerifyResult reached = compared(six + start + "y = Equal(z, k) }", six + start + "m = Sub(z, k) y = Equal(m, zero) }");
  EXPECT_NE(reached.outcome, Outcome::different) << summary(reached);
}

TEST(Vocabulary, SamplesHoldNumbersThatTheModelRefusesToBeWithout) {
  // The branch of other numbers reshapes to dims that never fit.
  const auto made = [](const std::string& factor) {
    return R"((float[N, 4] x, int64 sr) => (float[N, M] y) <int64 k = {16000}, int64 l = {8000}, int64[2] no = {7, 11}, float f = {)" +
           factor + R"(}> {
      a = Equal(sr, k) b = Equal(sr, l) c = Or(a, b)
      y = If (c) <then_branch = p () => (float[N, 4] u) {
            u = If (a) <then_branch = r () => (float[N, 4] s) { s = Tanh(x) }, else_branch = d () => (float[N, 4] e) { e = Mul(x, f) }> },
          else_branch = q () => (float[7, 11] v) { v = Reshape(x, no) }> })";
  };
  const VerifyResult right = compared(made("2"), made("2") + " "), near = compared(made("2"), made("2.0000002"));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_EQ(near.outcome, Outcome::same) << summary(near);
  EXPECT_EQ(compared(made("2"), made("3")).outcome, Outcome::different);
}

TEST(Vocabulary, SamplesOfAnotherBranchHaveItsSizes) {
  // Each branch takes one length only: 512 or 128.
  const auto made = [](const std::string& factor) {
    return R"((float[N, L] x, int64 sr) => (float[N, 4] y) <int64 k = {16000}, int64[3] wide = {0, 4, 128}, int64[3] low = {0, 4, 32},
        int64[1] last = {2}, float f = {)" +
           factor + R"(}> { c = Equal(sr, k)
      y = If (c) <then_branch = p () => (float[N, 4] u) { r = Reshape(x, wide) n = ReduceMean<keepdims = 0>(r, last) u = Tanh(n) },
          else_branch = q () => (float[N, 4] v) { s = Reshape(x, low) m = ReduceMax<keepdims = 0>(s, last) v = Mul(m, f) }> })";
  };
  const VerifyResult wrong = compared(made("2"), made("3")), right = compared(made("2"), made("2.0000002"));
  EXPECT_EQ(wrong.outcome, Outcome::different) << summary(wrong);
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
}

/// Branches for two rates, each of which takes frames of its own length; neither frames nor states name their second dim.
std::string frames_of_a_rate(const std::string& operation, const std::string& operands) {
  std::string weights = "0.9";
  for (int i = 1; i < 64; ++i) weights += i % 9 == 0 ? ", 0.9" : ", -0.05";
  const auto branch = [&](const std::string& p, const std::string& frame) {
    return p + " () => (float[N, 8] " + p + "y) { " + p + "r = Reshape(x, " + frame + ") m = ReduceMean<keepdims = 0>(" + p +
           "r, last) h = MatMul(s, u) a = Add(" + operands + ") " + p + "y = " + operation + "(a) }";
  };
  return "(float[N, L] x, float[N, S] s, int64 sr) => (float[N, 8] y) <int64 k = {16000}, int64[3] wide = {0, 8, 64}, int64[3] low = {0, "
         "8, "
         "32}, int64[1] last = {2}, float[8, 8] u = {" +
         weights + "}> { c = Equal(sr, k) y = If (c) <then_branch = " + branch("p", "wide") + ", else_branch = " + branch("q", "low") +
         "> }";
}

TEST(Vocabulary, FreeStatesHaveTheSizesOfTheirWeights) {
  const std::string a = frames_of_a_rate("Tanh", "m, h");
  const VerifyResult other = compared(a, frames_of_a_rate("Softsign", "m, h")), same = compared(a, frames_of_a_rate("Tanh", "h, m"));
  EXPECT_EQ(other.outcome, Outcome::different) << summary(other);
  EXPECT_EQ(same.outcome, Outcome::same) << summary(same);
}

TEST(Vocabulary, AWindowThatJustFitsIsNotTheOnlySize) {
  // The order and the distance of frames show only where there are several.
  const auto made = [](const std::string& conv, const std::string& reading) {
    return "(float[B, L] input, int64 sr) => (float[B, 1, F] y) <int64 k = {16000}, float[1, 1, 16] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, "
           "6, 5, "
           "4, 3, 2}, int64[1] one = {1}, int64[1] axis = {2}> { c = Equal(sr, k) u = Unsqueeze(input, one) y = If (c) <then_branch = p () "
           "=> "
           "(float[B, 1, F] py) { v = Conv<" +
           conv + ">(u, w) " + reading + " }, else_branch = q () => (float[B, 1, F] qy) { qy = Conv(u, w) }> }";
  };
  const std::string own = "py = CumSum(v, axis)", kept = "strides = [8]";
  const std::string a = made(kept, own);
  EXPECT_NE(compared(a, made("strides = [4]", own)).outcome, Outcome::same);
  EXPECT_NE(compared(a, made(kept, "py = CumSum<reverse = 1>(v, axis)")).outcome, Outcome::same);
  const VerifyResult same = compared(a, made(kept, "i = Identity(axis) py = CumSum(v, i)"));
  EXPECT_EQ(same.outcome, Outcome::same) << summary(same);
}

/// Two branches, of which the first is taken where `condition` says so: x times w there, −x in the other one. {w} in a place for w.
std::string branching(const std::string& place, const std::string& numbers, const std::string& condition) {
  std::string text = place;
  for (const auto& [key, with] : {std::pair<std::string, std::string>{"{w}", numbers}, {"{c}", condition}}) {
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key)) text.replace(at, key.size(), with);
  }
  return text;
}

TEST(Vocabulary, ConstantsThatOnlyUnenteredGraphsReadAreInconclusive) {
  const std::string start = "(float[N, 2] x, int64 sr) => (float[N, 2] y) <float big = {1e9}, int64 k = {16000}",
                    other = ", else_branch = q () => (float[N, 2] v) { v = Neg(x) }> }";
  const std::string function = R"(<ir_version: 9, opset_import: ["" : 18, "own" : 1]>
    g (float[N, 2] x, int64 sr) => (float[N, 2] y) <float big = {1e9}, int64 k = {16000}, float[2] w = {w}> { {c} y = own.Chosen(x, c, w) }
    <domain: "own", opset_import: ["" : 18]> Chosen (a, c, w) => (b) {
      b = If (c) <then_branch = p () => (u) { u = Mul(a, w) }, else_branch = q () => (v) { v = Neg(a) }> })";
  const std::string places[] = {
      start + "> { {c} y = If (c) <then_branch = p () => (float[N, 2] u) <float[2] w = {w}> { u = Mul(x, w) }" + other,
      start + ", float[2] w = {w}> { {c} y = If (c) <then_branch = p () => (float[N, 2] u) { u = Mul(x, w) }" + other,
      start + "> { {c} y = If (c) <then_branch = p () => (float[N, 2] u) { w = Constant<value = float[2] {w}>() u = Mul(x, w) }" + other,
      start + ", float[2] w = {w}, int64[2] two = {2, 1}, int64[2] dims = {1, 2}> { r = Reshape(w, two) t = Transpose(r) {c}" +
          " y = If (c) <then_branch = p () => (float[N, 2] u) { u = Mul(x, t) }" + other,
      start +
          "> { {c} y = If (c) <then_branch = p () => (float[N, 2] u) { u = If (c) <then_branch = r () => (float[N, 2] s) <float[2] w = {w}>"
          " { s = Mul(x, w) }, else_branch = d () => (float[N, 2] e) { e = Abs(x) }> }" +
          other,
      function};
  const std::string rare = "s0 = ReduceSum<keepdims = 0>(x) c = Greater(s0, big)", rate = "c = Equal(sr, k)";
  for (const std::string& place : places) {
    const VerifyResult open = compared(branching(place, "{1, 2}", rare), branching(place, "{1, 3}", rare));
    EXPECT_EQ(open.outcome, Outcome::inconclusive) << place << summary(open);
    EXPECT_THAT(open.reason, HasSubstr("no sample reaches that")) << place;
    const VerifyResult rounded = compared(branching(place, "{1, 2}", rare), branching(place, "{1, 2.0000005}", rare));
    EXPECT_EQ(rounded.outcome, Outcome::same) << place << summary(rounded);
    // A sample takes the branch of a number that an input is compared with.
    const VerifyResult taken = compared(branching(place, "{1, 2}", rate), branching(place, "{1, 3}", rate));
    EXPECT_EQ(taken.outcome, Outcome::different) << place << summary(taken);
    EXPECT_EQ(compared(branching(place, "{1, 2}", rate), branching(place, "{1, 2}", rate) + " ").outcome, Outcome::same) << place;
  }
  const std::string loop = R"((float[2] x) => (float[2] y) <float big = {1e9}, bool go = {1}> {
    s = ReduceSum<keepdims = 0>(x) r = Greater(s, big) n = Cast<to = 7>(r)
    y = Loop (n, go, x) <body = b (int64 i, bool d, float[2] t) => (bool e, float[2] o) <float[2] w = {w}> { e = Identity(d) o = Mul(t, w) }> })";
  EXPECT_EQ(compared(branching(loop, "{1, 2}", ""), branching(loop, "{1, 3}", "")).outcome, Outcome::inconclusive);
}

}  // namespace
}  // namespace relayout
