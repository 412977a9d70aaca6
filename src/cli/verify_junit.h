#pragma once

#include <string>

#include "cli/failure.h"
#include "relayout/verify.h"
#include "report/junit.h"

namespace relayout::cli {

/// A test case, with the file that annotations refer to: the model that is judged (B of a pair).
[[nodiscard]] JunitCase judged_case(std::string class_name, std::string name, const std::string& judged);

/// One suite: the interfaces, and one case per output and sample.
[[nodiscard]] JunitSuite junit_suite(const VerifyResult& result, bool allow_inconclusive);
/// One case per stored case.
[[nodiscard]] JunitSuite junit_suite(const DataResult& result);
/// The report of a run without a result.
[[nodiscard]] JunitSuite junit_suite(const std::string& model, const Failure& failure);

}  // namespace relayout::cli
