// Reports a suite as text, as test cases and as a page.

#include "cli/common/terminal.h"
#include "cli/suite/suite.h"
#include "report/page.h"

namespace relayout::cli {
namespace {

/// "3 of 132 cases passed · 1 failed · 12 s"
std::string suite_summary(const SuiteResult& result) {
  const std::string passed = format_count(result.count("passed")) + " of " + counted(std::ssize(result.cases), "case") + " passed";
  const std::string others = joined(kCaseStatuses, ", ", [&](std::string_view status) {
    const int64_t count = result.count(status);
    return count == 0 || status == "passed" ? "" : format_count(count) + " " + std::string(status);
  });
  const auto known = std::ranges::count_if(result.cases, [](const SuiteCase& one) { return !one.source.empty(); });
  const std::string cached = known == 0 ? "" : format_count(known) + " from the cache";
  return joined({passed, others, cached, seconds_text(result.seconds)}, " · ");
}

/// The remark on a case: its message, or the reason why its status was expected.
std::string case_remark(const SuiteCase& one) {
  if (one.expected && one.status == "passed") return "listed as " + *one.expected + ": " + printable(one.reason);
  if (one.expected && !one.is_as_expected()) return printable(one.message) + "; listed as " + *one.expected;
  return one.expected ? printable(one.reason) : printable(one.message);
}

/// "shard 2/4: 33 of 132 cases"; empty for the whole suite.
std::string suite_part(const SuiteResult& result) {
  const bool is_shard = result.shard.total > 1 || !result.shard.source.empty();
  if (is_shard) return "shard " + shard_text(result.shard) + ": " + part_text(result);
  return result.is_partial() ? "part of the suite: " + part_text(result) : "";
}

/// The verdict in a few words, styled as good or bad.
Cell suite_verdict(const SuiteResult& result) {
  const int64_t wrong = result.unexpected() + static_cast<int64_t>(result.stale.size());
  std::string word = result.is_empty_shard() ? "nothing run" : wrong == 0 ? "as expected" : format_count(wrong) + " not as expected";
  if (result.interruption) word = "interrupted with " + format_count(result.planned - static_cast<int64_t>(result.cases.size())) + " to go";
  return {std::move(word), result.passed() ? Style::good : Style::bad};
}

/// The cases with their remarks: all, or those that are not as expected.
Table case_table(const SuiteResult& result, bool all) {
  Table table;
  table.head_of_page({"case", "status", "listed as", right("time")});
  for (const SuiteCase& one : result.cases) {
    const bool good = one.is_as_expected();
    if (good && !all) continue;
    table.row({escape(one.name), Cell(one.status, good ? Style::good : Style::bad), Cell(one.expected.value_or("")).only(Form::page),
               right(seconds_text(one.seconds), Style::faint)});
    const std::string more = case_remark(one);
    if (!more.empty()) table.note(more, good ? Style::faint : Style::bad);
  }
  return table;
}

/// The cases that a screen shows, and what else has to be known of the run.
Table cases_on_screen(const SuiteResult& result, bool all) {
  Table table = case_table(result, all);
  for (const std::string& name : result.stale) table.row({escape(name), {"not there", Style::bad}, "listed as an exception"});
  std::set<std::string> hints;  // each is given once
  for (const SuiteCase& one : result.cases) {
    const bool is_new = !one.hint.empty() && !one.is_as_expected() && hints.insert(one.hint).second;
    if (is_new) table.line("hint: " + printable(one.hint));
  }
  const std::string part = suite_part(result);
  if (!part.empty()) table.line(part);
  if (result.planned == 0)
    table.line("nothing was run: " + std::string(kEmptyShard) + (result.allow_empty ? "" : " (--allow-empty accepts that)"));
  return table;
}

Table verdict_table(const SuiteResult& result) {
  return Table().row({suite_verdict(result), suite_summary(result), "exit " + std::to_string(exit_code(result))});
}

/// A line for each name, or the part of the suite that was run: for pages.
Table remarks_table(const std::vector<std::string>& texts, Style style) {
  Table table;
  for (const std::string& text : texts) {
    if (!text.empty()) table.line(escape(text), style);
  }
  return table;
}

/// A box for each status, to show its cases or not.
std::string boxes(const SuiteResult& result) {
  std::set<std::string> statuses;
  for (const SuiteCase& one : result.cases) statuses.insert(one.status);
  return joined(statuses, "", [&](const std::string& status) {
    const std::string name = escape_markup(status);
    return " <label><input type='checkbox' value='" + name + "' checked> " + name + " (" + format_count(result.count(status)) + ")</label>";
  });
}

/// The test cases.
JunitSuite junit_suite(const SuiteResult& result) {
  JunitSuite suite;
  suite.command = "verify";
  suite.arguments = "--suite " + result.tree + (result.against.empty() ? "" : " --against " + result.against);
  suite.timestamp = junit_now();
  suite.properties = {{"relayout", result.version}, {"shard", shard_text(result.shard)}, {"cases", part_text(result)}};
  if (result.planned == 0) {
    const auto status = result.allow_empty ? JunitCase::Status::skipped : JunitCase::Status::failed;
    suite.cases.push_back({"relayout.suite", "shard " + shard_text(result.shard), "", 0, status, kEmptyShard});
  }
  if (result.interruption) {
    const std::string done = format_count(static_cast<int64_t>(result.cases.size())) + " of " + counted(result.planned, "case");
    suite.cases.push_back({"relayout.suite", "whole", "", 0, JunitCase::Status::error, "interrupted after " + done});
  }
  for (const SuiteCase& done : result.cases) {
    const std::size_t slash = done.name.rfind('/');
    std::string class_name = "relayout.suite" + (slash == std::string::npos ? "" : "." + done.name.substr(0, slash));
    std::ranges::replace(class_name, '/', '.');
    JunitCase& one = suite.cases.emplace_back(judged_case(class_name, done.name.substr(slash + 1), done.file));
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

}  // namespace

Report suite_report(const SuiteResult& result) {
  Report out{.verdict = suite_verdict(result), .code = exit_code(result)};
  out.subject = result.tree + (result.against.empty() ? "" : " → " + result.against);
  out.title = out.verdict.text + ": " + result.tree;
  out.footer = "relayout " + result.version + " · " + suite_summary(result) + " · exit " + std::to_string(out.code);
  out.sections = {
      {Form::text, "", [&](auto& style) { return cases_on_screen(result, style.verbose); }},
      {Form::page, "", [&](auto&) { return remarks_table({suite_part(result)}, Style::plain); }},
      {Form::page, "Listed as exceptions, but not there", [&](auto&) { return remarks_table(result.stale, Style::bad); }},
      {Form::page, "Cases", [&](auto&) { return case_table(result, true); }, boxes(result)},
      {Form::text | Form::quiet, "", [&](auto&) { return verdict_table(result); }},
  };
  out.document = [&] { return suite_json(result); };
  out.suites = {junit_suite(result)};
  return out;
}

}  // namespace relayout::cli
