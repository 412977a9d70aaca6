// Writes to standard output and standard error as the terminal or the pipe behind them can show it.
#include "cli/common/terminal.h"

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/interrupt.h"
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

/// The variable COLUMNS; 0 when it is not set or not a number from 0 on.
std::size_t columns_variable() {
  return as_size(std::max<int64_t>(whole_number(environment("COLUMNS")).value_or(0), 0));
}

/// Width of a stream's terminal; 0 when it is not known.
std::size_t terminal_columns(int descriptor) {
  winsize size = {};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

/// Columns of a stream's terminal or of COLUMNS; 0 when neither is known.
std::size_t columns_of(int descriptor) {
  const std::size_t columns = terminal_columns(descriptor);
  return columns > 0 ? columns : columns_variable();
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

}  // namespace relayout::cli
