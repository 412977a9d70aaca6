#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/report.h"
#include "report/json.h"

namespace relayout::cli {

/// The files that a command writes in addition to its report. "-" is standard output; the report then goes to standard error.
class Destinations {
 public:
  /// Ignores an empty path.
  void add(std::string_view option, const std::string& path);
  /// Tests all paths before the work. Error{usage} when two need standard output (with `json`, the report does), Error{io} when one cannot
  /// be written.
  void check(bool json) const;
  [[nodiscard]] bool take_output() const;

 private:
  std::vector<std::pair<std::string, std::string>> paths_;  ///< option, path
};

/// The style of the report, on standard error if `to_error`.
[[nodiscard]] ReportStyle style_of(const Common& common, bool to_error);
/// Writes to one destination.
void write_destination(const std::string& path, std::string_view text);
/// Writes the document of --json with the exit code of the program.
void write_document(Json document, int code);

}  // namespace relayout::cli
