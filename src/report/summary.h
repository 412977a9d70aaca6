#pragma once

#include <string>
#include <vector>

#include "report/junit.h"

namespace relayout {

/// The report as Markdown that GitHub's step summaries and GitLab's comments show: a table with a row per suite, below it what failed.
/// Names and messages are code, so that nothing in them is markup, a link or a mention.
[[nodiscard]] std::string markdown_text(const std::vector<JunitSuite>& suites);

/// One line `::error file=…::…` (or `::warning`, of what was skipped) per file with such cases, as GitHub's runner reads them.
[[nodiscard]] std::string github_annotations(const std::vector<JunitSuite>& suites);

}  // namespace relayout
