#pragma once

#include <cstddef>
#include <string_view>

namespace relayout {

/// Columns of `text` on a terminal: wide characters count twice, combining marks not at all, and a byte that belongs to no character once.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace relayout
