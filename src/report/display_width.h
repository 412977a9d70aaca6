#pragma once

#include <cstddef>
#include <string_view>

namespace relayout {

/// Columns that `text` takes on a terminal: characters, without combining marks and counting wide ones twice; a byte that belongs to none
/// counts once.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace relayout
