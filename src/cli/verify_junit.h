#pragma once

#include <string>

#include "cli/failure.h"
#include "relayout/verify.h"
#include "report/junit.h"

namespace relayout::cli {

/// One suite: the interfaces, and one case per output and sample.
[[nodiscard]] JunitSuite junit_suite(const VerifyResult& result, bool allow_inconclusive);
/// One case per stored case.
[[nodiscard]] JunitSuite junit_suite(const DataResult& result);
/// The report of a run without a result.
[[nodiscard]] JunitSuite junit_suite(const std::string& model, const Failure& failure);

}  // namespace relayout::cli
