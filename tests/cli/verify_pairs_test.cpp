#include <gtest/gtest.h>

#include "cli/verify/report.h"
#include "relayout/error.h"

namespace relayout::cli {
namespace {

TEST(OriginalOf, IsNextToTheModel) {
  EXPECT_EQ(original_of("{stem}.onnx", "models/net.cl.onnx"), "models/net.onnx");
  EXPECT_EQ(original_of("{stem}.onnx", "net.v2.cl.onnx"), "net.v2.onnx");
  EXPECT_EQ(original_of("{stem}.orig", "net.onnx"), "net.orig");
  EXPECT_EQ(original_of("{name}.orig", "net.cl.onnx"), "net.cl.orig");
  EXPECT_EQ(original_of("{stem%.opt}.onnx", "a/net.opt.onnx"), "a/net.onnx");
  EXPECT_EQ(original_of("{stem%_int8}.onnx", "net_int8.onnx"), "net.onnx");
  EXPECT_EQ(original_of("reference.onnx", "a/net.onnx"), "a/reference.onnx");
}

TEST(OriginalOf, IsInTheFolderOfThePattern) {
  EXPECT_EQ(original_of("models/{stem}.onnx", "converted/net.cl.onnx"), "models/net.onnx");
  EXPECT_EQ(original_of("{dir}/../models/{stem}.onnx", "a/converted/net.cl.onnx"), "a/converted/../models/net.onnx");
  EXPECT_EQ(original_of("{dir}/{stem}.onnx", "net.cl.onnx"), "./net.onnx");
}

TEST(OriginalOf, RefusesInvalidPatterns) {
  for (const char* const pattern : {"{stem}.onnx", "{dir}/{name}.onnx", "{}", "{stem", "{Stem}.onnx", "{stem%}.onnx"}) {
    EXPECT_THROW((void)original_of(pattern, "a/net.onnx"), Error) << pattern;
  }
}

TEST(PairsExitCode, IsTheWorstByTheOrderOfTheContract) {
  const auto failed = [](int code) { return PairOutcome{"a", "b", {}, Failure{code, "", ""}}; };
  EXPECT_EQ(exit_code(std::vector{failed(1), failed(4), failed(3)}, false), 3);
  EXPECT_EQ(exit_code(std::vector{failed(5), failed(70), failed(1)}, false), 70);
  EXPECT_EQ(exit_code(std::vector<PairOutcome>{}, false), 0);
}

}  // namespace
}  // namespace relayout::cli
