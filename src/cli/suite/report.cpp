// Reports a suite as text, as test cases and as a page.
#include <algorithm>

#include "cli/common/terminal.h"
#include "cli/suite/suite.h"
#include "report/page.h"

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

// Test cases.
JunitSuite junit_suite(const SuiteResult& result) {
  JunitSuite suite{"relayout verify --suite " + result.tree + (result.against.empty() ? "" : " --against " + result.against),
                   junit_now(),
                   {{"relayout", result.version}},
                   {}};
  suite.properties.emplace_back("shard", shard_text(result.shard));
  suite.properties.emplace_back("cases", part_text(result));
  if (result.planned == 0) {
    const auto status = result.allow_empty ? JunitCase::Status::skipped : JunitCase::Status::failed;
    suite.cases.push_back({"relayout.suite", "shard " + shard_text(result.shard), "", 0, status, kEmptyShard, ""});
  }
  if (result.interruption) {
    const std::string done = format_count(static_cast<int64_t>(result.cases.size())) + " of " + counted(result.planned, "case");
    suite.cases.push_back({"relayout.suite", "whole", "", 0, JunitCase::Status::error, "interrupted after " + done, ""});
  }
  for (const SuiteCase& done : result.cases) {
    const std::size_t slash = done.name.rfind('/');
    std::string class_name = "relayout.suite" + (slash == std::string::npos ? "" : "." + done.name.substr(0, slash));
    std::ranges::replace(class_name, '/', '.');
    JunitCase& one =
        suite.cases.emplace_back(judged_case(class_name, done.name.substr(slash == std::string::npos ? 0 : slash + 1), done.file));
    one.seconds = done.seconds;
    one.message = done.status == "passed" && !done.expected ? "" : done.status + ": " + case_remark(done);
    if (!one.message.empty()) one.details = done.hint;
    const bool ended = done.status == "failed" || done.status == "pass-loose" || done.status == "passed";
    if (!done.is_as_expected()) {
      one.status = ended ? JunitCase::Status::failed : JunitCase::Status::error;
    } else if (done.expected) {
      one.status = JunitCase::Status::skipped;
    }
  }
  return suite;
}

// Pages.
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
