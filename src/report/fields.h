#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// A field of RFC 4180. One that a spreadsheet would take for a formula gets an apostrophe in front.
[[nodiscard]] std::string csv_field(std::string_view text);
/// Text in a cell of Markdown: code, so that nothing in it is markup.
[[nodiscard]] std::string markdown_code(std::string_view text);

/// A bar of text, ten signs long where `part` is `most`: it prints, and shows without colours.
[[nodiscard]] std::string text_bar(double part, double most);

}  // namespace relayout
