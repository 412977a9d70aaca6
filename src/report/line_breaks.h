#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relayout {

/// Every line in at most `width` columns (0: as it is). Lines break between cells (two or more blanks), before " · ", else between words,
/// never inside a word; a word that is longer than a line is shortened(). Colours take no room.
[[nodiscard]] std::string fit_lines(std::string_view text, std::size_t width);

}  // namespace relayout
