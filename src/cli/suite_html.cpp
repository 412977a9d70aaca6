// The page of a suite: all cases in one table that can be searched and filtered.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/suite_report.h"
#include "relayout/suite.h"
#include "report/markup.h"
#include "report/table.h"
#include "report/verdict_page.h"

namespace relayout::cli {
namespace {

/// Hides rows that lack a word of the search, or whose status is not ticked. Without scripts the page shows all rows.
constexpr std::string_view kScript = R"js(
'use strict';
const rows = [...document.querySelectorAll('#cases tbody tr')];
const texts = rows.map(row => row.textContent.toLowerCase());
const states = rows.map(row => row.cells[1].textContent);
const search = document.getElementById('search'), shown = document.getElementById('shown');
const boxes = [...document.querySelectorAll('#controls input[type=checkbox]')];
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(word => word);
  const wanted = new Set(boxes.filter(box => box.checked).map(box => box.value));
  let count = 0;
  rows.forEach((row, i) => {
    const hit = wanted.has(states[i]) && words.every(word => texts[i].includes(word));
    if (row.hidden === hit) row.hidden = !hit;
    count += hit;
  });
  shown.textContent = count + ' of ' + rows.length;
}
document.getElementById('controls').hidden = false;
search.addEventListener('input', filter);
boxes.forEach(box => box.addEventListener('change', filter));
filter();
)js";

std::string controls(const SuiteResult& result) {
  std::string out = "<div id='controls' hidden><p><input id='search' type='search' placeholder='search' aria-label='search'>";
  std::vector<std::string> seen;
  for (const SuiteCase& one : result.cases) {
    if (std::ranges::find(seen, one.status) != seen.end()) continue;
    seen.push_back(one.status);
  }
  std::ranges::sort(seen);
  for (const std::string& status : seen) {
    const std::string name = escape_markup(status);
    out.append(" <label><input type='checkbox' value='").append(name).append("' checked> ").append(name);
    out.append(" (").append(format_count(result.count(status))).append(")</label>");
  }
  return out + " · <output id='shown'></output></p></div>\n";
}

std::string table(const SuiteResult& result) {
  std::vector<std::vector<Cell>> rows;
  rows.reserve(result.cases.size());
  for (const SuiteCase& one : result.cases) {
    const Style style = one.is_as_expected() ? Style::plain : Style::bad;
    rows.push_back({escape(one.name),
                    {one.status, style},
                    one.expected ? *one.expected : "",
                    {seconds_text(one.seconds), Style::plain, Align::right},
                    {case_remark(one), style}});
  }
  if (rows.empty()) return "";
  return controls(result) + "<div id='cases'>" +
         html_table({"case", "status", "listed as", {"time", Style::plain, Align::right}, ""}, rows, Search::by_page) + "</div>\n";
}

std::string stale(const SuiteResult& result) {
  std::vector<Cell> lines;
  for (const std::string& name : result.stale) lines.emplace_back(escape(name), Style::bad);
  return html_lines(lines);
}

}  // namespace

std::string suite_html(const SuiteResult& result) {
  VerdictPage page;
  const Cell verdict = suite_verdict(result);
  page.verdict = verdict.text;
  page.style = verdict.style;
  page.title = page.verdict + ": " + result.tree;
  page.subject = result.tree + (result.against.empty() ? "" : " → " + result.against);
  page.footer = "relayout " + result.version + " · " + suite_summary(result) + " · exit " + std::to_string(exit_code(result));
  const std::string part = suite_part(result);
  page.sections = {
      {"", part.empty() ? "" : html_lines({part})}, {"Listed as exceptions, but not there", stale(result)}, {"Cases", table(result)}};
  page.data = suite_json(result);
  page.script = kScript;
  return html_page(page);
}

}  // namespace relayout::cli
