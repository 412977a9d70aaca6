#pragma once

#include <span>
#include <string>
#include <string_view>

namespace relayout {

/// A CSV field as in RFC 4180. Text that a spreadsheet would take for a formula is prefixed with an apostrophe.
[[nodiscard]] std::string csv_field(std::string_view text);
/// A line of such fields, or of numbers.
[[nodiscard]] std::string csv_record(std::span<const std::string> fields);
/// Text in a Markdown cell, as code, so that nothing in it is markup.
[[nodiscard]] std::string markdown_code(std::string_view text);

/// A bar of text characters, ten for `part` equal to `most`. It can be printed and needs no colours.
[[nodiscard]] std::string text_bar(double part, double most);

}  // namespace relayout
