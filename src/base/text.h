#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// Printable form of a name from a file: control characters and invalid UTF-8 as \xNN; "…" replaces the middle of more than 200 characters.
[[nodiscard]] std::string escape(std::string_view name);
/// escape() in single quotes.
[[nodiscard]] std::string quote(std::string_view name);
/// `text` with the letters A to Z in lower case.
[[nodiscard]] std::string ascii_lower(std::string_view text);
/// Whether `text` matches a shell glob of `*`, `?` and `[…]`; `*` crosses slashes.
[[nodiscard]] bool glob_match(std::string_view glob, std::string_view text);

}  // namespace relayout
