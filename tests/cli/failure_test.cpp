#include "cli/common/failure.h"

#include <gtest/gtest.h>

#include <new>
#include <system_error>

#include "relayout/error.h"

namespace relayout::cli {
namespace {

template <class Exception>
Failure failure_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return current_failure();
  }
}

TEST(Failure, KeepsKindMessageAndHint) {
  const Failure failure = failure_of(Error(ErrorKind::invalid, "m.onnx: not an ONNX model", "git lfs pull"));
  EXPECT_EQ(failure.code, 3);
  EXPECT_EQ(failure.message, "m.onnx: not an ONNX model");
  EXPECT_EQ(failure.hint, "git lfs pull");
}

TEST(Failure, ItsLineHasTheHintAfterTheMessage) {
  EXPECT_EQ((Failure{3, "m.onnx: compressed by gzip", "unpack it first: gunzip"}).line(),
            "m.onnx: compressed by gzip (unpack it first: gunzip)");
  EXPECT_EQ((Failure{3, "m.onnx: empty", ""}).line(), "m.onnx: empty");
}

TEST(Failure, ADefectSaysHowToReportIt) {
  EXPECT_EQ(failure_of(Error(ErrorKind::defect, "x")).code, 70);
  EXPECT_NE(failure_of(Error(ErrorKind::defect, "x")).message.find("report"), std::string::npos);
  EXPECT_EQ(failure_of(std::logic_error("x")).code, 70);
  EXPECT_EQ(failure_of(42).code, 70);
}

TEST(Failure, MissingMemoryIsAResource) {
  EXPECT_EQ(failure_of(std::bad_alloc()).code, 5);
  EXPECT_EQ(failure_of(std::filesystem::filesystem_error("x", std::make_error_code(std::errc::permission_denied))).code, 5);
}

}  // namespace
}  // namespace relayout::cli
