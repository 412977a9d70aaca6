// Tests Loops that run once or never, against the nodes that the standard's words give, and those that stay.

#include <gmock/gmock.h>

#include "relayout/findings.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kPass = "inline-loops";
const std::string kHead =
    "g (float[2] x) => (float[2] y) <int64 none = {0}, int64 once = {1}, int64 twice = {2}, bool yes = {1}, bool no = {0}> ";

/// A body that carries one value, and gives its condition on.
const std::string kBody = "<body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity (c)  h = Abs (v)  w = Neg (h) }>";

/// ONNX's syntax has no first operand that is absent.
TextModel with_absent(const std::string& text) {
  TextModel model(text);
  model.edit([](onnx::ModelProto& message) {
    for (auto& node : *message.mutable_graph()->mutable_node()) {
      for (std::string& name : *node.mutable_input()) name = name == "absent" ? "" : name;
    }
  });
  return model;
}

TextModel loop(const std::string& operands) {
  return with_absent(kHead + "{ y = Loop (" + operands + ") " + kBody + " }");
}

void expect_once(const std::string& operands) {
  expect_rewrite(kPass, loop(operands), "g (float[2] x) => (float[2] y) { h = Abs (x)  y = Neg (h) }");
}

TEST(InlineLoops, OneRun) {
  expect_once("once, yes, x");
  expect_once("once, , x");
  const auto result = run({kPass}, loop("once, yes, x"));
  EXPECT_NE(result.model->graph().find("h"), nullptr) << "names stay";
  expect_rewrite(
      kPass,
      "g (float[2] x) => (float[2] y) <int64[1] three = {3}, int64[1] two = {2}> { k = Sub (three, two)  y = Loop (k, , x) " + kBody + " }",
      "g (float[2] x) => (float[2] y) { h = Abs (x)  y = Neg (h) }");
}

/// The body says after its first run that it is the last.
TEST(InlineLoops, ABodyThatEndsTheLoop) {
  const std::string body =
      " <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Constant <value = bool {0}> ()  w = Neg (v) }> }";
  expect_rewrite(kPass, kHead + "{ y = Loop (twice, yes, x)" + body, "g (float[2] x) => (float[2] y) { y = Neg (x) }");
  expect_rewrite(kPass, with_absent(kHead + "{ y = Loop (absent, yes, x)" + body), "g (float[2] x) => (float[2] y) { y = Neg (x) }");
  expect_skip(kPass, "g (float[2] x, int64 n) => (float[2] y) <bool yes = {1}> { y = Loop (n, yes, x)" + body, Reason::runs_again);
}

TEST(InlineLoops, NoRun) {
  for (const std::string operands : {"none, yes, x", "twice, no, x", "absent, no, x"}) {
    expect_rewrite(kPass, loop(operands), "g (float[2] x) => (float[2] y) { y = Identity (x) }");
  }
  expect_rewrite(kPass, "g (float[2] x, bool o) => (float[2] y) <int64 least = {-4}> { y = Loop (least, o, x) " + kBody + " }",
                 "g (float[2] x, bool o) => (float[2] y) { y = Identity (x) }");
}

const std::string kStacking =
    "<body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] s, int64 t) { d = Identity (c)  w = Neg (v)  s = Abs (v)  t "
    "= "
    "Identity (i) }>";
const std::string kResults = "g (float[2] x) => (float[2] y, float[A,2] p, int64[A] q) ";

TEST(InlineLoops, ScanOutputs) {
  expect_rewrite(
      kPass, kResults + "<int64 once = {1}> { y, p, q = Loop (once, , x) " + kStacking + " }",
      kResults +
          "<int64 zero = {0}, int64[1] axes = {0}> { y = Neg (x)  s = Abs (x)  t = Identity (zero)  p = Unsqueeze (s, axes)  q = "
          "Unsqueeze (t, axes) }");
  expect_rewrite(kPass, kResults + "<int64 never = {0}> { y, p, q = Loop (never, , x) " + kStacking + " }",
                 kResults + "<float[0,2] e, int64[0] f> { y = Identity (x)  p = Identity (e)  q = Identity (f) }");
  const std::string opset11 = R"(<ir_version: 6, opset_import: ["" : 11]>)";
  expect_rewrite(kPass, TextModel(kResults + "<int64 once = {1}> { y, p = Loop (once, , x) " + kStacking + "  q = Shape (p) }", opset11),
                 TextModel(kResults + "{ y = Neg (x)  s = Abs (x)  p = Unsqueeze <axes = [0]> (s)  q = Shape (p) }", opset11));
}

TEST(InlineLoops, EmptyResultsOfUnknownDims) {
  const auto model = [](const std::string& declared) {
    return "g (float[N] x) => (float[N] y, p) <int64 never = {0}> { y, p = Loop (never, , x) <body = b (int64 i, bool c, v) => (bool d, "
           "w, " +
           declared + " s) { d = Identity (c)  w = Neg (v)  s = Abs (x) }> }";
  };
  expect_skip(kPass, model("float[N]"), Reason::dims_unknown);
  expect_skip(kPass, model(""), Reason::dims_unknown);
  // Nothing reads it.
  EXPECT_EQ(run({kPass},
                "g (float[N] x) => (float[N] y) <int64 never = {0}> { y = Loop (never, , x) <body = b (int64 i, bool c, float[N] v) "
                "=> (bool d, float[N] w, s) { d = Identity (c)  w = Neg (v)  s = Abs (x) }> }")
                .count("Loop"),
            0);
}

