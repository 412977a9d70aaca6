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
  std::function<std::string()> page = {};  ///< HTML, made when it is asked for
  int code = 0;                            ///< exit code of the verdict
};

/// The destination of a verdict besides standard output, and its form.
struct ReportFiles {
  std::string html, junit, markdown;
  bool github = false;

  [[nodiscard]] Destinations destinations() const;
  /// How the text is to be made: it makes way where a file goes to standard output.
  [[nodiscard]] ReportStyle style(const Common& common) const;
  /// What the services that run a job read: all of it is the same report. What cannot be written does not keep the rest from being written;
  /// returns the first such failure.
  std::optional<Failure> write_files(const std::vector<JunitSuite>& suites, const std::function<std::string()>& page = {}) const;
  /// Writes the files, and to standard output the document with --json, else the text. Returns the exit code. A verdict is not lost to a
  /// full disk: where a file cannot be written, the document says so ("unwritten"), and the code is 5.
  int write(const Common& common, VerdictForms forms) const;

 private:
  void write_result(const Common& common, const Json& document, const std::string& text) const;
};

/// --html (with this help), --junit, --markdown and --github.
void declare_report_files(OptionSet& options, ReportFiles& files, const char* html_help);

}  // namespace relayout::cli
