#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/report.h"
#include "relayout/suite.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

class OptionSet;
class Progress;

/// `verify --suite TREE`.
struct SuiteRequest {
  std::string tree, shard, expected;
  int64_t jobs = 0;  ///< 0: as many as there are CPUs
  std::optional<double> timeout;
  bool allow_empty = false;
};

void declare_suite_options(OptionSet& options, SuiteRequest& request);
/// Runs the tree, each case by this very program with `options` (--mode, --rtol …).
[[nodiscard]] SuiteResult run_suite(const SuiteRequest& request, const std::vector<std::string>& options, Progress& progress);

[[nodiscard]] std::string suite_text(const SuiteResult& result, const ReportStyle& style);
[[nodiscard]] Json suite_json(const SuiteResult& result);
[[nodiscard]] JunitSuite junit_suite(const SuiteResult& result);

}  // namespace relayout::cli
