#include "ops/unknown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "relayout/model.h"

namespace relayout {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kHead[] = "<ir_version: 8, opset_import: [\"\": 17, \"local\": 1, \"far\": 1]>\n";

TEST(UnknownOperators, OnnxAndTheModelsFunctionsAreKnown) {
  const auto model = Model::from_text(std::string(kHead) + R"(
    g (float[2] x) => (float[2] y) { a = Relu (x)  b = local.Twice (a)  y = Einsum <equation = "i->i"> (b) }
    <domain: "local", opset_import: ["": 17]>
    Twice (p) => (q) { q = Add (p, p) })");
  EXPECT_THAT(unknown_operators(*model), IsEmpty());
}

TEST(UnknownOperators, OthersAreNamedOnceAndSorted) {
  const auto model = Model::from_text(std::string(kHead) + R"(
    g (float[2] x) => (float[2] y) { a = Quux (x)  b = far.Foo (a)  c = Quux (b)  y = local.Twice (c) }
    <domain: "local", opset_import: ["": 17, "far": 1]>
    Twice (p) => (q) { q = far.Inner (p) })");
  EXPECT_THAT(unknown_operators(*model), ElementsAre("ai.onnx:Quux", "far:Foo", "far:Inner"));
}

}  // namespace
}  // namespace relayout
