#pragma once

#include <string>
#include <utility>
#include <vector>

namespace relayout {

enum class LogLevel { quiet, normal, verbose };

/// Log lines are written to stderr; only log.cpp depends on spdlog. Warnings have the form "relayout: warning: …".
void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level();
void log_warning(const std::string& message);  ///< not with quiet
/// From then on, each warning is written only once, as a command may read a file several times.
void write_warnings_once();
/// During its lifetime, warnings of this thread are discarded, as a second run of the same work would repeat them.
class MutedWarnings {
 public:
  MutedWarnings();
  ~MutedWarnings();
  MutedWarnings(const MutedWarnings&) = delete;
  MutedWarnings& operator=(const MutedWarnings&) = delete;
};
/// During its lifetime, warnings of this thread are kept instead of written, so that concurrent work can report them in order.
class HeldWarnings {
 public:
  HeldWarnings();
  ~HeldWarnings();
  HeldWarnings(const HeldWarnings&) = delete;
  HeldWarnings& operator=(const HeldWarnings&) = delete;
  [[nodiscard]] std::vector<std::string> take() { return std::move(messages_); }

 private:
  std::vector<std::string> messages_;
};
void log_detail(const std::string& message);  ///< with verbose only
/// "WHAT: 1.23 ms", with verbose only.
void log_time(const std::string& what, double seconds);

}  // namespace relayout
