// Destinations of reports (--html, --junit, --dot, --csv …): one at most is standard output, and paths that cannot be written are refused
// before the work, which may be long.
#include "cli/report_destinations.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/standard_stream.h"
#include "base/text_file.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "relayout/error.h"
#include "report/json.h"

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

}  // namespace relayout::cli
