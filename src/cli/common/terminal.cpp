// Writes to standard output and standard error as the terminal or the pipe behind them can show it, and shows the progress of long work.

#include "cli/common/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kUnknownWidth = 80;  ///< of terminals that do not report their width
constexpr std::size_t kNarrowest = 40;     ///< narrower terminals are treated like terminals of this width

ColorChoice g_color = ColorChoice::automatic;
bool g_has_written = false;

/// Columns of a stream's terminal or of COLUMNS; 0 when neither is known.
std::size_t columns_of(int descriptor) {
  winsize size = {};
  const bool is_known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;  // NOLINT(cppcoreguidelines-pro-type-vararg)
  return is_known ? size.ws_col : as_size(std::max<int64_t>(whole_number(environment("COLUMNS")).value_or(0), 0));
}

/// The width at which lines are broken for a stream that is a terminal.
std::size_t width_of(int descriptor) {
  const std::size_t columns = columns_of(descriptor);
  return columns == 0 ? kUnknownWidth : std::max(columns, kNarrowest);
}

}  // namespace

void write_output(std::string_view text) {
  g_has_written = true;
  const int error = write_all(STDOUT_FILENO, text);
  if (error == EPIPE) end_by_closed_pipe();
  if (error != 0) fail(ErrorKind::io, "cannot write to standard output: " + system_message(error));
}

void page_output(std::string_view text) {
  const std::string pager = environment("PAGER");
  std::FILE* const pipe = output_is_terminal() && pager != "cat" ? popen(pager.empty() ? "LESS=FRX less" : pager.c_str(), "w") : nullptr;
  if (pipe == nullptr) return write_output(text);
  std::fwrite(text.data(), 1, text.size(), pipe);  // a pager that ends early has shown enough
  constexpr int kNotFound = 127;
  if (const int status = pclose(pipe); WIFEXITED(status) && WEXITSTATUS(status) == kNotFound) write_output(text);
}

void write_report(std::string_view text) {
  write_output(in_locale(fit_lines(text, output_width())));
}

bool has_written_output() {
  return g_has_written;
}

void write_error(std::string_view text) noexcept {
  try {
    (void)write_all(STDERR_FILENO, in_locale(text));
  } catch (...) {
    (void)write_all(STDERR_FILENO, text);  // out of memory: writes the text unchanged
  }
}

std::size_t output_width() {
  return output_is_terminal() ? width_of(STDOUT_FILENO) : 0;
}

std::size_t text_width(std::size_t most) {
  const std::size_t columns = columns_of(STDOUT_FILENO);
  return columns == 0 ? most : std::clamp(columns, kNarrowest, most);
}

std::size_t error_width() {
  return error_is_terminal() ? width_of(STDERR_FILENO) : 0;
}

bool output_is_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}
bool error_is_terminal() {
  return isatty(STDERR_FILENO) == 1;
}

void set_color(ColorChoice choice) {
  g_color = choice;
}

bool output_has_colors() {
  if (g_color != ColorChoice::automatic) return g_color == ColorChoice::always;
  return environment("NO_COLOR").empty() && output_is_terminal() && environment("TERM") != "dumb";
}

std::string printable(std::string_view message) {
  std::string out;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out += c;
      continue;
    }
    std::array<char, 5> hex{};
    std::snprintf(hex.data(), hex.size(), "\\x%02x", byte);
    out += hex.data();
  }
  return out;
}

// Progress: a line with the time that is left.
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
