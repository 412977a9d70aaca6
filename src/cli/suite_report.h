#pragma once

#include <string>

#include "cli/command.h"
#include "cli/report.h"
#include "cli/report_files.h"
#include "relayout/suite.h"
#include "report/junit.h"
#include "report/table.h"

namespace relayout::cli {

[[nodiscard]] std::string suite_text(const SuiteResult& result, const ReportStyle& style);
[[nodiscard]] JunitSuite junit_suite(const SuiteResult& result);
/// A page of all cases, for search and filters.
[[nodiscard]] std::string suite_html(const SuiteResult& result);
/// Writes the result in all requested forms and returns its exit code.
int write_suite(const SuiteResult& result, const ReportFiles& files, const Common& common);
/// "3 of 132 cases passed · 1 failed · 12 s"
[[nodiscard]] std::string suite_summary(const SuiteResult& result);
/// The verdict in a few words, styled as good or bad.
[[nodiscard]] Cell suite_verdict(const SuiteResult& result);
/// "shard 2/4: 33 of 132 cases"; empty for the whole suite.
[[nodiscard]] std::string suite_part(const SuiteResult& result);
/// The remark on a case: its message, or the reason why its status was expected.
[[nodiscard]] std::string case_remark(const SuiteCase& one);

}  // namespace relayout::cli
