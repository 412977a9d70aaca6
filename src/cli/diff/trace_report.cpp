// Reports the differences of two traces as text with TraceDiff's columns, as test cases, and as a page with its charts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>

#include "cli/diff/diff.h"
#include "cli/profile/profile.h"
#include "report/page.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

/// Time classes that a summary names.
constexpr std::array kTimeClasses = {TimeClass::faster, TimeClass::slower, TimeClass::inconclusive};

struct Sum {
  int64_t control_count = 0, test_count = 0;
  double control_us = 0, test_us = 0;
  void add(const OperationDifference& row) {
    control_count += row.control_count;
    test_count += row.test_count;
    control_us += row.control_us;
    test_us += row.test_us;
  }
};

void add_sum(TextTable& table, const std::string& name, const Sum& sum, Style look) {
  const auto right = [&](std::string text) { return Cell(std::move(text), look, Align::right); };
  table.row({{name, look},
             right(format_count(sum.control_count)),
             right(format_count(sum.test_count)),
             right(microseconds_text(sum.control_us)),
             right(microseconds_text(sum.test_us)),
             right(signed_microseconds_text(sum.test_us - sum.control_us))});
}

Style time_style(const OperationDifference& row) {
  if (row.time == TimeClass::faster) return Style::good;
  return row.time == TimeClass::slower ? Style::bad : Style::plain;
}

std::string side_text(const Trace& trace) {
  std::string out = trace.source;
  if (!trace.steps.empty()) out += " · " + counted(static_cast<int64_t>(trace.steps.size()), "step");
  if (trace.outside > 0) out += " · " + counted(trace.outside, "event") + " outside of every counted step left out";
  if (trace.skipped > 0) out += " · " + skipped_text(trace);
  return out;
}

/// Whether the sum of the times has a meaning. PyTorch's events nest, and each includes the time of the events inside it.
bool adds_up(const Trace& trace) {
  return trace.source != "PyTorch" && trace.source != "trace events";
}

std::string table_text(const TracePair& pair, const TraceChoice& choice, const ReportStyle& style) {
  TextTable table({.gap = 2, .color = style.color, .width = style.width});
  const auto head = [](const char* text) { return Cell(text, Style::faint, Align::right); };
  table.row({{"operation", Style::faint}, head("A"), head("B"), head("A µs"), head("B µs"), head("difference"), {"change", Style::faint}});
  Sum all, rest, excluded;
  for (const OperationDifference& row : pair.left_out) excluded.add(row);
  for (const auto* rows : {&pair.rows, &pair.left_out}) {
    for (const OperationDifference& row : *rows) all.add(row);
  }
  std::size_t shown = 0;
  for (const OperationDifference& row : pair.rows) {
    if (choice.top > 0 && shown == choice.top) {
      rest.add(row);
      continue;
    }
    ++shown;
    table.row({escape(row.name), right(format_count(row.control_count)), right(format_count(row.test_count)),
               right(microseconds_text(row.control_us)), right(microseconds_text(row.test_us)),
               right(signed_microseconds_text(row.difference_us()), time_style(row)), change_text(row)});
  }
  if (shown < pair.rows.size()) add_sum(table, "(others)", rest, Style::faint);
  if (!pair.left_out.empty()) add_sum(table, "(excluded)", excluded, Style::faint);
  if (adds_up(*pair.control) && adds_up(*pair.test)) add_sum(table, "all", all, Style::strong);
  return table.text();
}

}  // namespace

std::string skipped_text(const Trace& trace) {
  return counted(trace.skipped, "event") + " without a possible time skipped: " + trace.first_skipped + (trace.skipped > 1 ? ", …" : "");
}

std::string trace_diff_summary(const TracePair& pair) {
  const auto list = [&](const auto& kinds, auto OperationDifference::* of) {
    std::string out;
    for (const auto kind : kinds) {
      const auto count = std::ranges::count(pair.rows, kind, of);
      if (count > 0) out += (out.empty() ? "" : " · ") + format_count(count) + " " + std::string(to_string(kind));
    }
    return out;
  };
  const std::string counts = list(kCountClasses, &OperationDifference::counts);
  const std::string times = list(kTimeClasses, &OperationDifference::time);
  return (counts.empty() ? "nothing" : counts) + (times.empty() ? "" : "; times: " + times);
}

std::string count_change_text(const OperationDifference& row) {
  return row.counts == CountClass::unchanged ? "" : std::string(to_string(row.counts));
}

std::string time_change_text(const OperationDifference& row) {
  return row.time == TimeClass::unknown ? "" : std::string(to_string(row.time));
}

std::string change_text(const OperationDifference& row) {
  const std::string counts = count_change_text(row), times = time_change_text(row);
  if (counts.empty() || times.empty()) return counts + times;
  return row.time == TimeClass::same ? counts : counts + ", " + times;
}

