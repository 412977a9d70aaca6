#pragma once

#include <string>
#include <string_view>

namespace relayout::cli {

/// Writes all of it to standard output or throws Error{io}.
void write_output(std::string_view text);
/// The same to standard error; what cannot be written there is lost, there is nobody to tell.
void write_error(std::string_view text) noexcept;

[[nodiscard]] bool output_is_terminal();
[[nodiscard]] bool error_is_terminal();

enum class ColorChoice { automatic, always, never };
/// --color; `automatic` colors a terminal unless NO_COLOR is set (https://no-color.org) or TERM is "dumb".
void set_color(ColorChoice choice);

/// Whether standard output gets colors.
[[nodiscard]] bool output_has_colors();

/// All control characters as \xNN, so that one message is one line and cannot move the cursor.
[[nodiscard]] std::string printable(std::string_view message);

}  // namespace relayout::cli
