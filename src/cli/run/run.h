// Declares the reports of this command.
#pragma once

// IWYU pragma: begin_exports
#include "cli/common/report.h"
#include "relayout/run.h"
// IWYU pragma: end_exports

namespace relayout::cli {

[[nodiscard]] std::string run_text(const RunResult& result, const RunOptions& options, const ReportStyle& style);
[[nodiscard]] Json run_json(const RunResult& result, const RunOptions& options);

}  // namespace relayout::cli
