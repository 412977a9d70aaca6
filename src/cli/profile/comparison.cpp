// Reports several profiles: two models against each other, or one model in several settings of threads and sizes.

#include <cmath>

#include "cli/common/options.h"
#include "cli/profile/profile.h"

namespace relayout::cli {

std::string comparison_answer(const Estimate& ratio) {
  const TimeClass time = judge_time(ratio);
  if (time == TimeClass::faster) return fixed(1 / ratio.median, 3) + " × faster";
  if (time == TimeClass::slower) return fixed(ratio.median, 3) + " × slower";
  return time == TimeClass::same ? "no difference shown" : "inconclusive";
}

std::string comparison_answer(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate) {
  if (!gate) return comparison_answer(comparison.ratio);
  const SlowdownVerdict verdict = judge_slowdown(comparison.ratio, gate->limit);
  if (verdict != SlowdownVerdict::inconclusive) {
    return std::string(verdict == SlowdownVerdict::within ? "not " : "") + "slower by more than " + significant(100 * gate->limit, 6) +
           " %";
  }
  return "inconclusive: the interval holds " + fixed(1 + gate->limit, 3) + ", --repeat N measures more pairs";
}

int exit_code(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate) {
  if (!gate) return 0;
  const SlowdownVerdict verdict = judge_slowdown(comparison.ratio, gate->limit);
  return verdict == SlowdownVerdict::slower || (gate->strict && verdict == SlowdownVerdict::inconclusive) ? 1 : 0;
}

// Causes of the difference.
namespace {

struct CauseSum {
  int64_t rows = 0;
  double us = 0;
};

/// Sums of the differences by cause, for the causes that occur.
std::map<Cause, CauseSum> sums_of(const ProfileComparison& comparison) {
  std::map<Cause, CauseSum> out;
  for (const PairedRow& pair : comparison.rows) {
    ++out[pair.cause].rows;
    out[pair.cause].us += pair.difference_us;
  }
  return out;
}

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
  constexpr auto kWords = std::to_array<const char*>({"from folding", "from fusion", "from layout", "from kernels", "from reorders",
                                                      "from nodes removed", "from nodes added", "unexplained"});
  const std::string out = kWords[static_cast<std::size_t>(cause)];
  return cause == Cause::folded && !comparison.folded.empty() ? out + " " + folded_text(comparison) : out;
}

}  // namespace

std::string sentence_of(const ProfileComparison& comparison) {
  const double whole = comparison.b.total_us - comparison.a.total_us;
  std::string answer = comparison_answer(comparison.ratio);
  if (!comparison.is_related) {
    return answer + ": the models have little in common, " + std::to_string(std::llround(100 * comparison.common)) +
           " % of their nodes belong together";
  }
  const bool is_shown = is_difference(judge_time(comparison.ratio)) && whole * (comparison.ratio.median - 1) > 0;
  if (!is_shown) return answer;
  const std::vector<CausePart> parts = parts_of(comparison, whole);
  const bool against = std::ranges::any_of(parts, [](const CausePart& part) { return part.percent < 0; });
  const std::string list = joined(parts, ", ", [&](const CausePart& part) {
    const std::string size = against ? signed_microseconds_text(part.us) + " µs " : std::to_string(part.percent) + " % ";
    return size + part_text(comparison, part.cause);
  });
  return joined({answer, list}, ": ");
}

