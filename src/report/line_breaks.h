#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relayout {

/// Breaks lines to at most `width` columns (0: unchanged). Lines are broken between cells (two or more blanks), before " · ", else between
/// words, never inside a word; a word longer than a line is shortened(). Colours have no width.
[[nodiscard]] std::string fit_lines(std::string_view text, std::size_t width);

}  // namespace relayout
