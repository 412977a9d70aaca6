#include <gtest/gtest.h>

#include "ops/op_history.h"

namespace relayout::test {
namespace {

TEST(OpVersion, ChangesOfTheSpecification) {
  EXPECT_TRUE(is_same_operator("Conv", 11, 21));
  EXPECT_FALSE(is_same_operator("Conv", 10, 11));
  EXPECT_FALSE(is_same_operator("BatchNormalization", 13, 14));
  EXPECT_TRUE(is_same_operator("BatchNormalization", 15, 20));
  EXPECT_FALSE(is_same_operator("Squeeze", 11, 13));
}

TEST(OpVersion, UnknownOperatorsAndVersions) {
  EXPECT_FALSE(is_same_operator("NoSuchOperator", 11, 12));
  EXPECT_FALSE(is_same_operator("Conv", 0, 12));
  EXPECT_TRUE(is_same_operator("NoSuchOperator", 12, 12)) << "the same opset, whatever it is";
}

}  // namespace
}  // namespace relayout::test
