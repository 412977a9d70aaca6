// Chooses which differences of two traces are reported, and which of them fail.
#include <algorithm>

#include "cli/common/options.h"
#include "cli/diff/diff.h"

namespace relayout::cli {
namespace {

bool matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return glob_match(pattern, name); });
}

/// Whether the second time exceeds the first by more than a limit. Without an interval, the sums decide.
SlowdownVerdict judge(const Estimate& ratio, double first_us, double second_us, double limit) {
  if (ratio.interval) return judge_slowdown(ratio, limit);
  return second_us > first_us * (1 + limit) ? SlowdownVerdict::slower : SlowdownVerdict::within;
}

Estimate inverse(const Estimate& ratio) {
  Estimate out{1 / ratio.median, std::nullopt};
  if (ratio.interval) out.interval = Interval{1 / ratio.interval->high, 1 / ratio.interval->low};
  return out;
}

/// Whether the gate gives an operation's time this verdict. An operation that only one side has is judged by its counts alone.
bool has_verdict(const OperationDifference& row, const TraceGate& gate, SlowdownVerdict verdict) {
  if (row.control_count == 0 || row.test_count == 0) return false;
  return (gate.slower && judge(row.ratio, row.control_us, row.test_us, *gate.slower) == verdict) ||
         (gate.faster && judge(inverse(row.ratio), row.test_us, row.control_us, *gate.faster) == verdict);
}

}  // namespace

TracePair pair_traces(const Trace& control, const Trace& test, const TraceChoice& choice) {
  TracePair pair{&control, &test, {}, {}};
  std::vector<OperationDifference> rows = diff_traces(control, test);
  const auto fits = [&](const std::string& pattern) {
    return std::ranges::any_of(rows, [&](const OperationDifference& row) { return glob_match(pattern, row.name); });
  };
  check_patterns(choice.only, choice.exclude, fits, "operation");
  for (OperationDifference& row : rows) {
    const bool chosen = (choice.only.empty() || matches(choice.only, row.name)) && !matches(choice.exclude, row.name);
    const bool large = std::max(row.control_us, row.test_us) >= choice.least_us;
    (chosen && large ? pair.rows : pair.left_out).push_back(std::move(row));
  }
  return pair;
}

std::vector<std::string> trace_failures(const TracePair& pair, const TraceGate& gate) {
  std::vector<std::string> out;
  for (const OperationDifference& row : pair.rows) {
    const bool by_count = std::ranges::find(gate.classes, row.counts) != gate.classes.end();
    const bool by_time =
        has_verdict(row, gate, SlowdownVerdict::slower) || (gate.strict && has_verdict(row, gate, SlowdownVerdict::inconclusive));
    if (by_count || by_time) out.push_back(row.name);
  }
  return out;
}

std::vector<std::string> undecided_times(const TracePair& pair, const TraceGate& gate) {
  std::vector<std::string> out;
  for (const OperationDifference& row : pair.rows) {
    if (has_verdict(row, gate, SlowdownVerdict::inconclusive)) out.push_back(row.name);
  }
  return out;
}

TraceGate read_trace_gate(const std::vector<std::string>& words, bool exit_code, bool strict) {
  TraceGate gate;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    const std::string name = word.substr(0, colon);
    const auto kind = std::ranges::find(kCountClasses, name, [](CountClass known) { return to_string(known); });
    if (kind != kCountClasses.end() && *kind != CountClass::unchanged && colon == std::string::npos) {
      gate.classes.push_back(*kind);
    } else if (name == "slower" || name == "faster") {
      (name == "slower" ? gate.slower : gate.faster) =
          colon == std::string::npos ? 0 : parse_percent("--fail-on " + name, word.substr(colon + 1));
    } else {
      fail(ErrorKind::usage, "--fail-on " + quote(word) + " is none of added, removed, increased, decreased, slower:P%, faster:P%");
    }
  }
  gate.strict = strict;
  // Without a gate it refuses traces with impossible times, and says nothing of intervals.
  if (strict && !words.empty() && !gate.slower && !gate.faster) {
    fail(ErrorKind::usage, "--strict has an effect on --fail-on slower and faster only");
  }
  if (exit_code) gate.classes = {CountClass::added, CountClass::removed, CountClass::increased, CountClass::decreased};
  return gate;
}

}  // namespace relayout::cli
