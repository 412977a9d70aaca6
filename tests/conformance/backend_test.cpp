#include <gtest/gtest.h>

#include <cstdlib>

#include "report/json.h"
#include "support/paths.h"
#include "support/process.h"

namespace relayout::test {
namespace {

/// The data of the ONNX backend test: Debian's package libonnx-testdata, or the folder that the variable names.
std::filesystem::path tree() {
  const char* const given = std::getenv("RELAYOUT_ONNX_TESTS");  // NOLINT(concurrency-mt-unsafe): no thread changes it
  return given != nullptr ? given : "/usr/share/libonnx-testdata/data";
}

/// The number of cases of ONNX 1.17 in the default domain without training: the denominator of the share.
constexpr double kCases = 1412;
constexpr double kShare = 0.98;

TEST(ConformanceModels, BackendTestEndsAsListed) {
  if (!std::filesystem::is_directory(tree())) GTEST_SKIP() << "no " << tree() << " (package libonnx-testdata)";
  ProcessOptions options;
  options.timeout = 900;
  options.environment = {{"CI_NODE_INDEX", ""}, {"CI_NODE_TOTAL", ""}};
  const std::string list = source_folder() + "/testdata/conformance/onnx-1.17.txt";
  const ProcessResult result = run_process({program(), "verify", "--suite", tree().string(), "--expected", list, "--json"}, options);
  ASSERT_FALSE(result.timed_out);
  const Json report = Json::parse(result.out, "report");
  const Json cases = *report.find("cases");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Json one = *cases.at(i);
    const std::string status = *one.find("status")->text();
    const std::string expected = one.find("expected") ? *one.find("expected")->text() : "passed";
    EXPECT_EQ(status, expected) << *one.find("name")->text() << ": " << *one.find("message")->text();
  }
  EXPECT_EQ(report.find("summary")->find("stale")->size(), 0U) << "listed, but not in the tree";
  EXPECT_GE(*report.find("summary")->find("passed")->number(), kShare * kCases);
  EXPECT_EQ(result.code, 0) << result.err;
}

}  // namespace
}  // namespace relayout::test
