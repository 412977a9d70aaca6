#include "verify/interface.h"

#include <gtest/gtest.h>

#include "relayout/model.h"

namespace relayout {
namespace {

std::unique_ptr<Model> parse(const std::string& signature, const std::string& body, int ir = 8) {
  return Model::from_text("<ir_version: " + std::to_string(ir) + ", opset_import: [\"\" : 17]>\ng " + signature + " {" + body + "}");
}

/// One line per difference: side name field: a -> b, remarks in brackets.
std::vector<std::string> differences(const Model& a, const Model& b) {
  std::vector<std::string> out;
  for (const auto& d : compare_interfaces(a.graph(), b.graph())) {
    const std::string line = d.side + " " + d.name + " " + field_text(d) + ": " + d.a + " -> " + d.b;
    out.push_back(d.remark ? "(" + line + ")" : line);
  }
  return out;
}

using Lines = std::vector<std::string>;

const char* const kRelu = "y = Relu(x)";

TEST(Interface, EqualOnesHaveNoDifference) {
  const auto a = parse("(float[N, 3] x) => (float[N, 3] y)", kRelu);
  EXPECT_EQ(differences(*a, *a), Lines{});
}

TEST(Interface, V1V2OutputTypes) {
  const auto a = parse("(float[2] x) => (float[2] y)", kRelu);
  const auto b = parse("(float[2] x) => (double[2] y)", "t = Relu(x) y = Cast<to = 11>(t)");
  EXPECT_EQ(differences(*a, *b), (Lines{"output y type: f32 -> f64"}));
  const auto c = parse("(float[2] x) => (bool[2] y)", "y = Cast<to = 9>(x)");
  const auto d = parse("(float[2] x) => (uint8[2] y)", "y = Cast<to = 2>(x)");
  EXPECT_EQ(differences(*c, *d), (Lines{"output y type: bool -> u8"}));
}

TEST(Interface, V3V4Ranks) {
  const auto a = parse("(float[8] x) => (float[8] y)", kRelu);
  const auto b = parse("(float[8] x) => (float[1, 8] y)", kRelu);
  EXPECT_EQ(differences(*a, *b), (Lines{"output y rank: 1 [8] -> 2 [1, 8]"}));
  const auto c = parse("(float[8] x) => (float y)", kRelu);
  const auto d = parse("(float[8] x) => (float[N] y)", kRelu);
  EXPECT_EQ(differences(*c, *d), (Lines{"output y rank: 0 [] -> 1 [N]"}));
}

TEST(Interface, V6V7V8OutputsMissingAddedRenamed) {
  const auto a = parse("(float[2] x) => (float[2] y, float[2] z)", "y = Relu(x) z = Neg(x)");
  const auto missing = parse("(float[2] x) => (float[2] y)", kRelu);
  EXPECT_EQ(differences(*a, *missing), (Lines{"output z missing: f32[2] -> "}));
  EXPECT_EQ(differences(*missing, *a), (Lines{"output z added:  -> f32[2]"}));
  const auto renamed = parse("(float[2] x) => (float[2] Y, float[2] z)", "Y = Relu(x) z = Neg(x)");
  EXPECT_EQ(differences(*a, *renamed), (Lines{"output y renamed: y -> Y"}));
}

TEST(Interface, PortsThatCannotBeOneAreNotCalledRenamed) {
  const auto ids = parse("(int64[N, 8] input_ids) => (float[2] y)", "c = Constant<value_floats = [1.0, 2.0]>() y = Relu(c)");
  const auto pixels = parse("(float[N, 3, 8, 8] pixels) => (float[2] y)", "c = Constant<value_floats = [1.0, 2.0]>() y = Relu(c)");
  EXPECT_EQ(differences(*ids, *pixels), (Lines{"input input_ids missing: i64[N, 8] -> ", "input pixels added:  -> f32[N, 3, 8, 8]"}));
  const auto other_size = parse("(float[N, 1, 8, 8] x) => (float[2] y)", "c = Constant<value_floats = [1.0, 2.0]>() y = Relu(c)");
  EXPECT_EQ(differences(*pixels, *other_size), (Lines{"input pixels missing: f32[N, 3, 8, 8] -> ", "input x added:  -> f32[N, 1, 8, 8]"}));
  // Ports of 16 bits, or with sizes that one of the two leaves free, may be renamed.
  const auto half = parse("(float16[2, 3, 8, 8] x) => (float[2] y)", "c = Constant<value_floats = [1.0, 2.0]>() y = Relu(c)");
  EXPECT_EQ(differences(*pixels, *half), (Lines{"input pixels renamed: pixels -> x"}));
}

TEST(Interface, V10V12Order) {
  const auto a = parse("(float[2] x, float[2] u) => (float[2] y, float[2] z)", "y = Relu(x) z = Neg(u)");
  const auto b = parse("(float[2] u, float[2] x) => (float[2] z, float[2] y)", "y = Relu(x) z = Neg(u)");
  EXPECT_EQ(differences(*a, *b), (Lines{"input  order: x, u -> u, x", "output  order: y, z -> z, y"}));
  EXPECT_TRUE(inputs_fit(compare_interfaces(a->graph(), b->graph())));
}

TEST(Interface, V11V13V14V15Inputs) {
  const auto a = parse("(float[2] x, int32[2] i) => (float[2] y)", "c = Cast<to = 1>(i) y = Add(x, c)");
  const auto renamed = parse("(float[2] X, int32[2] i) => (float[2] y)", "c = Cast<to = 1>(i) y = Add(X, c)");
  EXPECT_EQ(differences(*a, *renamed), (Lines{"input x renamed: x -> X"}));
  const auto typed = parse("(float[2] x, int64[2] i) => (float[2] y)", "c = Cast<to = 1>(i) y = Add(x, c)");
  EXPECT_EQ(differences(*a, *typed), (Lines{"input i type: i32 -> i64"}));
  const auto removed = parse("(float[2] x) => (float[2] y)", kRelu);
  EXPECT_EQ(differences(*a, *removed), (Lines{"input i missing: i32[2] -> "}));
  EXPECT_EQ(differences(*removed, *a), (Lines{"input i added:  -> i32[2]"}));
  EXPECT_FALSE(inputs_fit(compare_interfaces(removed->graph(), a->graph())));
}

TEST(Interface, V16FreeDimsOfInputsMustStayFree) {
  const auto a = parse("(float[N, 3] x) => (float[N, 3] y)", kRelu);
  for (const char* batch : {"1", "2"}) {
    const auto b = parse("(float[" + std::string(batch) + ", 3] x) => (float[N, 3] y)", kRelu);
    EXPECT_EQ(differences(*a, *b), (Lines{"input x dim 0: free (N) -> " + std::string(batch)}));
    EXPECT_FALSE(inputs_fit(compare_interfaces(a->graph(), b->graph())));
  }
}

TEST(Interface, V17FixedDimsMustNotChange) {
  const auto a = parse("(float[2, 3] x) => (float[2, 3] y)", kRelu);
  const auto b = parse("(float[2, 3] x) => (float[2, 4] y)", kRelu);
  EXPECT_EQ(differences(*a, *b), (Lines{"output y dim 1: 3 -> 4"}));
}

TEST(Interface, V18DefaultedInputsDoNotCount) {
  const auto a = parse("(float[2] x, float[2] w = {1, 2}) => (float[2] y)", "y = Add(x, w)", 3);
  const auto b = parse("(float[2] x) => (float[2] y) <float[2] w = {1, 2}>", "y = Add(x, w)", 8);
  EXPECT_EQ(differences(*a, *b), Lines{});
  EXPECT_EQ(differences(*b, *a), Lines{});
}

TEST(Interface, V19OutputsDeclaredMoreExactlyAreARemark) {
  const auto a = parse("(float[N, 3] x) => (float[N, M] y)", kRelu);
  const auto b = parse("(float[N, 3] x) => (float[N, 3] y)", kRelu);
  EXPECT_EQ(differences(*a, *b), (Lines{"(output y dim 1: free (M) -> 3)"}));
  EXPECT_EQ(differences(*b, *a), (Lines{"(output y dim 1: 3 -> free (M))"}));
  const auto renamed = parse("(float[batch, 3] x) => (float[batch, M] y)", kRelu);
  EXPECT_EQ(differences(*a, *renamed), Lines{});
}

TEST(Interface, SequencesAreComparedByTheirElements) {
  const auto a = parse("(seq(float[N]) x) => (seq(float[N]) y)", "y = Identity(x)");
  const auto b = parse("(seq(float[N]) x) => (seq(double[N]) y)", "y = Identity(x)");
  EXPECT_EQ(differences(*a, *b), (Lines{"output y type: f32 -> f64"}));
  const auto c = parse("(seq(float[N]) x) => (float[N] y)", "y = Identity(x)");
  EXPECT_EQ(differences(*a, *c), (Lines{"output y kind: sequence -> tensor"}));
}

}  // namespace
}  // namespace relayout
