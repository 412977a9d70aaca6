// Shows the progress of long work as a line of the terminal, with the time that is left.
#include "cli/common/progress.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/numbers.h"
#include "cli/common/terminal.h"

namespace relayout::cli {
namespace {

constexpr double kPatience = 0.5, kInterval = 0.1;  // seconds
constexpr int64_t kBarColumns = 24;

/// "40 s", "12 min", "3 h 20 min"
std::string rough_duration(double seconds) {
  constexpr double kMost = 1e9;
  const auto whole = static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, kMost)));
  if (whole < 100) return std::to_string(whole) + " s";
  const int64_t minutes = (whole + 59) / 60;
  if (minutes < 100) return std::to_string(minutes) + " min";
  return format_count(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

}  // namespace

Progress::Progress() : enabled_(error_is_terminal() && log_level() != LogLevel::quiet), next_(kPatience) {}

Progress::~Progress() {
  clear();
}

bool Progress::is_due() {
  if (!enabled_) return false;
  const double now = watch_.seconds();
  if (now < next_) return false;
  next_ = now + kInterval;
  return true;
}

void Progress::show(std::string_view what, int64_t done, int64_t total, const std::string& amount) {
  const double share = total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0;
  const auto full = static_cast<int64_t>(share * kBarColumns);
  std::string line = "\r" + std::string(what) + " ";
  for (int64_t i = 0; i < kBarColumns; ++i) line += i < full ? "█" : "░";
  line += " " + std::to_string(static_cast<int>(share * 100)) + " %  " + amount + "\x1b[K";
  write_error(line);
  shown_ = true;
}

void Progress::bytes(std::string_view what, int64_t done, int64_t total) {
  const std::lock_guard lock(mutex_);
  if (is_due()) show(what, done, total, format_bytes(done) + " of " + format_bytes(total));
}

void Progress::steps(std::string_view what, int64_t done, int64_t total) {
  steps(what, done, total, std::nullopt);
}

void Progress::steps(std::string_view what, int64_t done, int64_t total, std::optional<double> seconds_left) {
  const std::lock_guard lock(mutex_);
  if (!is_due()) return;
  const std::string left = seconds_left ? "  " + rough_duration(*seconds_left) + " left" : "";
  show(what, done, total, format_count(done) + " of " + format_count(total) + left);
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (shown_) write_error("\r\x1b[K");
  shown_ = false;
}

}  // namespace relayout::cli
