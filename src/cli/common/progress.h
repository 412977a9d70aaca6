#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/times.h"

namespace relayout::cli {

/// One line on standard error that shows the progress of long work. It appears only on a terminal, after half a second and without --quiet,
/// changes at most ten times a second, and is cleared by the destructor. Methods are thread-safe.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "writing ████████░░░░ 61 %  1.2 of 1.9 GB"
  void bytes(std::string_view what, int64_t done, int64_t total);
  /// "verifying ██████░░░░░░ 50 %  2 of 4"
  void steps(std::string_view what, int64_t done, int64_t total);
  /// "verifying ██████░░░░░░ 50 %  2,000 of 4,000  12 min left"
  void steps(std::string_view what, int64_t done, int64_t total, std::optional<double> seconds_left);
  /// Clears the line, so that other output can be written.
  void clear();

 private:
  [[nodiscard]] bool is_due();
  void show(std::string_view what, int64_t done, int64_t total, const std::string& amount);

  bool enabled_;
  bool shown_ = false;
  Stopwatch watch_;
  double next_;  ///< time of `watch_` in seconds before which nothing is shown
  std::mutex mutex_;
};

}  // namespace relayout::cli
