#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/table.h"

namespace relayout {

/// The class of a style in the style sheet of pages; empty for plain text.
[[nodiscard]] std::string_view html_class(Style style);
/// A table with a head; cells are text with style and alignment. Wide tables scroll separately. A search box filters the rows of long
/// tables, and of tables with `boxes`: the markup of checkboxes. A row is shown if its second cell is not the value of an unticked box.
[[nodiscard]] std::string html_table(const std::vector<Cell>& head, const std::vector<std::vector<Cell>>& rows,
                                     const std::string& boxes = {});
/// Lines as paragraphs, one each.
[[nodiscard]] std::string html_lines(const std::vector<Cell>& lines);
/// The script that a page with such tables needs; empty where none of them has a search box.
[[nodiscard]] std::string_view search_script(std::string_view body);

}  // namespace relayout
