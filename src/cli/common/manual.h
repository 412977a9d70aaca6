#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace relayout::cli {

/// A topic of `relayout help`. Its text is Markdown: headings of level 2, paragraphs, items of one level, tables and blocks of code; bold,
/// code and links within a line.
struct Topic {
  std::string_view name, summary, text;
};

/// All topics, by name. Those named like a command follow its options.
[[nodiscard]] std::span<const Topic> topics();
/// Null where there is none.
[[nodiscard]] const Topic* find_topic(std::string_view name);
/// The section of a topic that has this word as its heading, or explains it in a table: "doubts", "edge-values"; empty: none.
[[nodiscard]] std::string find_section(std::string_view word);

/// Text of a topic for people, in lines of at most `width` columns; code is never broken.
[[nodiscard]] std::string manual_text(std::string_view text, std::size_t width, bool color);

/// One page of the manual in the language of man(7).
struct ManPage {
  std::string name, summary;  ///< "relayout-verify"
  int section = 7;            ///< 1: commands, 7: other topics
  std::string usage;          ///< printed as it stands; empty: none
  std::string_view text = {};
};
[[nodiscard]] std::string man_page(const ManPage& page);

}  // namespace relayout::cli
