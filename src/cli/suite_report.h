#pragma once

#include <string>

#include "cli/report.h"
#include "relayout/suite.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

[[nodiscard]] std::string suite_text(const SuiteResult& result, const ReportStyle& style);
[[nodiscard]] JunitSuite junit_suite(const SuiteResult& result);
[[nodiscard]] Json suite_json(const SuiteResult& result);
/// What suite_json() wrote, from a file. Error{invalid} names the file and what is wrong with it.
[[nodiscard]] SuiteResult read_suite(const std::string& path);

}  // namespace relayout::cli
