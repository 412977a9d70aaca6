// Writes a report to standard output and to files, which are tested before the work, because that may be long.
#include "cli/common/report.h"

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/common/options.h"
#include "cli/common/terminal.h"

namespace relayout::cli {

ReportStyle style_of(const Common& common, bool to_error) {
  return {.verbose = common.verbose,
          .color = !to_error && output_has_colors(),
          .width = to_error ? 0 : output_width(),
          .form = common.quiet ? Form::quiet : Form::text};
}

void write_document(Json document, int code) {
  write_output(document.set("exit_code", code).dump() + "\n");
}

std::vector<ReportFiles::Target> ReportFiles::targets() const {
  std::vector<Target> out{{"--html", &html}, {"--junit", &junit}, {"--markdown", &markdown}};
  out.insert(out.end(), others_.begin(), others_.end());
  return out;
}

bool ReportFiles::take_output() const {
  return std::ranges::any_of(targets(), [](const Target& target) { return *target.second == kStream; });
}

void ReportFiles::check(bool json) const {
  std::string taken = json ? "--json" : "";
  for (const auto& [option, path] : targets()) {
    if (!path->empty() && *path != kStream) check_text_file(*path);
    if (*path != kStream) continue;
    if (!taken.empty()) fail(ErrorKind::usage, std::string(taken).append(" and ").append(option).append(" - both want standard output"));
    taken = std::string(option).append(" -");
  }
}

ReportStyle ReportFiles::style(const Common& common) const {
  return style_of(common, take_output());
}

std::optional<Failure> ReportFiles::write_files(const Report& report) const {
  std::optional<Failure> out;
  const auto write = [&](const std::string& path, const auto& text) {
    if (path.empty()) return;
    try {
      path == kStream ? write_output(text()) : write_text_file(path, text());
    } catch (const Error& error) {
      if (is_pipe_closed() || error.kind() != ErrorKind::io) throw;
      if (!out) out = current_failure();
    }
  };
  write(junit, [&] { return junit_text(report.suites); });
  write(markdown, [&] { return markdown_of(report); });
  write(html, [&] { return html_of(report); });
  for (const auto& [path, text] : report.files) write(path, text);
  if (github) write_error(github_annotations(report.suites));
  return out;
}

int ReportFiles::write(const Common& common, const Report& report) const {
  const std::optional<Failure> failure = write_files(report);
  const int code = failure ? worse_code(report.code, failure->code) : report.code;
  if (common.json) {
    Json document = report.document();
    if (failure) document.set("unwritten", error_json(*failure));
    write_document(std::move(document), code);
  } else {
    (take_output() ? write_error : write_report)(text_of(report, style(common)));
  }
  if (failure) print_failure(*failure, common.verbose);
  return code;
}

JunitCase judged_case(std::string class_name, std::string name, const std::string& judged) {
  return {.class_name = std::move(class_name), .name = std::move(name), .file = judged};
}

void declare_report_files(OptionSet& options, ReportFiles& files, const char* html_help, const ReportForms& forms) {
  options.text("--html", "FILE", files.html, html_help).only(forms.page);
  options.text("--junit", "FILE", files.junit, "write a test case per output and sample, for GitLab, Jenkins and GitHub actions")
      .only(forms.others);
  options.text("--markdown", "FILE", files.markdown, "write a summary for step summaries and merge requests").only(forms.others);
  options.flag("--github", files.github, "print annotations of the files at fault on standard error, for GitHub's runner")
      .only(forms.others);
}

}  // namespace relayout::cli
