#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relayout::cli {

/// Writes all of `text` to standard output or throws Error{io}. A closed pipe (`| head`) ends the program silently, as SIGPIPE does.
void write_output(std::string_view text);
/// Writes a text report to standard output, in the locale's characters and in lines that fit the terminal.
void write_report(std::string_view text);
/// Whether anything was written to standard output.
[[nodiscard]] bool has_written_output();
/// Writes to standard error in the locale's characters. Text that cannot be written is lost.
void write_error(std::string_view text) noexcept;

[[nodiscard]] bool output_is_terminal();
[[nodiscard]] bool error_is_terminal();

/// Narrower terminals are treated like terminals of this width.
inline constexpr std::size_t kNarrowest = 40;
/// Columns of the terminal of standard output, or else those in COLUMNS; 0 when neither is known.
[[nodiscard]] std::size_t output_columns();
/// Width of the terminal of standard output, at least kNarrowest; 0 when it is not a terminal. COLUMNS applies where the terminal does not
/// report a width.
[[nodiscard]] std::size_t output_width();
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
