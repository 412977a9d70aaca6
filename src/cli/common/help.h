#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relayout::cli {

/// Width of --help, the same in files and on terminals: 80, or less if the terminal or COLUMNS is narrower.
[[nodiscard]] std::size_t help_width();

/// A word and its meaning in two columns, in lines of at most `all` columns (0: one line). In narrow terminals the meaning is below.
[[nodiscard]] std::string explained(std::string_view word, std::string_view meaning, std::size_t all);

/// The help of one subcommand: summary, usage, options by group, examples.
class HelpText {
 public:
  HelpText() = default;
  HelpText(std::string_view command, std::string_view summary, std::string_view synopsis, std::string_view examples);

  void begin_group(std::string_view title);
  /// Adds an entry, unless its help is empty.
  void add(std::string_view names, std::string_view placeholder, std::string_view help);
  /// The help in lines of at most `all` columns.
  [[nodiscard]] std::string to_text(std::size_t all) const;

 private:
  struct Entry {
    std::string left, help;
  };
  struct Group {
    std::string title;
    std::vector<Entry> entries;
  };
  std::string command_, summary_, synopsis_, examples_;
  std::vector<Group> groups_;
};

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
