// Pages of the differences of traces or profiles: TraceDiff's charts of counts and durations, of at most 2000 rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/profile_report.h"
#include "cli/trace_diff_choice.h"
#include "cli/trace_diff_report.h"
#include "relayout/diff.h"
#include "relayout/version.h"
#include "report/fields.h"
#include "report/html_table.h"
#include "report/json.h"
#include "report/table.h"
#include "report/verdict_page.h"

namespace relayout::cli {
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
