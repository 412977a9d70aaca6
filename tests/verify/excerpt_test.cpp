#include <gtest/gtest.h>

#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/verify.h"
#include "verified.h"
#include "verify/compare/layers.h"

namespace relayout {
namespace {

/// `y` reads the result of an If, whose branches capture `h`; `z` is apart from both.
std::unique_ptr<Model> with_factor(const std::string& factor) {
  return Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, bool c) => (float[2] y, float[2] z) <float[2] k = {1.0, )" +
                          factor + R"(}> {
      z = Relu (x)
      h = Exp (x)
      s = If (c) <then_branch = t () => (float[2] u) { u = Add (h, x) }, else_branch = e () => (float[2] v) { v = Sub (h, x) }>
      y = Mul (s, k)
    })");
}

TEST(Excerpt, NodesThatANestedGraphCapturesLeadToItsReaders) {
  const auto a = with_factor("2.0"), b = with_factor("3.0");
  const ProofResult proof = prove(*a, *b);
  const Layers layers(a->graph(), b->graph());
  const std::optional<Excerpt> excerpt = Excerpt::of(layers, Suspects(proof, a->graph(), b->graph()));
  ASSERT_TRUE(excerpt);
  const auto leads = [&](const char* value) { return excerpt->leads_to_used(*a->graph().find(value)->producer()); };
  EXPECT_TRUE(leads("s"));
  EXPECT_TRUE(leads("h"));
  EXPECT_FALSE(leads("z"));
}

/// The outputs hide what is between x and y: `makes` computes t from it.
VerifyResult verified_behind(const std::string& makes_in_a, const std::string& makes_in_b) {
  const testing::Folder folder;
  const auto write = [&](const std::string& name, const std::string& makes) {
    return folder.write(name, R"(<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
      g (float[N, 8] x, bool c) => (float[N, 8] y) <float k = {1e-12}> {
        r = Sigmoid (x)
        )" + makes + R"(
        s = Mul (t, k)
        z = Relu (x)
        y = Add (z, s)
      }
      <domain: "f", opset_import: ["" : 17]>
      negative (a) => (b) { m = Neg (a)
        n = Neg (m)
        b = Neg (n) })");
  };
  VerifyOptions options;
  options.threads = 1;
  return verify(write("a.onnxtxt", makes_in_a), write("b.onnxtxt", makes_in_b), options);
}

std::string branch(const std::string& makes_u) {
  return "t = If (c) <then_branch = t () => (float[N, 8] u) { " + makes_u + " }, else_branch = e () => (float[N, 8] v) { v = Abs (r) }>";
}

TEST(Excerpt, NodesOfNestedGraphsRunWithTheirHolder) {
  EXPECT_EQ(verified_behind(branch("u = Neg (r)"), branch("u = Sin (r)")).outcome, Outcome::different);
  EXPECT_EQ(verified_behind(branch("u = Abs (x)"), branch("m = Neg (x)\n u = Max (x, m)")).outcome, Outcome::same);
}

TEST(Excerpt, NodesThatOnlyANestedGraphReadsAreParts) {
  EXPECT_EQ(verified_behind(branch("u = Neg (r)"), "q = Exp (r)\n" + branch("u = Neg (q)")).outcome, Outcome::different);
  EXPECT_EQ(verified_behind("q = Abs (x)\n" + branch("u = Neg (q)"), "m = Neg (x)\n w = Max (x, m)\n" + branch("u = Neg (w)")).outcome,
            Outcome::same);
}

TEST(Excerpt, NodesOfFunctionsRunWithTheirCall) {
  EXPECT_EQ(verified_behind("t = f.negative (r)", "q = Exp (r)\n t = f.negative (q)").outcome, Outcome::different);
  EXPECT_EQ(verified_behind("q = Abs (x)\n t = f.negative (q)", "m = Neg (x)\n w = Max (x, m)\n t = f.negative (w)").outcome,
            Outcome::same);
}

}  // namespace
}  // namespace relayout
