#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/json.h"

namespace relayout::cli {

/// The files that a command writes beside its report; "-" is standard output, and then the report goes to standard error.
class Destinations {
 public:
  /// An empty path is none.
  void add(std::string_view option, const std::string& path);
  /// Tries all of them before the work. Error{usage} when two want standard output (with `json`, the report does), Error{io} when one
  /// cannot be written.
  void check(bool json) const;
  [[nodiscard]] bool take_output() const;

 private:
  std::vector<std::pair<std::string, std::string>> paths_;  ///< option, path
};

/// Writes one of them.
void write_destination(const std::string& path, std::string_view text);
/// The document of --json, with the exit code of the program.
void write_document(Json document, int code);

}  // namespace relayout::cli
