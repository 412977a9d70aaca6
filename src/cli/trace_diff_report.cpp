// The differences of two traces or profiles as text: TraceDiff's columns and classes, classes of times, the lines "(others)" and
// "(excluded)", and when times have a sum.
#include "cli/trace_diff_report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/profile_report.h"
#include "cli/report.h"
#include "cli/trace_diff_choice.h"
#include "relayout/diff.h"
#include "relayout/estimate.h"
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

}  // namespace relayout::cli
