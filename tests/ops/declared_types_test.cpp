#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "ops/element_types.h"
#include "relayout/error.h"
#include "relayout/model.h"

namespace relayout {
namespace {

/// The message of check_declared_types for a graph; empty if there is none.
std::string refusal(const std::string& graph) {
  const auto model = Model::from_text("<ir_version: 8, opset_import: [\"\": 17, \"com.microsoft\": 1]>\n" + graph);
  try {
    check_declared_types(*model);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    return std::string(error.what()).substr(std::string(error.what()).find("node "));
  }
  return "";
}

TEST(DeclaredTypes, OfAnIntermediateResult) {
  EXPECT_EQ(refusal("g (float[2] x) => (float[2] y) <float[2] r> { r = Relu (x)  y = Abs (r) }"), "");
  EXPECT_EQ(refusal("g (float[2] x) => (float[2] y) <int64[2] r> { r = Relu (x)  y = Cast <to = 1> (r) }"),
            "node output 'r' (Relu): its result 'r' is f32, the file declares i64");
  EXPECT_EQ(refusal("g (float[2] x) => (float[1] y) <int32[1] s> { s = Shape (x)  y = Cast <to = 1> (s) }"),
            "node output 's' (Shape): its result 's' is i64, the file declares i32");
}

TEST(DeclaredTypes, OfAnOutputFarFromTheInput) {
  EXPECT_EQ(refusal("g (float[2] x) => (float16[2] y) { a = Relu (x)  b = Neg (a)  c = Identity (b)  y = Abs (c) }"),
            "node output 'y' (Abs): its result 'y' is f32, the file declares f16");
  EXPECT_EQ(refusal("g (float[2] x) => (float[2] y) { a = Greater (x, x)  y = Not (a) }"),
            "node output 'y' (Not): its result 'y' is bool, the file declares f32");
  EXPECT_EQ(refusal("g (float[2] x) => (float16[2] y) { a = Relu (x)  b = Cast <to = 10> (a)  y = Abs (b) }"), "");
}

TEST(DeclaredTypes, OfAWeightAndInANestedGraph) {
  EXPECT_EQ(
      refusal("g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
              "  y = If (c) <then_branch = t () => (float[2] p) { p = Relu (x) }, else_branch = e () => (int64[2] q) { q = Neg (w) }> }"),
      "node output 'q' (Neg): its result 'q' is f32, the file declares i64");
}

TEST(DeclaredTypes, NothingFollowsFromOperatorsThatMixTypes) {
  EXPECT_EQ(refusal("g (float[2] x, float s, uint8 z) => (uint8[2] y) { y = QuantizeLinear (x, s, z) }"), "");
  EXPECT_EQ(refusal("g (float[2,2] x) => (int32[2] y) { y = com.microsoft.Other (x) }"), "");
  EXPECT_EQ(refusal("g (int64[2] x) => (float[2] y) { y = com.microsoft.Unknown (x) }"), "");
}

}  // namespace
}  // namespace relayout
