#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relayout::cli {

/// Writes all of it to standard output or throws Error{io}. A reader that has gone (`| head`) ends the program as SIGPIPE does, silently.
void write_output(std::string_view text);
/// A text report to standard output: in the locale's signs, and in lines that fit the terminal.
void write_report(std::string_view text);
/// Whether anything was written to standard output.
[[nodiscard]] bool has_written_output();
/// To standard error in the locale's signs; what cannot be written there is lost.
void write_error(std::string_view text) noexcept;

[[nodiscard]] bool output_is_terminal();
[[nodiscard]] bool error_is_terminal();

/// Columns of the terminal that standard output is, at least 40; 0 when it is none. COLUMNS counts where the terminal does not know.
[[nodiscard]] std::size_t output_width();
/// The same of standard error.
[[nodiscard]] std::size_t error_width();
/// Columns for texts that are as narrow in a file as on a terminal (--help): 80, or fewer where COLUMNS or the terminal say so.
[[nodiscard]] std::size_t help_width();

enum class ColorChoice { automatic, always, never };
/// --color; `automatic` colors a terminal unless NO_COLOR is set (https://no-color.org) or TERM is "dumb".
void set_color(ColorChoice choice);

/// Whether standard output gets colors.
[[nodiscard]] bool output_has_colors();

/// All control characters as \xNN, so that one message is one line and cannot move the cursor.
[[nodiscard]] std::string printable(std::string_view message);

}  // namespace relayout::cli
