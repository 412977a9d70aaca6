#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// `text` with what neither XML 1.0 nor HTML may hold as U+FFFD: bytes that are not UTF-8, control characters but tab and newline,
/// U+FFFE, U+FFFF.
[[nodiscard]] std::string printable_markup(std::string_view text);
/// printable_markup(), and & < > " ' as entities: safe in elements and in quoted attributes.
[[nodiscard]] std::string escape_markup(std::string_view text);

/// HTML of a name that may be broken behind '/', '_', '.' and ':', where its parts end.
[[nodiscard]] std::string breakable_markup(std::string_view name);

}  // namespace relayout
