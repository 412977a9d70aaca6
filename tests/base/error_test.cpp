#include "relayout/error.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace relayout {
namespace {

TEST(Error, KindsMapToTheDocumentedExitCodes) {
  EXPECT_EQ(exit_code(ErrorKind::usage), 2);
  EXPECT_EQ(exit_code(ErrorKind::invalid), 3);
  EXPECT_EQ(exit_code(ErrorKind::unsupported), 4);
  EXPECT_EQ(exit_code(ErrorKind::io), 5);
  EXPECT_EQ(exit_code(ErrorKind::defect), 70);
  EXPECT_EQ(exit_code(ErrorKind::interrupted), 130);
  EXPECT_EQ(exit_code(ErrorKind::terminated), 143);
}

TEST(Error, CarriesMessageKindAndHint) {
  try {
    fail(ErrorKind::invalid, "model.onnx: not an ONNX model", "git lfs pull");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "model.onnx: not an ONNX model");
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_EQ(error.hint(), "git lfs pull");
  }
}

TEST(WorseCode, FollowsTheDocumentedOrder) {
  const int order[] = {0, 1, 2, 4, 3, 5, 70, 143, 130};
  for (const int& a : order) {
    for (const int& b : order) {
      EXPECT_EQ(worse_code(a, b), std::max(&a, &b) == &a ? a : b);
    }
  }
}

}  // namespace
}  // namespace relayout
