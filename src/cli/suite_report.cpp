// Text of `verify --suite`, and words that all its forms share: counts by status, "as expected", "listed as", exceptions that are not
// there, "part of the suite", shards without cases, interruption.
#include "cli/suite_report.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/report_files.h"
#include "cli/terminal.h"
#include "relayout/suite.h"
#include "report/table.h"
#include "suite/document.h"
#include "suite/shard.h"

namespace relayout::cli {

std::string suite_summary(const SuiteResult& result) {
  std::string out = format_count(result.count("passed")) + " of " + counted(static_cast<int64_t>(result.cases.size()), "case") + " passed";
  std::string others;
  for (const std::string_view status : kCaseStatuses) {
    const int64_t count = result.count(status);
    if (count == 0 || status == "passed") continue;
    others += (others.empty() ? "" : ", ") + format_count(count) + " " + std::string(status);
  }
  const auto known = std::ranges::count_if(result.cases, [](const SuiteCase& one) { return !one.source.empty(); });
  const std::string cached = known == 0 ? "" : " · " + format_count(known) + " from the cache";
  return out + (others.empty() ? "" : " · " + others) + cached + " · " + seconds_text(result.seconds);
}

std::string case_remark(const SuiteCase& one) {
  if (one.expected && one.status == "passed") return "listed as " + *one.expected + ": " + printable(one.reason);
  if (one.expected && !one.is_as_expected()) return printable(one.message) + "; listed as " + *one.expected;
  return one.expected ? printable(one.reason) : printable(one.message);
}

std::string suite_part(const SuiteResult& result) {
  const bool is_shard = result.shard.total > 1 || !result.shard.source.empty();
  if (is_shard) return "shard " + shard_text(result.shard) + ": " + part_text(result);
  return result.is_partial() ? "part of the suite: " + part_text(result) : "";
}

Cell suite_verdict(const SuiteResult& result) {
  const int64_t wrong = result.unexpected() + static_cast<int64_t>(result.stale.size());
  std::string word = result.is_empty_shard() ? "nothing run" : wrong == 0 ? "as expected" : format_count(wrong) + " not as expected";
  if (result.interruption) word = "interrupted with " + format_count(result.planned - static_cast<int64_t>(result.cases.size())) + " to go";
  return {std::move(word), result.passed() ? Style::good : Style::bad};
}

namespace {

/// Hints for cases that are not as expected, each once.
std::vector<std::string> hints_of(const SuiteResult& result) {
  std::vector<std::string> out;
  for (const SuiteCase& one : result.cases) {
    if (one.hint.empty() || one.is_as_expected() || std::ranges::find(out, one.hint) != out.end()) continue;
    out.push_back(one.hint);
  }
  return out;
}

}  // namespace

std::string suite_text(const SuiteResult& result, const ReportStyle& style) {
  TextTable table({.color = style.color, .width = style.width});
  for (const SuiteCase& one : result.cases) {
    const bool good = one.is_as_expected();
    if (good && !style.verbose) continue;
    table.row({escape(one.name), {one.status, good ? Style::good : Style::bad}, {seconds_text(one.seconds), Style::faint, Align::right}});
    const std::string more = case_remark(one);
    if (!more.empty()) table.line("  " + more, good ? Style::faint : Style::bad);
  }
  for (const std::string& name : result.stale) table.row({escape(name), {"not there", Style::bad}, "listed as an exception"});
  for (const std::string& hint : hints_of(result)) table.line("hint: " + printable(hint));
  const std::string part = suite_part(result);
  if (!part.empty()) table.line(part);
  if (result.planned == 0)
    table.line("nothing was run: " + std::string(kEmptyShard) + (result.allow_empty ? "" : " (--allow-empty accepts that)"));
  TextTable verdict({.color = style.color, .width = style.width});
  verdict.row({suite_verdict(result), suite_summary(result), "exit " + std::to_string(exit_code(result))});
  return style.quiet ? verdict.text() : table.text() + verdict.text();
}

int write_suite(const SuiteResult& result, const ReportFiles& files, const Common& common) {
  return files.write(common, {.suites = {junit_suite(result)},
                              .document = suite_json(result),
                              .text = suite_text(result, files.style(common)),
                              .page = [&] { return suite_html(result); },
                              .code = exit_code(result)});
}

}  // namespace relayout::cli
