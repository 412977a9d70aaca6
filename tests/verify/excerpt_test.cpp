#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
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

}  // namespace
}  // namespace relayout
