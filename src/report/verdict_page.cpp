// Pages of a verdict: the verdict, its evidence, the figures.
#include "report/verdict_page.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"
#include "report/display_width.h"
#include "report/markup.h"
#include "report/page.h"
#include "report/table.h"

namespace relayout {
namespace {

constexpr std::string_view kSheet = R"(
:root{--good:#1a7f37;--warning:#8a6100;--first:#0b5cad;--second:#8a8a8a}
@media (prefers-color-scheme:dark){:root{--good:#4ac26b;--warning:#d4a72c;--first:#6cb6ff}}
h1{font-size:2rem}.subject,footer{color:var(--faint);overflow-wrap:anywhere}footer{margin-top:2rem;font-size:.9rem}
.good{color:var(--good)}.warning{color:var(--warning)}.strong{font-weight:600}.right{text-align:right;font-variant-numeric:tabular-nums}
p{margin:.2rem 0;overflow-wrap:anywhere;max-width:72rem}td.text{white-space:normal;overflow-wrap:anywhere;min-width:9rem}section{overflow-x:auto}
@media (min-width:1000px){table:has(th:nth-child(9)){font-size:.85rem}tr:has(td:nth-child(5)) td.text:first-child{min-width:11rem}}
svg{width:100%;max-width:60rem;height:auto;display:block}svg .label{font:12px system-ui,sans-serif;fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:3px}svg .small{font-size:10px}
svg .middle{text-anchor:middle}svg .end{text-anchor:end}svg .grid{stroke:var(--line)}svg .floor{stroke:var(--ink);stroke-width:2}
svg .bound{stroke:var(--ink);stroke-width:2;stroke-dasharray:3 2}svg .mark{stroke:var(--bad);stroke-dasharray:2 3}
svg rect.good{fill:var(--good);fill-opacity:.55}svg .bad{fill:var(--bad)}svg .plain{fill:var(--first);fill-opacity:.7}
svg .line{fill:none;stroke-width:2}svg .line0{stroke:var(--first)}svg .line1{stroke:var(--second)}svg .dashed{stroke-dasharray:5 4}
svg .hit{fill:transparent}svg .frame{fill:var(--first);stroke:var(--paper)}svg .shade0{fill-opacity:.2}svg .shade1{fill-opacity:.45}
svg .shade2{fill-opacity:.3}svg .shade3{fill-opacity:.6}svg g:hover .frame{stroke:var(--ink)}
svg .work{fill:var(--first);fill-opacity:.35;stroke:var(--ink);stroke-opacity:.6}
@media print{section{overflow:visible}td.text{min-width:0}table:has(th:nth-child(9)){font-size:7px}}
@media screen and (max-width:600px){svg.broad{display:none}}
@media print,screen and (min-width:600.02px){svg.slim{display:none}}
)";

std::string_view class_of(Style style) {
  switch (style) {
    case Style::strong:
      return "strong";
    case Style::good:
      return "good";
    case Style::bad:
      return "bad";
    case Style::warning:
      return "warning";
    case Style::faint:
      return "faint";
    case Style::plain:
      break;
  }
  return "";
}

/// A sign that shows the verdict without colour.
std::string_view sign_of(Style style) {
  switch (style) {
    case Style::good:
      return "✓ ";
    case Style::bad:
      return "✗ ";
    case Style::warning:
      return "⚠ ";
    default:
      return "";
  }
}

std::string classes(const Cell& cell, bool is_text = false) {
  std::string out(class_of(cell.style));
  if (cell.align == Align::right) out += out.empty() ? "right" : " right";
  if (is_text) out += out.empty() ? "text" : " text";
  return out.empty() ? out : " class='" + out + "'";
}

constexpr std::size_t kLongTable = 20;  ///< rows that a screen shows without scrolling

/// The begin of the search box that html_table() writes for kSearchScript. It stays hidden, with all rows visible, where scripts do not
/// run.
constexpr std::string_view kSearchBox = "<p class='search' hidden><input type='search' placeholder='search' aria-label='search'>";

/// Hides the rows that lack a word of the search box above their table, or whose second cell is the value of an unticked box.
constexpr std::string_view kSearchScript = R"js(
'use strict';
for (const search of document.querySelectorAll('p.search')) {
  let table = search;
  while (!table.matches('.wide')) table = table.nextElementSibling;
  const rows = [...table.querySelectorAll('tbody tr')], texts = rows.map(row => row.textContent.toLowerCase());
  const states = rows.map(row => row.cells[1]?.textContent);
  const input = search.querySelector('input'), shown = search.querySelector('output');
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(word => word);
    const unticked = [...search.querySelectorAll('input[type=checkbox]:not(:checked)')].map(box => box.value);
    let count = 0;
    rows.forEach((row, i) => {
      row.hidden = unticked.includes(states[i]) || !words.every(word => texts[i].includes(word));
      count += !row.hidden;
    });
    shown.textContent = count === rows.length ? '' : count + ' of ' + rows.length;
  };
  search.hidden = false;
  search.addEventListener('input', filter);
  filter();
}
)js";

constexpr std::size_t kLongCell = 24;  ///< in characters: longer than most types and shapes

/// Columns of names and sentences, which may take several lines to leave room for the others.
std::vector<bool> breaking_columns(const std::vector<std::vector<Cell>>& rows) {
  std::vector<bool> out(1, true);
  for (const auto& row : rows) {
    out.resize(std::max(out.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) out[i] = out[i] || display_width(row[i].text) > kLongCell;
  }
  return out;
}

/// HTML of a cell with the name of its column, which narrow screens show in place of the head.
std::string html_cell(const Cell& cell, const std::string& title, bool may_break) {
  const bool is_text = may_break && cell.align != Align::right;
  return "<td" + classes(cell, is_text) + (title.empty() ? "" : " data-head='" + escape_markup(title) + "'") + ">" +
         (is_text ? breakable_markup(cell.text) : escape_markup(cell.text)) + "</td>";
}

/// Whether some cell is a warning or worse.
bool is_marked(const std::vector<Cell>& row) {
  return std::ranges::any_of(row, [](const Cell& cell) { return cell.style == Style::bad || cell.style == Style::warning; });
}

}  // namespace

std::string html_table(const std::vector<Cell>& head, const std::vector<std::vector<Cell>>& rows, const std::string& boxes) {
  // Long tables can be filtered to rows with a warning or worse, or by the words of a search.
  const bool is_long = rows.size() > kLongTable;
  const auto marked = std::ranges::count_if(rows, is_marked);
  std::string out;
  if (is_long || !boxes.empty()) out.append(kSearchBox).append(boxes).append(" <output></output></p>\n");
  if (is_long && marked > 0) {
    out += "<label class='filter'><input type='checkbox'> only marked rows (" + format_count(marked) + " of " +
           format_count(std::ssize(rows)) + ")</label>\n";
  }
  out += "<div class='wide'><table class='cards'><thead><tr>";
  for (const Cell& cell : head) out += "<th" + classes(cell) + ">" + escape_markup(cell.text) + "</th>";
  out += "</tr></thead><tbody>\n";
  const std::vector<bool> may_break = breaking_columns(rows);
  for (const auto& row : rows) {
    out += is_marked(row) ? "<tr class='hit'>" : "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) out += html_cell(row[i], i < head.size() ? head[i].text : "", may_break[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string html_lines(const std::vector<Cell>& lines) {
  std::string out;
  for (const Cell& cell : lines) out += "<p" + classes(cell) + ">" + escape_markup(cell.text) + "</p>\n";
  return out;
}

std::string html_page(const VerdictPage& page) {
  std::string body = "<h1 class='" + std::string(class_of(page.style)) + "'>" + std::string(sign_of(page.style)) +
                     escape_markup(page.verdict) + "</h1>\n<p class='subject'>" + escape_markup(page.subject) + "</p>\n";
  for (const VerdictPage::Section& section : page.sections) {
    if (section.body.empty()) continue;
    body += "<section>" + (section.title.empty() ? std::string() : "<h2>" + escape_markup(section.title) + "</h2>") + "\n" + section.body +
            "</section>\n";
  }
  const bool is_searched = body.find(kSearchBox) != std::string::npos;
  return html_page(page.title, body + "<footer>" + escape_markup(page.footer) + "</footer>\n", kSheet, page.data,
                   is_searched ? kSearchScript : "");
}

}  // namespace relayout
