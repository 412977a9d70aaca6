#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_attributes.h"
#include "relayout/graph.h"
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

TEST(OtherVersion, OfANodeThatItsOpsetDoesNotKnow) {
  const auto why = [](const std::string& opset, const std::string& node) {
    const auto model = Model::from_text("<ir_version: 8, opset_import: [\"\" : " + opset + ", \"far\" : 1]>\n" +
                                        "g (float[2,4] x, int64[1] i) => (float[?,?] y) { " + node + " }");
    return other_version(*model->graph().outputs()[0]->producer()).value_or("");
  };
  EXPECT_EQ(why("17", "y = ReduceMean <axes = [1]> (x)"), "");
  EXPECT_EQ(why("18", "y = ReduceMean <axes = [1]> (x)"), "no attribute 'axes' in opset 18");
  EXPECT_EQ(why("17", "y = ReduceMean (x, i)"), "at most 1 input in opset 17");
  EXPECT_EQ(why("18", "y = ReduceMean (x, i)"), "");
  EXPECT_EQ(why("12", "y, m, n = Dropout (x)"), "at most 2 outputs in opset 12");
  EXPECT_EQ(why("18", "y = Relu <__origin = 1> (x)"), "");
  EXPECT_EQ(why("18", "y = far.Anything <axes = [1]> (x)"), "");
  EXPECT_EQ(why("14", "y = LayerNormalization <any = 1> (x, x)"), "") << "older than the operator: not ONNX's";
}

}  // namespace
}  // namespace relayout
