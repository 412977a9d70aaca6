#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace relayout::cli {

/// One line on standard error that shows how far long work has come: only on a terminal, only after half a second, ten times a
/// second at most, gone when the object ends. Calls may come from several threads.
class Progress {
 public:
  explicit Progress(bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "writing ████████░░░░ 61 %  1.2 of 1.9 GB"
  void bytes(std::string_view what, int64_t done, int64_t total);
  /// "verifying ██████░░░░░░ 50 %  2 of 4"
  void steps(std::string_view what, int64_t done, int64_t total);
  /// "verifying ██████░░░░░░ 50 %  2,000 of 4,000  12 min left"
  void steps(std::string_view what, int64_t done, int64_t total, std::optional<double> seconds_left);
  /// Takes the line away, for something else to be written.
  void clear();

 private:
  [[nodiscard]] bool is_due();
  void show(std::string_view what, int64_t done, int64_t total, const std::string& amount);

  bool enabled_;
  bool shown_ = false;
  Stopwatch watch_;
  double next_;  ///< seconds on it, before which nothing is shown
  std::mutex mutex_;
};

}  // namespace relayout::cli
