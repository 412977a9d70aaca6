#pragma once

#include <string>
#include <vector>

namespace relayout {

/// Exit and output of a program.
struct ChildResult {
  int code = -1;           ///< exit code, -1 when a signal ended it
  int signal = 0;          ///< that ended it; 0: none
  bool timed_out = false;  ///< it was killed because it took too long
  std::string out, err;    ///< its output, up to 16 MiB of each
  double seconds = 0;
};

/// Runs a program to its end with empty standard input. It is killed after `timeout` seconds, when this process is interrupted
/// (Error{interrupted}), and when this process dies. Safe from several threads. Error{io} if no process can be started; a program that
/// cannot be executed exits with 127.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& command, double timeout);

}  // namespace relayout