std::string trace_diff_text(const TracePair& pair, const TraceChoice& choice, const ReportStyle& style) {
  if (style.quiet) return trace_diff_summary(pair) + "\n";
  TextTable head({.gap = 3, .color = style.color, .width = style.width});
  head.row({"A", {escape(pair.control->path), Style::strong}, side_text(*pair.control)});
  head.row({"B", {escape(pair.test->path), Style::strong}, side_text(*pair.test)});
  return head.text() + "\n" + table_text(pair, choice, style) + "\n" + trace_diff_summary(pair) + "\n";
}

// Test cases.
JunitSuite trace_diff_junit(const TracePair& pair, const TraceGate& gate) {
  JunitSuite suite;
  suite.name = "relayout diff " + pair.control->path + " " + pair.test->path;
  suite.timestamp = junit_now();
  suite.properties = {{"relayout", std::string(kVersion)}};
  const auto add = [&](const std::string& name, const TraceGate& part) {
    JunitCase& one = suite.cases.emplace_back();
    one.class_name = "relayout.diff." + std::filesystem::path(pair.test->path).stem().string();
    one.name = name;
    one.file = pair.test->path;
    const std::vector<std::string> names = trace_failures(pair, part);
    if (names.empty()) return;
    one.status = JunitCase::Status::failed;
    one.message = counted(static_cast<int64_t>(names.size()), "operation") + ": " + escape(names.front()) + (names.size() > 1 ? " …" : "");
    for (const std::string& operation : names) one.details += escape(operation) + "\n";
  };
  for (const CountClass kind : gate.classes) add(std::string(to_string(kind)), {.classes = {kind}});
  if (gate.slower) add("slower", {.classes = {}, .slower = gate.slower, .strict = gate.strict});
  if (gate.faster) add("faster", {.classes = {}, .faster = gate.faster, .strict = gate.strict});
  add("whole", gate);
  return suite;
}

// Pages.
namespace {

/// One of TraceDiff's charts as a table: for each operation a bar per side, a bar for the difference, and the text of `change`.
template <class Number>
std::string chart(const TracePair& pair, const std::array<Number OperationDifference::*, 2>& sides,
                  std::string (*change)(const OperationDifference&)) {
  constexpr std::size_t kMostRows = 2000;
  const auto value = [&](const OperationDifference& row, std::size_t side) { return static_cast<double>(row.*sides[side]); };
  const auto text = [](double number) {
    return std::is_integral_v<Number> ? format_count(static_cast<int64_t>(number)) : microseconds_text(number);
  };
  std::vector<const OperationDifference*> order;
  double most = 0;
  for (const OperationDifference& row : pair.rows) {
    order.push_back(&row);
    most = std::max({most, value(row, 0), value(row, 1)});
  }
  std::ranges::stable_sort(order, std::greater{},
                           [&](const OperationDifference* row) { return std::abs(value(*row, 1) - value(*row, 0)); });
  if (order.size() > kMostRows) order.resize(kMostRows);
  std::vector<std::vector<Cell>> rows;
  for (const OperationDifference* row : order) {
    const double a = value(*row, 0), b = value(*row, 1);
    rows.push_back({escape(row->name), right(text(a)), text_bar(a, most), right(text(b)), text_bar(b, most),
                    right((b > a ? "+" : "") + text(b - a)),
                    (b < a   ? "− "
                     : b > a ? "+ "
                             : "") +
                        text_bar(std::abs(b - a), most),
                    change(*row)});
  }
  return html_table({"operation", right("A"), "", right("B"), "", right("difference"), "", "change"}, rows);
}

}  // namespace

std::string trace_diff_html(const std::vector<TracePair>& pairs, const TraceGate& gate) {
  VerdictPage page;
  page.verdict = trace_diff_summary(pairs.back());
  page.title = page.verdict + ": " + pairs.back().test->path;
  page.subject = pairs.front().control->path;
  page.footer = "relayout diff · relayout " + std::string(kVersion);
  page.data = Json::array();
  for (const TracePair& pair : pairs) {
    page.subject += " → " + pair.test->path;
    const std::string where = pairs.size() > 1 ? ": " + pair.test->path : "";
    page.sections.push_back({"Counts" + where, chart<int64_t>(pair, {&OperationDifference::control_count, &OperationDifference::test_count},
                                                              count_change_text)});
    page.sections.push_back({"Durations in µs" + where,
                             chart<double>(pair, {&OperationDifference::control_us, &OperationDifference::test_us}, time_change_text)});
    page.data.add(trace_diff_json(pair, gate));
  }
  return html_page(page);
}

}  // namespace relayout::cli
