// Tests the values of a graph that are known before it runs: the same constants as the executor has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layout/graph_shapes.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

using ::testing::ElementsAre;

TEST(Shapes, OperatorsThatReadDimsOnlyAreConstant) {
  const auto model = Model::from_text(
      "<ir_version: 8, opset_import: [\"\": 17]>\n"
      "g (float[2, 3] x, float[2, 3] p) => (float[2, 3] y) <float[3] w = {1, 2, 3}> {\n"
      "  shape = Shape (x)  last = Shape <start = -1> (x)  size = Size (x)  eye = EyeLike (x)  like = CastLike (w, x)\n"
      "  random = RandomNormalLike (x)  sum = Add (x, p)\n"
      "  y = Sum (x, eye, like, random, sum) }");
  Shapes shapes(model->graph());
  const auto value = [&](const char* name) -> const Value& { return *model->graph().find(name); };
  EXPECT_THAT(shapes.integers(value("shape")).value(), ElementsAre(2, 3));
  EXPECT_THAT(shapes.integers(value("last")).value(), ElementsAre(3));
  EXPECT_THAT(shapes.integers(value("size")).value(), ElementsAre(6));
  for (const char* const name : {"shape", "last", "size", "eye", "like"}) EXPECT_TRUE(shapes.is_constant(value(name))) << name;
  for (const char* const name : {"random", "sum", "y"}) EXPECT_FALSE(shapes.is_constant(value(name))) << name;
  EXPECT_EQ(*shapes.dims_of(&value("y")), (Dims{2, 3}));
}

TEST(Shapes, LargeResultsAreComputedOnDemand) {
  // The executor computes results of constants in advance up to 64 MB.
  const auto model = Model::from_text(
      "<ir_version: 8, opset_import: [\"\": 17]>\n"
      "g (float[1] x) => (float[N] y, float[M] z) <int64[1] few = {1024}, int64[1] many = {100000000}> {\n"
      "  small = ConstantOfShape (few)  large = ConstantOfShape (many)  y = Add (x, small)  z = Add (x, large) }");
  Shapes shapes(model->graph());
  EXPECT_TRUE(shapes.is_constant(*model->graph().find("small")));
  EXPECT_FALSE(shapes.is_constant(*model->graph().find("large")));
  EXPECT_EQ(*shapes.dims_of(model->graph().find("z")), (Dims{100000000}));
}

}  // namespace
}  // namespace relayout::layout
