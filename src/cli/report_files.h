#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/destinations.h"
#include "cli/report.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

class OptionSet;

/// Where a verdict goes besides standard output, and in which form.
struct ReportFiles {
  std::string html, junit, markdown;
  bool github = false;

  [[nodiscard]] Destinations destinations() const;
  /// How the text is to be made: it makes way where a file goes to standard output.
  [[nodiscard]] ReportStyle style(const Common& common) const;
  /// What the services that run a job read: all of it is the same report.
  void write(const std::vector<JunitSuite>& suites) const;
  /// The document with --json, else the text; --quiet leaves its last line, the verdict.
  void write_result(const Common& common, const Json& document, const std::string& text) const;
};

/// --html (with this help), --junit, --markdown and --github.
void declare_report_files(OptionSet& options, ReportFiles& files, const char* html_help);

}  // namespace relayout::cli
