// The page of a suite: all cases in one table that can be searched, and filtered by a box for each status.
#include <algorithm>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/suite_report.h"
#include "relayout/suite.h"
#include "report/html_table.h"
#include "report/markup.h"
#include "report/table.h"
#include "report/verdict_page.h"

namespace relayout::cli {
namespace {

/// A box for each status, to show its cases or not.
std::string boxes(const SuiteResult& result) {
  std::string out;
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
  return out;
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
  return rows.empty() ? "" : html_table({"case", "status", "listed as", {"time", Style::plain, Align::right}, ""}, rows, boxes(result));
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
  return html_page(page);
}

}  // namespace relayout::cli