// Forms.
namespace {

/// "difference -1,234.5 µs: folded -1,000.2 in 20 lines · unexplained …"
std::string causes_text(const ProfileComparison& comparison) {
  const double whole = comparison.b.total_us - comparison.a.total_us;
  const std::string list = joined(sums_of(comparison), " · ", [&](const auto& entry) {
    const auto& [cause, sum] = entry;
    return std::string(to_string(cause)) + (cause == Cause::folded && comparison.proved ? " (proved) " : " ") +
           signed_microseconds_text(sum.us) + " in " + counted(sum.rows, "line");
  });
  return joined({"difference " + signed_microseconds_text(whole) + " µs", list}, ": ");
}

/// "0.613 × (0.605 … 0.621 at 95 %)"
std::string ratio_text(const Estimate& estimate) {
  return fixed(estimate.median, 3) + " ×" +
         (estimate.interval ? " (" + fixed(estimate.interval->low, 3) + " … " + fixed(estimate.interval->high, 3) + " at 95 %)"
                            : " (too few pairs for an interval)");
}

/// "B takes 0.613 × (0.605 … 0.621 at 95 %) the time of A · 100 pairs in 10 rounds, wall time"
std::string comparison_basis(const ProfileComparison& comparison) {
  const std::string how = comparison.pairs > 0 ? counted(comparison.pairs, "pair") + " in " + counted(comparison.rounds, "round")
                                               : "measured apart, not in turn";
  return "B takes " + ratio_text(comparison.ratio) + " the time of A · " + how + ", " +
         (comparison.clock == TimeKind::wall ? "wall" : "processor") + " time";
}

Table head_table(const ProfileComparison& comparison) {
  Table out;
  const auto add = [&](const char* side, const Profile& profile) {
    const Latency& latency = profile.latency;
    const Estimate& time = profile.clock == TimeKind::wall ? latency.us : latency.processor_us;
    out.row({side, Cell(escape(profile.model), Style::strong), Cell(duration_text(time.median), Style::plain, Align::right),
             time.interval ? "95 % in " + interval_text(time) : "too few runs for an interval"});
  };
  add("A", comparison.a);
  add("B", comparison.b);
  out.line("");
  return out;
}

/// The lines of both profiles, the largest difference first.
Table lines_table(const ProfileComparison& comparison, const TableChoice& choice, const ReportStyle& style) {
  const bool is_page = style.form == Form::page;
  Table table({.gap = 2});
  Cell op = Cell("op").from(kUsualWidth);
  if (choice.by != Grouping::node) op = std::move(op).only(Form::page);
  table.head({std::string(to_string(choice.by)), op, right("A µs"), right("B µs").from(kUsualWidth), right("difference"),
              Cell("").only(Form::page), choice.by == Grouping::node || is_page ? "cause" : ""});
  const std::vector<PairedLine> lines = pair_tables(comparison, choice);
  double most = 0;
  for (const PairedLine& line : lines) most = std::max(most, std::abs(line.difference()));
  const auto time = [](const std::optional<double>& us) { return us ? microseconds_text(*us) : "–"; };
  for (const PairedLine& line : lines) {
    const double difference = line.difference();
    table.row({node_text(line.name, style.width), is_page ? line.op : operator_text(line.op, style.width), time(line.a_us), time(line.b_us),
               Cell(signed_microseconds_text(difference), difference < 0 && !is_page ? Style::good : Style::plain),
               signed_bar(difference, most), line.cause ? std::string(to_string(*line.cause)) : ""});
  }
  if (is_page) return table;
  const double a = comparison.a.total_us, b = comparison.b.total_us;
  table.row({Cell("all", Style::strong), "", Cell(microseconds_text(a), Style::strong), Cell(microseconds_text(b), Style::strong),
             Cell(signed_microseconds_text(b - a), Style::strong)});
  table.line("");
  return table;
}

/// Why the times differ, and how they were measured.
Table cause_lines(const ProfileComparison& comparison) {
  Table out;
  out.line(causes_text(comparison));
  const std::string sentence = sentence_of(comparison);
  if (sentence != comparison_answer(comparison.ratio)) out.line(sentence);
  out.line(context_text(comparison.a.context), Style::faint);
  return out;
}

Table verdict_line(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate) {
  const int code = exit_code(comparison, gate);
  return Table().line({{comparison_answer(comparison, gate), code != 0 ? Style::bad : Style::strong},
                       "   " + comparison_basis(comparison) + (gate ? "   exit " + std::to_string(code) : "")});
}

}  // namespace

Report comparison_report(const ProfileComparison& comparison, const TableChoice& choice, const std::optional<SlowdownGate>& gate) {
  const Profile &a = comparison.a, &b = comparison.b;
  Report out{.code = exit_code(comparison, gate)};
  out.verdict = {comparison_answer(comparison, gate), out.code != 0 ? Style::bad : gate ? Style::good : Style::plain};
  out.title = out.verdict.text + ": " + b.model;
  out.subject = a.model + " → " + b.model;
  out.footer = "relayout profile · " + context_text(a.context);
  TableChoice readable = choice;
  readable.top = kMostTableRows;
  const auto answers = [&](auto&) {
    return Table().line(comparison_basis(comparison)).line(sentence_of(comparison)).line(causes_text(comparison));
  };
  const auto differences = [&, choice, readable](auto& style) {
    return lines_table(comparison, style.form == Form::page ? readable : choice, style);
  };
  out.sections = {{Form::text, "", [&](auto&) { return head_table(comparison); }},
                  {Form::page, "", [&](auto&) { return doubts_of(a.latency); }},
                  {Form::page, "", answers},
                  operators_section(comparison),
                  {Form::text | Form::page, "Differences, the largest first", differences},
                  {Form::text, "", [&](auto&) { return cause_lines(comparison); }},
                  {Form::text, "", [&](auto&) { return doubts_of(is_busy(a.latency) ? a.latency : b.latency); }},
                  {Form::text | Form::quiet, "", [&, gate](auto&) { return verdict_line(comparison, gate); }}};
  out.document = [&, choice, gate] { return comparison_json(comparison, choice, gate); };
  return out;
}

