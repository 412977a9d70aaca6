#pragma once

#include <cstddef>
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
  /// "verifying ██████░░░░░░ 50 %  2,000 of 4,000  12 min left"
  void steps(std::string_view what, int64_t done, int64_t total, std::optional<double> seconds_left = std::nullopt);
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

/// Writes all of `text` to standard output or throws Error{io}. A closed pipe (`| head`) ends the program silently, as SIGPIPE does.
void write_output(std::string_view text);
/// Writes a text report to standard output, in the locale's characters and in lines that fit the terminal.
void write_report(std::string_view text);
/// Writes a long text: on a terminal through the user's pager (PAGER, else less), which ends by itself where the text fits the screen.
void page_output(std::string_view text);
/// Whether anything was written to standard output.
[[nodiscard]] bool has_written_output();
/// Writes to standard error in the locale's characters. Text that cannot be written is lost.
void write_error(std::string_view text) noexcept;

[[nodiscard]] bool output_is_terminal();
[[nodiscard]] bool error_is_terminal();

/// Width of the terminal of standard output, at least 40; 0 when it is not a terminal. COLUMNS applies where the terminal does not report a
/// width.
[[nodiscard]] std::size_t output_width();
/// Width of text that is broken in files as on terminals: `most`, or less, but at least 40, where the terminal of standard output or
/// COLUMNS is narrower.
[[nodiscard]] std::size_t text_width(std::size_t most);
/// Width of the terminal of standard error, likewise.
[[nodiscard]] std::size_t error_width();

enum class ColorChoice { automatic, always, never };
/// --color; `automatic` colors a terminal unless NO_COLOR is set (https://no-color.org) or TERM is "dumb".
void set_color(ColorChoice choice);

/// Whether standard output gets colors.
[[nodiscard]] bool output_has_colors();

/// Writes all control characters as \xNN, so that a message is one line and cannot move the cursor.
[[nodiscard]] std::string printable(std::string_view message);

}  // namespace relayout::cli
