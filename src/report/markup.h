#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// `text` with U+FFFD in place of everything that XML 1.0 and HTML forbid: bytes that are not UTF-8, control characters except tab and
/// newline, U+FFFE, U+FFFF.
[[nodiscard]] std::string printable_markup(std::string_view text);
/// printable_markup() with & < > " ' as entities: safe in elements and in quoted attributes.
[[nodiscard]] std::string escape_markup(std::string_view text);

/// HTML of a name that may be broken after the separators '/', '_', '.' and ':'.
[[nodiscard]] std::string breakable_markup(std::string_view name);

}  // namespace relayout
