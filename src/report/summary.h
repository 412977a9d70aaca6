#pragma once

#include <string>
#include <vector>

#include "report/junit.h"

namespace relayout {

/// The report as Markdown for GitHub's step summaries and GitLab's comments: a table with a row per suite, followed by the failures. Names
/// and messages are code, so that nothing in them is markup, a link or a mention.
[[nodiscard]] std::string markdown_text(const std::vector<JunitSuite>& suites);

/// One line `::error file=…::…` per file with failed cases, and `::warning` for skipped cases, in the format of GitHub's runner.
[[nodiscard]] std::string github_annotations(const std::vector<JunitSuite>& suites);

}  // namespace relayout
