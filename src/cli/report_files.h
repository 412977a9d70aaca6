#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/failure.h"
#include "cli/report.h"
#include "cli/report_destinations.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

class OptionSet;

/// A verdict in all its forms.
struct VerdictForms {
  std::vector<JunitSuite> suites;
  Json document;
  std::string text;
  std::function<std::string()> page = {};  ///< HTML, computed on request
  int code = 0;                            ///< exit code of the verdict
};

/// The destinations of a verdict besides standard output.
struct ReportFiles {
  std::string html, junit, markdown;
  bool github = false;

  [[nodiscard]] Destinations destinations() const;
  /// The style of the text, which goes to standard error when a file goes to standard output.
  [[nodiscard]] ReportStyle style(const Common& common) const;
  /// Writes the report in the forms that CI services read. A failure to write one form does not prevent the others. Returns the first
  /// failure.
  std::optional<Failure> write_files(const std::vector<JunitSuite>& suites, const std::function<std::string()>& page = {}) const;
  /// Writes the files, and to standard output the document with --json, else the text. Returns the exit code. When a file cannot be
  /// written, the verdict is still reported: the document has "unwritten", and the code is 5 or a more severe one.
  int write(const Common& common, VerdictForms forms) const;

 private:
  void write_result(const Common& common, const Json& document, const std::string& text) const;
};

/// Declares --html (with this help), --junit, --markdown and --github.
void declare_report_files(OptionSet& options, ReportFiles& files, const char* html_help);

}  // namespace relayout::cli
