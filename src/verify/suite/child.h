#pragma once

#include <string>
#include <vector>

namespace relayout {

/// How a program ended.
struct ChildResult {
  int code = -1;           ///< exit code, -1 when a signal ended it
  int signal = 0;          ///< that ended it
  bool timed_out = false;  ///< it was killed because it took too long
  std::string out, err;    ///< its output, as much as is kept
  double seconds = 0;
};

/// Runs a program to its end with nothing on its standard input. It is killed after `timeout` seconds, when this process is
/// interrupted (Error{interrupted}), and when this process dies. Safe from several threads. Error{io} when it cannot be started.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& command, double timeout);

}  // namespace relayout
