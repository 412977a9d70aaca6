// Writes a report to standard output and to files, which are tested before the work, because that may be long.
#include "cli/common/report.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/common/options.h"
#include "cli/common/terminal.h"
#include "report/junit.h"

namespace relayout::cli {

void Destinations::add(std::string_view option, const std::string& path) {
  if (!path.empty()) paths_.emplace_back(option, path);
}

void Destinations::check(bool json) const {
  std::string taken = json ? "--json" : "";
  for (const auto& [option, path] : paths_) {
    if (path != kStream) {
      check_text_file(path);
      continue;
    }
    if (!taken.empty()) fail(ErrorKind::usage, std::string(taken).append(" and ").append(option).append(" - both want standard output"));
    taken = std::string(option).append(" -");
  }
}

bool Destinations::take_output() const {
  return std::ranges::any_of(paths_, [](const auto& entry) { return entry.second == kStream; });
}

ReportStyle style_of(const Common& common, bool to_error) {
  return {
      .verbose = common.verbose, .color = !to_error && output_has_colors(), .quiet = common.quiet, .width = to_error ? 0 : output_width()};
}

void write_destination(const std::string& path, std::string_view text) {
  if (path.empty()) return;
  if (path == kStream) {
    write_output(text);
  } else {
    write_text_file(path, text);
  }
}

void write_document(Json document, int code) {
  write_output(document.set("exit_code", code).dump() + "\n");
}

// Verdicts in all their forms.
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

JunitCase judged_case(std::string class_name, std::string name, const std::string& judged) {
  JunitCase out;
  out.class_name = std::move(class_name);
  out.name = std::move(name);
  out.file = judged;
  return out;
}

void declare_report_files(OptionSet& options, ReportFiles& files, const char* html_help, const ReportForms& forms) {
  options.text("--html", "FILE", files.html, html_help).only(forms.page).beside_results();
  options.text("--junit", "FILE", files.junit, "one test case per output and sample, as GitLab, Jenkins and GitHub actions show it")
      .only(forms.others)
      .beside_results();
  options.text("--markdown", "FILE", files.markdown, "a summary for people, as step summaries and merge requests show it")
      .only(forms.others)
      .beside_results();
  options.flag("--github", files.github, "annotations of the files at fault on standard error, as GitHub's runner reads them")
      .only(forms.others)
      .beside_results();
}

}  // namespace relayout::cli