Json comparison_json(const ProfileComparison& comparison, const TableChoice& choice, const std::optional<SlowdownGate>& gate) {
  const Estimate& ratio = comparison.ratio;
  Json out = Json().set("schema", "relayout.profile-comparison/1");
  out.set("ratio", Json().set("median", ratio.median).set("low", low_of(ratio)).set("high", high_of(ratio)));
  out.set("clock", to_string(comparison.clock));
  out.set("pairs", comparison.pairs).set("rounds", comparison.rounds);
  if (gate) {
    const SlowdownVerdict verdict = judge_slowdown(ratio, gate->limit);
    out.set("gate", Json().set("fail_on_slowdown", gate->limit).set("strict", gate->strict).set("verdict", to_string(verdict)));
  }
  out.set("causes", Json::list(sums_of(comparison), [](const auto& cause) {
            return Json().set("cause", to_string(cause.first)).set("lines", cause.second.rows).set("difference_us", cause.second.us);
          }));
  out.set("folded", comparison.folded).set("proved", comparison.proved);
  out.set("nodes_in_common", comparison.common).set("related", comparison.is_related).set("sentence", sentence_of(comparison));
  out.set("differences", Json::list(pair_tables(comparison, choice), [](const PairedLine& line) {
            Json entry = Json().set("name", line.name).set("op", line.op).set("a_us", line.a_us).set("b_us", line.b_us);
            entry.set("cause", line.cause ? Json(to_string(*line.cause)) : Json());
            return std::move(entry.set("difference_us", line.difference()));
          }));
  TableChoice nodes = choice;
  nodes.by = Grouping::node;
  out.set("a", profile_json(comparison.a, make_table(comparison.a, nodes)));
  out.set("b", profile_json(comparison.b, make_table(comparison.b, nodes)));
  return std::move(out.set("exit_code", exit_code(comparison, gate)));
}

// Reports one model in several settings of threads and sizes.
namespace {

/// "1, 2, 4 threads"; empty where all profiles have the same number.
std::string threads_of(const std::vector<Profile>& profiles) {
  std::set<int> numbers;
  for (const Profile& profile : profiles) numbers.insert(profile.context.threads);
  return numbers.size() > 1 ? joined(numbers, ", ", format_count) + " threads" : "";
}

Table sweep_table(const std::vector<Profile>& profiles) {
  Table table({.gap = 2});
  table.head({right("threads"), "inputs", right("latency"), Cell("95 %").from(kWide), right("p99").from(kWide),
              right("GFLOP/s").from(kUsualWidth), right("CPUs").from(kUsualWidth), right("against the first")});
  for (const Profile& profile : profiles) {
    const Latency& latency = profile.latency;
    table.row({format_count(profile.context.threads), inputs_text(profile), Cell(duration_text(latency.us.median), Style::strong),
               interval_text(latency.us), duration_text(latency.p99_us), rate_text(gflops(profile.macs, latency.us.median)),
               fixed(latency.cpu_per_wall, 2), fixed(profiles.front().latency.us.median / latency.us.median, 2) + " ×"});
  }
  table.line(context_text(profiles.front().context, threads_of(profiles)), Style::faint);
  const auto busy = std::ranges::count_if(profiles, [](const Profile& profile) { return is_busy(profile.latency); });
  if (busy > 0) table.line({{"the machine was busy", Style::warning}, " in " + counted(busy, "line")});
  return table;
}

Json sweep_json(const std::vector<Profile>& profiles) {
  return Json().set("schema", "relayout.profile-sweep/1").set("profiles", Json::list(profiles, profile_object));
}

}  // namespace

std::vector<SweepSetting> sweep_settings(const std::vector<std::string>& threads, const Assignments& dims) {
  std::vector<SweepSetting> settings(1);
  const auto multiply = [&](std::size_t count, const auto& set) {
    std::vector<SweepSetting> out;
    for (const SweepSetting& setting : settings) {
      for (std::size_t i = 0; i < count; ++i) {
        out.push_back(setting);
        set(out.back(), i);
      }
    }
    settings = std::move(out);
  };
  if (!threads.empty()) {
    multiply(threads.size(), [&](SweepSetting& setting, std::size_t i) {
      setting.threads = static_cast<int>(std::min<int64_t>(parse_integer("--threads", threads[i], 1), 1 << 20));
    });
  }
  for (const auto& [name, words] : dims) {
    const std::vector<int64_t> sizes = parse_dims("--dim " + escape(name), words);
    if (sizes.empty() || std::ranges::find(sizes, 0) != sizes.end()) {
      fail(ErrorKind::usage, "--dim " + escape(name) + ": a size is 1 or more");
    }
    multiply(sizes.size(), [&](SweepSetting& setting, std::size_t i) { setting.dims[name] = sizes[i]; });
  }
  return settings;
}

Report sweep_report(const std::vector<Profile>& profiles) {
  const auto head = [&](auto&) {
    return Table().line({{escape(profiles.front().model), Style::strong}, "   " + std::string(to_string(profiles.front().mode))});
  };
  return {.sections = {{Form::text | Form::quiet, "", head}, {Form::text | Form::quiet, "", [&](auto&) { return sweep_table(profiles); }}},
          .document = [&] { return sweep_json(profiles); }};
}

}  // namespace relayout::cli
