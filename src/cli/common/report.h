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
#include "report/json.h"
#include "report/junit.h"
#include "report/table.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// The style of a printed report.
struct ReportStyle {
  bool verbose = false;
  bool color = false;
  bool layers = false;    ///< verify: the table of errors against depth
  bool quiet = false;     ///< the verdict alone
  bool refusals = false;  ///< convert: every refused node
  std::size_t width = 0;  ///< columns; 0: any
};

/// Tables have fewer columns in terminals narrower than this.
inline constexpr std::size_t kUsualWidth = 80;
[[nodiscard]] inline bool has_columns(const ReportStyle& style, std::size_t width) {
  return style.width == 0 || style.width >= width;
}

/// The style of the report, on standard error if `to_error`.
[[nodiscard]] ReportStyle style_of(const Common& common, bool to_error);
/// Writes the document of --json with the exit code of the program.
void write_document(Json document, int code);

class OptionSet;

/// What a command has found, in the forms that it has. Forms are made only where they are asked for.
struct Report {
  /// A file besides the report: its path, "-" for standard output or empty for none, and its contents.
  using File = std::pair<std::string, std::function<std::string()>>;

  std::function<std::string(ReportStyle)> text = {};
  std::function<Json()> document = {};
  std::vector<JunitSuite> suites = {};              ///< test cases
  std::function<std::string()> page = {};           ///< HTML
  std::function<std::string()> markdown_page = {};  ///< Markdown, where it is not a summary of the test cases
  std::vector<File> files = {};                     ///< others
  int code = 0;                                     ///< exit code
};

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
