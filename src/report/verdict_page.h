#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/json.h"
#include "report/table.h"

namespace relayout {

/// A page with a verdict, followed by its evidence (see page.h for properties of all pages).
struct VerdictPage {
  struct Section {
    std::string title;  ///< may be empty
    std::string body;   ///< markup: html_table(), html_lines(), svg.h; a section with an empty body is omitted
  };
  std::string title;           ///< title of the window
  std::string verdict;         ///< the verdict in a word
  Style style = Style::plain;  ///< style of the verdict: good, bad, warning; also shown as a sign
  std::string subject;         ///< the subject of the verdict
  std::string footer;          ///< program, version and context of the run
  std::vector<Section> sections;
  Json data;           ///< the complete result, for programs that read the page
  std::string script;  ///< script for html_page(); empty: the search in tables, if there are long ones
};
[[nodiscard]] std::string html_page(const VerdictPage& page);

/// Whether a long table has a search box that filters its rows, or the page has its own.
enum class Search : uint8_t { in_table, by_page };
/// A table with a head; cells are text with style and alignment. Wide tables scroll separately.
[[nodiscard]] std::string html_table(const std::vector<Cell>& head, const std::vector<std::vector<Cell>>& rows,
                                     Search search = Search::in_table);
/// Lines as paragraphs, one each.
[[nodiscard]] std::string html_lines(const std::vector<Cell>& lines);

}  // namespace relayout
