#pragma once

#include <cstddef>
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
  void add(std::string_view names, std::string_view placeholder, std::string_view help);
  /// Removes the last added entry.
  void hide_last();
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

}  // namespace relayout::cli
