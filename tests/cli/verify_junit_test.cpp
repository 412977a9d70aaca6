#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verify/report.h"
#include "relayout/verify.h"
#include "report/junit.h"

namespace relayout::cli {
namespace {

using ::testing::HasSubstr;

/// One output of two samples, of which the second has this outcome.
VerifyResult result_of(Outcome outcome, const std::string& reason) {
  VerifyResult result;
  result.a = "a.onnx";
  result.b = "models/b.onnx";
  result.samples = 2;
  result.outcome = outcome;
  OutputComparison output;
  output.name = "y";
  output.outcome = outcome;
  output.reason = reason;
  output.samples.resize(2);
  output.samples[1].sample = 1;
  if (outcome == Outcome::different) {
    output.samples[1].outcome = outcome;
    output.samples[1].reason = reason;
  }
  result.outputs.push_back(output);
  return result;
}

std::vector<std::string> names(const JunitSuite& suite, JunitCase::Status status) {
  std::vector<std::string> out;
  for (const JunitCase& one : suite.cases) {
    if (one.status == status) out.push_back(one.name);
  }
  return out;
}

TEST(VerifyJunit, OneCasePerOutputAndSample) {
  const JunitSuite suite = junit_suite(result_of(Outcome::same, ""), false);
  EXPECT_EQ(names(suite, JunitCase::Status::passed), (std::vector<std::string>{"interface", "y sample 0", "y sample 1", "verdict"}));
  EXPECT_EQ(suite.cases.front().class_name, "relayout.verify.b");
  EXPECT_EQ(suite.cases.front().file, "models/b.onnx");
}

TEST(VerifyJunit, ADifferenceFailsItsSampleAndTheVerdict) {
  const JunitSuite suite = junit_suite(result_of(Outcome::different, "error/range 1.0e-01 is above 1.0e-06"), false);
  EXPECT_EQ(names(suite, JunitCase::Status::failed), (std::vector<std::string>{"y sample 1", "verdict"}));
  EXPECT_EQ(suite.cases[2].message, "error/range 1.0e-01 is above 1.0e-06");
}

TEST(VerifyJunit, InterfaceDifferencesFail) {
  using Field = InterfaceDifference::Field;
  VerifyResult result = result_of(Outcome::different, "");
  result.outputs.front().samples.clear();
  result.outputs.front().reason = "missing in models/b.onnx";
  result.interface = {{"output", "y", Field::missing, "f32[2]", "", false}, {"input", "x", Field::dim, "free", "2", true, false, 0}};
  const JunitSuite suite = junit_suite(result, false);
  EXPECT_EQ(names(suite, JunitCase::Status::failed), (std::vector<std::string>{"interface", "y", "verdict"}));
  EXPECT_THAT(suite.cases[0].message, HasSubstr("output 'y' (f32[2]) is missing in models/b.onnx"));
  EXPECT_EQ(suite.cases[0].details, "") << "a remark fails nothing";
}

TEST(VerifyJunit, InconclusiveFailsUnlessAllowed) {
  const VerifyResult result = result_of(Outcome::inconclusive, "constant");
  const std::vector<std::string> all{"y sample 0", "y sample 1", "verdict"};
  EXPECT_EQ(names(junit_suite(result, false), JunitCase::Status::failed), all);
  EXPECT_EQ(names(junit_suite(result, true), JunitCase::Status::skipped), all);
}

TEST(VerifyJunit, ModelsThatCannotRunAreErrors) {
  VerifyResult result = result_of(Outcome::inconclusive, "");
  result.outputs.clear();
  result.unsupported_b = {{"roi", "MaxUnpool", "", 11, "indices"}};
  const JunitSuite suite = junit_suite(result, true);
  EXPECT_EQ(names(suite, JunitCase::Status::error), std::vector<std::string>{"verdict"});
  EXPECT_THAT(suite.cases.back().message, HasSubstr("cannot run 1 node: 'roi'"));
  const JunitSuite failure = junit_suite("net.onnx", {3, "net.onnx: not an ONNX model", ""});
  EXPECT_EQ(names(failure, JunitCase::Status::error), std::vector<std::string>{"verdict"});
  EXPECT_EQ(failure.cases.front().message, "net.onnx: not an ONNX model");
}

TEST(VerifyJunit, StoredCases) {
  DataResult result;
  result.model = "net.onnx";
  result.cases = {{"test_data_set_0 (as-written)", "passed", "", 0.1, 0, 0},
                  {"test_data_set_0 (optimized)", "pass-loose", "output 'y': too far", 0.1, 0, 0},
                  {"test_data_set_1 (optimized)", "unsupported", "cannot run", 0.1, 0, 0}};
  const JunitSuite suite = data_report(result).suites.front();
  EXPECT_EQ(names(suite, JunitCase::Status::failed), std::vector<std::string>{"test_data_set_0 (optimized)"});
  EXPECT_EQ(names(suite, JunitCase::Status::error), std::vector<std::string>{"test_data_set_1 (optimized)"});
  EXPECT_EQ(suite.cases[0].seconds, 0.1);
}

}  // namespace
}  // namespace relayout::cli
