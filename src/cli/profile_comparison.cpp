// Text and JSON of two profiled models: both latencies, the table of paired rows, "B takes … the time of A · 100 pairs in 10 rounds".
// profile_verdict.cpp has the verdict, cause_sums.cpp the causes.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/cause_sums.h"
#include "cli/profile_lines.h"
#include "cli/profile_report.h"
#include "cli/profile_verdict.h"
#include "cli/report.h"
#include "relayout/estimate.h"
#include "relayout/profile.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

/// "0.613 × (0.605 … 0.621 at 95 %)"
std::string ratio_text(const Estimate& estimate) {
  return fixed(estimate.median, 3) + " ×" +
         (estimate.interval ? " (" + fixed(estimate.interval->low, 3) + " … " + fixed(estimate.interval->high, 3) + " at 95 %)"
                            : " (too few pairs for an interval)");
}

Cell difference_cell(const PairedLine& line) {
  const double difference = line.difference();
  return {signed_microseconds_text(difference), difference < 0 ? Style::good : Style::plain, Align::right};
}

std::string table_text(const ProfileComparison& comparison, const TableChoice& choice, const ReportStyle& style) {
  TextTable table({.gap = 2, .color = style.color, .width = style.width});
  const bool nodes = choice.by == Grouping::node;
  const bool has_usual = has_columns(style, kUsualWidth);
  const auto add = [&](Cell name, Cell op, Cell a, Cell b, Cell difference, Cell cause) {
    std::vector<Cell> cells = {std::move(name)};
    if (nodes && has_usual) cells.push_back(std::move(op));
    cells.push_back(std::move(a));
    if (has_usual) cells.push_back(std::move(b));
    cells.push_back(std::move(difference));
    cells.push_back(std::move(cause));
    table.row(std::move(cells));
  };
  add({std::string(to_string(choice.by)), Style::faint}, {"op", Style::faint}, right("A µs", Style::faint), right("B µs", Style::faint),
      right("difference", Style::faint), {nodes ? "cause" : "", Style::faint});
  for (const PairedLine& line : pair_tables(comparison, choice)) {
    const auto time = [&](const std::optional<double>& us) { return right(us ? microseconds_text(*us) : "–"); };
    add(node_text(line.name, style.width), operator_text(line.op, style.width), time(line.a_us), time(line.b_us), difference_cell(line),
        line.cause ? std::string(to_string(*line.cause)) : "");
  }
  const double a = comparison.a.total_us, b = comparison.b.total_us;
  add({"all", Style::strong}, "", right(microseconds_text(a), Style::strong), right(microseconds_text(b), Style::strong),
      right(signed_microseconds_text(b - a), Style::strong), "");
  return table.text();
}

std::string verdict_line(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate, const ReportStyle& style) {
  const int code = exit_code(comparison, gate);
  return paint(comparison_answer(comparison, gate), code != 0 ? Style::bad : Style::strong, style.color) + "   " +
         comparison_basis(comparison) + (gate ? "   exit " + std::to_string(code) : "") + "\n";
}

}  // namespace

std::string comparison_basis(const ProfileComparison& comparison) {
  const std::string how = comparison.pairs > 0 ? counted(comparison.pairs, "pair") + " in " + counted(comparison.rounds, "round")
                                               : "measured apart, not in turn";
  return "B takes " + ratio_text(comparison.ratio) + " the time of A · " + how + ", " +
         (comparison.clock == TimeKind::wall ? "wall" : "processor") + " time";
}

std::string comparison_text(const ProfileComparison& comparison, const TableChoice& choice, const std::optional<SlowdownGate>& gate,
                            const ReportStyle& style) {
  if (style.quiet) return verdict_line(comparison, gate, style);
  TextTable head({.gap = 3, .color = style.color, .width = style.width});
  const auto add = [&](const char* side, const Profile& profile) {
    const Latency& latency = profile.latency;
    const Estimate& time = profile.clock == TimeKind::wall ? latency.us : latency.processor_us;
    head.row({side,
              {escape(profile.model), Style::strong},
              {duration_text(time.median), Style::plain, Align::right},
              time.interval ? "95 % in " + interval_text(time) : "too few runs for an interval"});
  };
  add("A", comparison.a);
  add("B", comparison.b);
  std::string out = head.text() + "\n" + table_text(comparison, choice, style) + "\n" + causes_text(comparison);
  const std::string sentence = sentence_of(comparison);
  if (sentence != comparison_answer(comparison.ratio)) out += sentence + "\n";
  out += paint(context_text(comparison.a.context), Style::faint, style.color) + "\n";
  const Latency& a = comparison.a.latency;
  out += doubts_text(is_busy(a) ? a : comparison.b.latency, style);
  return out + verdict_line(comparison, gate, style);
}

Json comparison_json(const ProfileComparison& comparison, const TableChoice& choice, const std::optional<SlowdownGate>& gate) {
  Json out = Json::object(), estimate = Json::object();
  const Estimate& ratio = comparison.ratio;
  estimate.set("median", ratio.median);
  estimate.set("low", ratio.interval ? Json(ratio.interval->low) : Json());
  estimate.set("high", ratio.interval ? Json(ratio.interval->high) : Json());
  out.set("schema", "relayout.profile-comparison/1").set("ratio", std::move(estimate)).set("clock", to_string(comparison.clock));
  out.set("pairs", comparison.pairs).set("rounds", comparison.rounds);
  if (gate) {
    Json limit = Json::object();
    limit.set("fail_on_slowdown", gate->limit).set("strict", gate->strict);
    out.set("gate", std::move(limit.set("verdict", to_string(judge_slowdown(ratio, gate->limit)))));
  }
  Json lines = Json::array();
  for (const PairedLine& line : pair_tables(comparison, choice)) {
    Json entry = Json::object();
    entry.set("name", line.name).set("op", line.op).set("a_us", line.a_us).set("b_us", line.b_us);
    entry.set("cause", line.cause ? Json(to_string(*line.cause)) : Json());
    lines.add(std::move(entry.set("difference_us", line.difference())));
  }
  Json causes = Json::array();
  for (const auto& [cause, sum] : sums_of(comparison)) {
    causes.add(Json::object().set("cause", to_string(cause)).set("lines", sum.rows).set("difference_us", sum.us));
  }
  Json folded = Json::object();
  for (const auto& [op, number] : comparison.folded) folded.set(op, number);
  out.set("causes", std::move(causes)).set("folded", std::move(folded)).set("proved", comparison.proved);
  out.set("nodes_in_common", comparison.common).set("related", comparison.is_related);
  out.set("sentence", sentence_of(comparison));
  out.set("differences", std::move(lines));
  TableChoice nodes = choice;
  nodes.by = Grouping::node;
  out.set("a", profile_json(comparison.a, make_table(comparison.a, nodes)));
  out.set("b", profile_json(comparison.b, make_table(comparison.b, nodes)));
  return std::move(out.set("exit_code", exit_code(comparison, gate)));
}

}  // namespace relayout::cli
