// Writes a verdict in all its forms: text or --json, --html, --junit, --markdown, --github; a file that cannot be written adds to the exit
// code.
#include "cli/report_files.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "cli/command.h"
#include "cli/failure.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/report_destinations.h"
#include "cli/terminal.h"
#include "relayout/error.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/summary.h"

namespace relayout::cli {

Destinations ReportFiles::destinations() const {
  Destinations out;
  out.add("--html", html);
  out.add("--junit", junit);
  out.add("--markdown", markdown);
  return out;
}

ReportStyle ReportFiles::style(const Common& common) const {
  return style_of(common, destinations().take_output());
}

std::optional<Failure> ReportFiles::write_files(const std::vector<JunitSuite>& suites, const std::function<std::string()>& page) const {
  std::optional<Failure> out;
  const auto write = [&](const std::string& path, const auto& text) {
    if (path.empty()) return;
    try {
      write_destination(path, text());
    } catch (const Error& error) {
      if (is_pipe_closed() || error.kind() != ErrorKind::io) throw;
      if (!out) out = current_failure();
    }
  };
  write(junit, [&] { return junit_text(suites); });
  write(markdown, [&] { return markdown_text(suites); });
  if (page) write(html, page);
  if (github) write_error(github_annotations(suites));
  return out;
}

int ReportFiles::write(const Common& common, VerdictForms forms) const {
  const std::optional<Failure> failure = write_files(forms.suites, forms.page);
  if (failure) {
    forms.code = worse_code(forms.code, failure->code);
    forms.document.set("unwritten", error_json(*failure)).set("exit_code", forms.code);
  }
  write_result(common, forms.document, forms.text);
  if (failure) print_failure(*failure, common.verbose);
  return forms.code;
}

void ReportFiles::write_result(const Common& common, const Json& document, const std::string& text) const {
  if (common.json) return write_output(document.dump() + "\n");
  (destinations().take_output() ? write_error : write_report)(text);
}

void declare_report_files(OptionSet& options, ReportFiles& files, const char* html_help) {
  options.text("--html", "FILE", files.html, html_help);
  options.text("--junit", "FILE", files.junit, "one test case per output and sample, as GitLab, Jenkins and GitHub actions show it");
  options.text("--markdown", "FILE", files.markdown, "a summary for people, as step summaries and merge requests show it");
  options.flag("--github", files.github, "annotations of the files at fault on standard error, as GitHub's runner reads them");
}

}  // namespace relayout::cli
