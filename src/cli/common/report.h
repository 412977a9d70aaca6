#pragma once

// IWYU pragma: begin_exports
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/common/command.h"
#include "cli/common/failure.h"
#include "cli/common/option_rules.h"
#include "relayout/error.h"
#include "report/report.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// The style of the report, on standard error if `to_error`.
[[nodiscard]] ReportStyle style_of(const Common& common, bool to_error);
/// Writes the document of --json with the exit code of the program.
void write_document(Json document, int code);

class OptionSet;

/// The options that name a report's files. "-" is standard output; the report then goes to standard error.
struct ReportFiles {
  std::string html, junit, markdown;
  bool github = false;

  /// Notes an option for another file, whose path it holds when the options are read.
  void add(std::string_view option, const std::string& path) { others_.emplace_back(option, &path); }
  /// Tests all paths before the work. Error{usage} when two need standard output (with `json`, the report does), Error{io} when one cannot
  /// be written.
  void check(bool json) const;
  /// The style of the text, which goes to standard error when a file goes to standard output.
  [[nodiscard]] ReportStyle style(const Common& common) const;
  /// Writes the files. A failure to write one does not prevent the others. Returns the first failure.
  std::optional<Failure> write_files(const Report& report) const;
  /// Writes the files, and to standard output the document with --json, else the text. Returns the exit code. When a file cannot be
  /// written, the result is still reported: the document has "unwritten", and the code is 5 or a more severe one.
  int write(const Common& common, const Report& report) const;

 private:
  using Target = std::pair<std::string_view, const std::string*>;  ///< option, path
  [[nodiscard]] std::vector<Target> targets() const;
  [[nodiscard]] bool take_output() const;
  std::vector<Target> others_;
};

/// A test case, with the file that annotations refer to: the model that is judged (B of a pair).
[[nodiscard]] JunitCase judged_case(std::string class_name, std::string name, const std::string& judged);

/// The forms of a command that have a page, and those that have the other files; 0: all.
struct ReportForms {
  Forms page = 0, others = 0;
};

/// Declares --html (with this help), --junit, --markdown and --github.
void declare_report_files(OptionSet& options, ReportFiles& files, const char* html_help, const ReportForms& forms = {});

}  // namespace relayout::cli
