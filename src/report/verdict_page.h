#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/json.h"
#include "report/table.h"

namespace relayout {

/// A page that tells one answer first, then what it rests on (see page.h for what holds of all pages).
struct VerdictPage {
  struct Section {
    std::string title;  ///< may be empty
    std::string body;   ///< markup: html_table(), html_lines(), svg.h; a section without is left out
  };
  std::string title;           ///< of the window
  std::string verdict;         ///< the answer in a word
  Style style = Style::plain;  ///< of the answer: good, bad, warning; a sign says the same
  std::string subject;         ///< what it is about
  std::string footer;          ///< what was run
  std::vector<Section> sections;
  Json data;           ///< everything, for programs that read the page
  std::string script;  ///< as html_page() of page.h takes it; without it tables are searched, where there are long ones
};
[[nodiscard]] std::string html_page(const VerdictPage& page);

/// Whether a long table has a box for words that its rows must hold, or the page has one of its own.
enum class Search : uint8_t { in_table, by_page };
/// A table with a head; cells are text, their style and alignment are kept. Wide ones scroll by themselves.
[[nodiscard]] std::string html_table(const std::vector<Cell>& head, const std::vector<std::vector<Cell>>& rows,
                                     Search search = Search::in_table);
/// One paragraph per line.
[[nodiscard]] std::string html_lines(const std::vector<Cell>& lines);

}  // namespace relayout
