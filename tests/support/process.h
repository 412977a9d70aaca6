#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace relayout::test {

struct ProcessOptions {
  std::filesystem::path directory = {};                               ///< empty: that of this process
  std::string input = {};                                             ///< contents of standard input
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< in addition; an empty value removes the variable
  std::optional<std::filesystem::path> output = {};                   ///< file for standard output, instead of the result
  bool output_closed_pipe = false;                                    ///< standard output is a pipe without a reader
  bool terminal = false;                                              ///< standard output and error are one terminal
  int64_t file_size_limit = -1;                                       ///< RLIMIT_FSIZE
  std::optional<std::pair<double, int>> signal_after = {};            ///< seconds, signal
  std::function<void()> in_child = {};                                ///< just before the program starts; async-signal-safe
  double timeout = 60;                                                ///< seconds until SIGKILL
};

struct ProcessResult {
  int code = -1;  ///< exit code, -1 when a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::string out, err;  ///< with a terminal everything is in `out`
  double seconds = 0;
  int64_t peak_kib = 0;  ///< ru_maxrss
};

/// Runs a program to its end.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

/// Number of lines; a last one without newline counts.
[[nodiscard]] std::size_t line_count(std::string_view text);

}  // namespace relayout::test
