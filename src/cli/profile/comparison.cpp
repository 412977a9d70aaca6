// Reports two profiled models: the verdict on their times, what causes the difference, and the lines that differ.
#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/profile/profile.h"

namespace relayout::cli {
namespace {

std::string ratio_words(double value) {
  return fixed(value, 3);
}

std::string exact_percent(double part) {
  return significant(100 * part, 6) + " %";
}

std::string gate_text(const ProfileComparison& comparison, const SlowdownGate& gate) {
  const SlowdownVerdict verdict = judge_slowdown(comparison.ratio, gate.limit);
  const std::string limit = exact_percent(gate.limit);
  switch (verdict) {
    case SlowdownVerdict::slower:
      return "slower by more than " + limit;
    case SlowdownVerdict::within:
      return "not slower by more than " + limit;
    case SlowdownVerdict::inconclusive:
      break;
  }
  return "inconclusive: the interval holds " + ratio_words(1 + gate.limit) + ", --repeat N measures more pairs";
}

}  // namespace

std::string comparison_answer(const Estimate& ratio) {
  switch (judge_time(ratio)) {
    case TimeClass::faster:
      return ratio_words(1 / ratio.median) + " × faster";
    case TimeClass::slower:
      return ratio_words(ratio.median) + " × slower";
    case TimeClass::same:
      return "no difference shown";
    case TimeClass::inconclusive:
    case TimeClass::unknown:
      break;
  }
  return "inconclusive";
}

std::string comparison_answer(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate) {
  return gate ? gate_text(comparison, *gate) : comparison_answer(comparison.ratio);
}

int exit_code(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate) {
  if (!gate) return 0;
  const SlowdownVerdict verdict = judge_slowdown(comparison.ratio, gate->limit);
  return verdict == SlowdownVerdict::slower || (gate->strict && verdict == SlowdownVerdict::inconclusive) ? 1 : 0;
}

// Causes of the difference.
namespace {

/// The contribution of a cause to a difference that the interval shows.
struct CausePart {
  Cause cause;
  double us = 0;
  int64_t percent = 0;  ///< negative: opposite to the difference
};

/// Contributions of half a percent or more, the largest first. Where some are negative, the others exceed 100 %, and reports show times.
std::vector<CausePart> parts_of(const ProfileComparison& comparison, double whole) {
  std::vector<CausePart> out;
  for (const auto& [cause, sum] : sums_of(comparison)) {
    const CausePart part{cause, sum.us, std::llround(100 * sum.us / whole)};
    if (part.percent != 0) out.push_back(part);
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, [&](const CausePart& part) { return part.us / whole; });
  return out;
}

/// "52 BatchNormalizations and 3 Muls"
std::string folded_text(const ProfileComparison& comparison) {
  std::vector<std::pair<int64_t, std::string>> operators;
  for (const auto& [op, number] : comparison.folded) operators.emplace_back(-number, op);
  std::ranges::sort(operators);
  constexpr std::size_t kMostOperators = 2;
  std::string out;
  int64_t rest = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (i >= kMostOperators) rest -= operators[i].first;
    if (i < kMostOperators) out += (i > 0 ? ", " : "") + counted(-operators[i].first, operators[i].second);
  }
  return rest > 0 ? out + " and " + counted(rest, "other node") : out;
}

/// "from folding 52 BatchNormalizations", "from layout", "unexplained"
std::string part_text(const ProfileComparison& comparison, Cause cause) {
  switch (cause) {
    case Cause::folded:
      return comparison.folded.empty() ? "from folding" : "from folding " + folded_text(comparison);
    case Cause::fused:
      return "from fusion";
    case Cause::kernel:
      return "from kernels";
    case Cause::reorder:
      return "from reorders";
    case Cause::removed:
    case Cause::added:
      return "from nodes " + std::string(to_string(cause));
    case Cause::layout:
      return "from layout";
    case Cause::unexplained:
      break;
  }
  return std::string(to_string(cause));
}

}  // namespace

std::map<Cause, CauseSum> sums_of(const ProfileComparison& comparison) {
  std::map<Cause, CauseSum> out;
  for (const PairedRow& pair : comparison.rows) {
    ++out[pair.cause].rows;
    out[pair.cause].us += pair.difference_us;
  }
  return out;
}

std::string sentence_of(const ProfileComparison& comparison) {
  const double whole = comparison.b.total_us - comparison.a.total_us;
  if (!comparison.is_related) {
    return comparison_answer(comparison.ratio) + ": the models have little in common, " +
           std::to_string(std::llround(100 * comparison.common)) + " % of their nodes belong together";
  }
  const bool is_shown = is_difference(judge_time(comparison.ratio)) && whole * (comparison.ratio.median - 1) > 0;
  if (!is_shown) return comparison_answer(comparison.ratio);
  const std::vector<CausePart> parts = parts_of(comparison, whole);
  const bool against = std::ranges::any_of(parts, [](const CausePart& part) { return part.percent < 0; });
  std::string out = comparison_answer(comparison.ratio);
  const char* between = ": ";
  for (const CausePart& part : parts) {
    const std::string size = against ? signed_microseconds_text(part.us) + " µs " : std::to_string(part.percent) + " % ";
    out += between + size + part_text(comparison, part.cause);
    between = ", ";
  }
  return out;
}

std::string causes_text(const ProfileComparison& comparison) {
  const double whole = comparison.b.total_us - comparison.a.total_us;
  std::string out = "difference " + signed_microseconds_text(whole) + " µs";
  const char* between = ": ";
  for (const auto& [cause, sum] : sums_of(comparison)) {
    out += between + std::string(to_string(cause)) + (cause == Cause::folded && comparison.proved ? " (proved) " : " ") +
           signed_microseconds_text(sum.us) + " in " + counted(sum.rows, "line");
    between = " · ";
  }
  return out + "\n";
}

// Text and JSON.
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