TEST(InlineLoops, CarriedValuesThatPassOrChangePlaces) {
  expect_rewrite(
      kPass,
      "g (float[2] x, float[2] z) => (float[2] y, float[2] t, float[2] u) <int64 once = {1}> { y, t, u = Loop (once, , x, z, x) <body "
      "= b (int64 i, bool c, float[2] v, float[2] w, float[2] r) => (bool c, float[2] w, float[2] v, float[2] a) { a = Neg (r) }> }",
      "g (float[2] x, float[2] z) => (float[2] y, float[2] t, float[2] u) { u = Neg (x)  y = Identity (z)  t = Identity (x) }");
}

/// The iteration number, the condition and a value from outside, in the body and in a graph within.
TEST(InlineLoops, WhatTheBodyReads) {
  expect_rewrite(kPass,
                 "g (float[2] x, float[2] z) => (float[2] y) <int64 once = {1}> { y = Loop (once, , x) <body = b (int64 i, bool c, "
                 "float[2] v) => (bool c, "
                 "float[2] w) <float k = {3}> { f = Cast <to = 1> (i)  a = Mul (v, k)  s = Add (a, f)  w = If (c) <then_branch = t () => "
                 "(float[2] p) { p "
                 "= Add (s, z) }, else_branch = e () => (float[2] q) { q = Sub (v, s) }> }> }",
                 "g (float[2] x, float[2] z) => (float[2] y) <int64 zero = {0}, bool yes = {1}, float k = {3}> { f = Cast <to = 1> (zero)  "
                 "a = Mul (x, k)  s "
                 "= Add (a, f)  y = If (yes) <then_branch = t () => (float[2] p) { p = Add (s, z) }, else_branch = e () => (float[2] q) { "
                 "q = Sub (x, s) }> "
                 "}");
}

/// Bodies of one exporter use the same names.
TEST(InlineLoops, NamesOfSeveralGraphs) {
  const auto result = run({kPass}, "g (float[2] x) => (float[2] y) <int64 once = {1}, int64 twice = {2}> { a = Loop (once, , x) " + kBody +
                                       "  y = Loop (twice, , a) " + kBody + " }");
  EXPECT_EQ(result.count("Loop"), 1);
  EXPECT_EQ(result.count("Abs"), 2);
  EXPECT_EQ(result.reasons(), std::vector{Reason::runs_again});
}

TEST(InlineLoops, OneWithinAnother) {
  expect_rewrite(
      kPass,
      "g (float[2] x) => (float[2] y) <int64 once = {1}> { y = Loop (once, , x) <body = b (int64 i, bool c, float[2] v) => (bool d, "
      "float[2] w) { d = Identity (c)  k = Add (i, once)  w = Loop (k, c, v) <body = e (int64 j, bool f, float[2] q) => (bool g, "
      "float[2] r) { g = Identity (f)  r = Exp (q) }> }> }",
      "g (float[2] x) => (float[2] y) { y = Exp (x) }");
}

TEST(InlineLoops, SequencesThatIdentityDoesNotTake) {
  const std::string graph =
      "g (float[2] x) => (float[2] y) <int64 once = {1}, int64 zero = {0}> { s = SequenceConstruct (x)  t = Loop (once, , s) <body = b "
      "(int64 i, "
      "bool c, v) => (bool c, v) { }>  y = SequenceAt (t, zero) }";
  const auto at = [](int opset) { return R"(<ir_version: 8, opset_import: ["" : )" + std::to_string(opset) + "]>"; };
  EXPECT_EQ(run({kPass}, TextModel(graph, at(16))).count("Loop"), 0);
  expect_skip(kPass, TextModel(graph, at(15)), Reason::not_movable);
}

TEST(InlineLoops, ThoseThatStay) {
  expect_skip(kPass, loop("twice, yes, x"), Reason::runs_again);
  expect_skip(kPass, "g (float[2] x, int64 n) => (float[2] y) { y = Loop (n, , x) " + kBody + " }", Reason::runs_again);
  expect_skip(kPass, "g (float[2] x, bool o) => (float[2] y) <int64 once = {1}> { y = Loop (once, o, x) " + kBody + " }",
              Reason::runs_again);
  expect_skip(kPass, "g (float[2] x, int64 k) => (float[2] y) <int64 k = {1}> { y = Loop (k, , x) " + kBody + " }", Reason::runs_again);
  // ONNX Runtime gives such a body its iteration number as a list of one.
  expect_skip(
      kPass,
      "g (float[2] x) => (float[2] y) <int64 once = {1}> { y = Loop (once, , x) <body = b (int64[1] i, bool c, float[2] v) => (bool d, "
      "float[2] w) { d = Identity (c)  f = Cast <to = 1> (i)  w = Mul (v, f) }> }",
      Reason::not_movable);
  const std::string function =
      "g (float[2] x) => (float[2] y) { y = local.f (x) } <opset_import: [\"\" : 17], domain: \"local\"> f (x) => (y) { k = Constant "
      "<value "
      "= int64 {1}> ()  y = Loop (k, , x) " +
      kBody + " }";
  expect_skip(kPass, TextModel(function, R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)"), Reason::not_movable);
  PassOptions options;
  options.exclude = {"y"};
  expect_skip(kPass, loop("once, yes, x"), Reason::excluded, options);
}

TEST(InlineLoops, ThoseThatWouldTakeMoreBytes) {
  std::string results, declared, outputs;
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    results += (i > 0 ? ", a_name_of_some_length" : "a_name_of_some_length") + number;
    declared += ", s";
    outputs += (i > 0 ? ", float[1,2] a_name_of_some_length" : "float[1,2] a_name_of_some_length") + number;
  }
  expect_skip(kPass,
              "g (float[2] x) => (" + outputs + ") <int64 once = {1}> { " + results +
                  " = Loop (once) <body = b (int64 i, bool c) => (bool c" + declared + ") { s = Neg (x) }> }",
              Reason::file_grows);
}

}  // namespace
}  // namespace relayout::test
