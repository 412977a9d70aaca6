// Compares traces: the operations that are chosen, those that fail, and their report with TraceDiff's columns, names and charts.
#include <cmath>

#include "base/log.h"
#include "base/positions.h"
#include "cli/diff/diff.h"
#include "cli/profile/profile.h"

namespace relayout::cli {
namespace {

/// In the order of reports.
constexpr std::array kClasses = {CountClass::added, CountClass::removed, CountClass::increased, CountClass::decreased,
                                 CountClass::unchanged};
/// Time classes that a summary names.
constexpr std::array kTimes = {TimeClass::faster, TimeClass::slower, TimeClass::inconclusive};

// What fails.

/// The conditions under which --fail-on fails.
struct TraceGate {
  std::vector<CountClass> classes{};
  std::optional<double> slower{}, faster{};  ///< 0.05: fails beyond five percent
  bool strict = false;                       ///< undecided times fail too
};

/// Reads "added,removed,slower:5%" of --fail-on; all classes of counts for --exit-code. Error{usage} for anything else, and for --strict
/// without slower or faster.
TraceGate trace_gate(const DiffRequest& request) {
  TraceGate gate;
  for (const std::string& word : request.fail_on) {
    const std::size_t colon = word.find(':');
    const std::string name = word.substr(0, colon);
    const auto known = std::ranges::find(kClasses, name, [](CountClass one) { return to_string(one); });
    if (known != kClasses.end() && *known != CountClass::unchanged && colon == std::string::npos) {
      gate.classes.push_back(*known);
    } else if (name == "slower" || name == "faster") {
      (name == "slower" ? gate.slower : gate.faster) =
          colon == std::string::npos ? 0 : parse_percent("--fail-on " + name, word.substr(colon + 1));
    } else {
      fail(ErrorKind::usage, "--fail-on " + quote(word) + " is none of added, removed, increased, decreased, slower:P%, faster:P%");
    }
  }
  gate.strict = request.traces.strict;
  // Without a gate it refuses traces with impossible times, and says nothing of intervals.
  if (gate.strict && !request.fail_on.empty() && !gate.slower && !gate.faster) {
    fail(ErrorKind::usage, "--strict has an effect on --fail-on slower and faster only");
  }
  if (request.exit_code) gate.classes.assign(kClasses.begin(), kClasses.end() - 1);
  return gate;
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

bool is_failed(const OperationDifference& row, const TraceGate& gate) {
  return std::ranges::find(gate.classes, row.counts) != gate.classes.end() || has_verdict(row, gate, SlowdownVerdict::slower) ||
         (gate.strict && has_verdict(row, gate, SlowdownVerdict::inconclusive));
}

// Words.

/// "2 events without a possible time skipped: 'conv' took -2 µs (byte 1,234), …"
std::string skipped_text(const Trace& trace) {
  return counted(trace.skipped, "event") + " without a possible time skipped: " + trace.first_skipped + (trace.skipped > 1 ? ", …" : "");
}

/// "removed", and nothing where both counts are equal.
std::string count_change_text(const OperationDifference& row) {
  return row.counts == CountClass::unchanged ? "" : std::string(to_string(row.counts));
}

/// "faster", "slower", "same" or "inconclusive", and nothing without intervals.
std::string time_change_text(const OperationDifference& row) {
  return row.time == TimeClass::unknown ? "" : std::string(to_string(row.time));
}

/// "removed", "increased, slower", "faster". "same" appears only where counts are equal.
std::string change_text(const OperationDifference& row) {
  const std::string counts = count_change_text(row);
  return !counts.empty() && row.time == TimeClass::same ? counts : joined({counts, time_change_text(row)}, ", ");
}

/// Whether the sum of the times has a meaning. PyTorch's events nest, and each includes the time of the events inside it.
bool adds_up(const Trace& trace) {
  return trace.source != "PyTorch" && trace.source != "trace events";
}

/// One of TraceDiff's charts as a table: for each operation a bar per side, a bar for the difference, and the text of `change`. The largest
/// differences are first.
template <class Number>
Table chart(const std::vector<OperationDifference>& rows, Number OperationDifference::* a, Number OperationDifference::* b,
            std::string (*change)(const OperationDifference&)) {
  constexpr std::size_t kMostRows = 2000;
  const auto text = [](Number number) {
    if constexpr (std::is_integral_v<Number>)
      return format_count(number);
    else
      return microseconds_text(number);
  };
  const auto difference = [&](const OperationDifference* row) { return static_cast<double>(row->*b) - static_cast<double>(row->*a); };
  std::vector<const OperationDifference*> order;
  double most = 0;
  for (const OperationDifference& row : rows) {
    order.push_back(&row);
    most = std::max({most, static_cast<double>(row.*a), static_cast<double>(row.*b)});
  }
  std::ranges::stable_sort(order, std::greater{}, [&](const auto* row) { return std::abs(difference(row)); });
  if (order.size() > kMostRows) order.resize(kMostRows);
  Table out;
  out.head({"operation", right("A"), "", right("B"), "", right("difference"), "", "change"});
  for (const OperationDifference* row : order) {
    const double more = difference(row);
    out.row({escape(row->name), text(row->*a), text_bar(static_cast<double>(row->*a), most), text(row->*b),
             text_bar(static_cast<double>(row->*b), most), (more > 0 ? "+" : "") + text(row->*b - row->*a), signed_bar(more, most),
             change(*row)});
  }
  return out;
}

/// The baseline, one other trace, and the operations that are shown.
class TracePair {
 public:
  TracePair(const Trace& control, Trace test, const DiffRequest& request) : control_(control), test_(std::move(test)) {
    std::vector<OperationDifference> rows = diff_traces(control_, test_);
    const auto names = [](const OperationDifference& row) { return std::vector{row.name}; };
    request.choice.check(rows, names, "operation");
    for (OperationDifference& row : rows) {
      const bool large = std::max(row.control_us, row.test_us) >= request.least_us.value_or(0);
      (large && request.choice.has(names(row)) ? rows_ : left_out_).push_back(std::move(row));
    }
  }

  [[nodiscard]] const Trace& test() const { return test_; }
  [[nodiscard]] const std::vector<OperationDifference>& rows() const { return rows_; }
  /// "2 added · 1 removed · 30 unchanged; times: 3 faster": each operation has one class of counts, and with intervals one class of times.
  [[nodiscard]] std::string summary() const {
    const auto list = [&](const auto& kinds, auto OperationDifference::* of) {
      return joined(kinds, " · ", [&](auto kind) {
        const auto count = std::ranges::count(rows_, kind, of);
        return count == 0 ? "" : format_count(count) + " " + std::string(to_string(kind));
      });
    };
    const std::string counts = list(kClasses, &OperationDifference::counts), times = list(kTimes, &OperationDifference::time);
    return (counts.empty() ? "nothing" : counts) + (times.empty() ? "" : "; times: " + times);
  }

  /// The two files.
  [[nodiscard]] Table head() const {
    Table out;
    const auto add = [&](const char* name, const Trace& trace) {
      const std::string steps = trace.steps.empty() ? "" : counted(std::ssize(trace.steps), "step");
      const std::string outside = trace.outside > 0 ? counted(trace.outside, "event") + " outside of every counted step left out" : "";
      const std::string skipped = trace.skipped > 0 ? skipped_text(trace) : "";
      out.row({name, {escape(trace.path), Style::strong}, joined({trace.source, steps, outside, skipped}, " · ")});
    };
    add("A", control_);
    add("B", test_);
    out.line("");
    return out;
  }

  /// The largest differences, at most `top` (0: all), and the sums of the others.
  [[nodiscard]] Table table(std::size_t top, const ReportStyle& style) const {
    Table out({.gap = 2});
    out.head({"operation", right("A"), right("B"), right("A µs"), right("B µs"), right("difference"), "change"});
    const auto add_sum = [&](const char* name, std::span<const OperationDifference> rows, Style look) {
      OperationDifference sum;
      for (const OperationDifference& row : rows) {
        sum.control_count += row.control_count;
        sum.test_count += row.test_count;
        sum.control_us += row.control_us;
        sum.test_us += row.test_us;
      }
      out.row({Cell(name, look), Cell(format_count(sum.control_count), look), Cell(format_count(sum.test_count), look),
               Cell(microseconds_text(sum.control_us), look), Cell(microseconds_text(sum.test_us), look),
               Cell(signed_microseconds_text(sum.difference_us()), look)});
    };
    const std::size_t shown = top == 0 ? rows_.size() : std::min(top, rows_.size());
    for (const OperationDifference& row : std::span(rows_).first(shown)) {
      const Style look = row.time == TimeClass::faster ? Style::good : row.time == TimeClass::slower ? Style::bad : Style::plain;
      out.row({has_columns(style, kWide) ? escape(row.name) : short_operators(row.name), format_count(row.control_count),
               format_count(row.test_count), microseconds_text(row.control_us), microseconds_text(row.test_us),
               Cell(signed_microseconds_text(row.difference_us()), look), change_text(row)});
    }
    std::vector<OperationDifference> all = rows_;
    all.insert(all.end(), left_out_.begin(), left_out_.end());
    if (shown < rows_.size()) add_sum("(others)", std::span(rows_).subspan(shown), Style::faint);
    if (!left_out_.empty()) add_sum("(excluded)", left_out_, Style::faint);
    if (adds_up(control_) && adds_up(test_)) add_sum("all", all, Style::strong);
    return out;
  }

  /// A line for each file with skipped events.
  [[nodiscard]] Table remarks() const {
    Table out;
    for (const Trace* trace : {&control_, &test_}) {
      if (trace->skipped > 0) out.line(markdown_code(escape(trace->path)) + ": " + escape(skipped_text(*trace)));
    }
    return out;
  }

  [[nodiscard]] Json json(const TraceGate& gate) const {
    const auto side = [](const Trace& trace) {
      Json out = Json().set("file", trace.path).set("source", trace.source).set("steps", trace.steps).set("outside", trace.outside);
      out.set("skipped", trace.skipped).set("first_skipped", trace.skipped > 0 ? Json(trace.first_skipped) : Json());
      return std::move(out.set("machine", trace.machine.empty() ? Json() : Json(trace.machine)));
    };
    Json out, classes;
    out.set("control", side(control_)).set("test", side(test_));
    out.set("ops", Json::list(rows_, [](const OperationDifference& row) {
              Json one = Json().set("name", row.name).set("control_count", row.control_count).set("test_count", row.test_count);
              one.set("control_us", row.control_us).set("test_us", row.test_us).set("diff_count", row.count_difference());
              one.set("diff_us", row.difference_us()).set("class", to_string(row.counts)).set("time", to_string(row.time));
              return std::move(one.set("ratio_low", low_of(row.ratio)).set("ratio_high", high_of(row.ratio)));
            }));
    for (const CountClass kind : kClasses) {
      // Names of TraceDiff's ops_diff.
      classes.set(kind == CountClass::removed ? "deleted" : to_string(kind),
                  names([&](const OperationDifference& row) { return row.counts == kind; }));
    }
    out.set("ops_diff", std::move(classes)).set("left_out", left_out_.size());
    return std::move(out.set("undecided", names([&](const auto& row) { return has_verdict(row, gate, SlowdownVerdict::inconclusive); })));
  }

  [[nodiscard]] std::string csv() const {
    std::string out;
    const auto number = [](std::optional<double> value) { return value && std::isfinite(*value) ? shortest(*value) : ""; };
    for (const OperationDifference& row : rows_) {
      out += csv_record(std::array{csv_field(test_.path), csv_field(row.name), std::to_string(row.control_count),
                                   std::to_string(row.test_count), std::to_string(row.count_difference()), shortest(row.control_us),
                                   shortest(row.test_us), shortest(row.difference_us()), std::string(to_string(row.counts)),
                                   std::string(to_string(row.time)), number(low_of(row.ratio)), number(high_of(row.ratio))});
    }
    return out;
  }

  [[nodiscard]] std::vector<std::string> names(const std::function<bool(const OperationDifference&)>& has) const {
    std::vector<std::string> out;
    for (const OperationDifference& row : rows_) {
      if (has(row)) out.push_back(row.name);
    }
    return out;
  }

  /// A case per class that the gate names, and a case for the whole gate.
  [[nodiscard]] std::vector<GateCase> cases(const TraceGate& gate) const {
    std::vector<GateCase> out;
    const auto add = [&](std::string_view name, const TraceGate& part) {
      GateCase& one = out.emplace_back(GateCase{std::string(name), "", {}});
      for (const std::string& failed : names([&](const auto& row) { return is_failed(row, part); })) one.failed.push_back(escape(failed));
      if (one.failed.empty()) return;
      one.message = counted(std::ssize(one.failed), "operation") + ": " + one.failed.front() + (one.failed.size() > 1 ? " …" : "");
    };
    for (const CountClass kind : gate.classes) add(to_string(kind), {.classes = {kind}});
    if (gate.slower) add("slower", {.slower = gate.slower, .strict = gate.strict});
    if (gate.faster) add("faster", {.faster = gate.faster, .strict = gate.strict});
    add("whole", gate);
    return out;
  }

 private:
  Trace control_, test_;
  std::vector<OperationDifference> rows_;      ///< selected by the patterns and --min-us
  std::vector<OperationDifference> left_out_;  ///< all others
};

/// Times of different machines are not comparable: warns, or refuses where a gate depends on them.
void check_machines(const Trace& control, const Trace& test, const DiffRequest& request, const TraceGate& gate) {
  if (control.machine.empty() || test.machine.empty() || control.machine == test.machine || request.any_machine) return;
  const std::string what = escape(control.path) + " and " + escape(test.path) + " were measured on different machines or settings (" +
                           escape(control.machine) + "; " + escape(test.machine) + ")";
  if (gate.slower || gate.faster) fail(ErrorKind::usage, what, "--allow-different-machine compares them all the same");
  log_warning(what);
}

/// The sections of a pair's report.
std::vector<Section> sections_of(const std::shared_ptr<const TracePair>& pair, const DiffRequest& request) {
  using Row = OperationDifference;
  const auto top = as_size(request.top);
  const bool is_alone = request.files.size() == 2;
  const std::string where = is_alone ? "" : ": " + pair->test().path;
  const auto summary = [pair](auto& style) {
    Table out;
    if (style.form == Form::text) out.line("");
    out.line(pair->summary());
    return out;
  };
  const auto counts = [pair](auto&) { return chart(pair->rows(), &Row::control_count, &Row::test_count, count_change_text); };
  const auto durations = [pair](auto&) { return chart(pair->rows(), &Row::control_us, &Row::test_us, time_change_text); };
  return {{Form::text, "", [pair](auto&) { return pair->head(); }},
          {is_alone ? Form::quiet : Form::markdown | Form::quiet, pair->test().path, summary},
          {Form::text | Form::markdown, "", [pair, top](auto& style) { return pair->table(top, style); }},
          {Form::text, "", summary},
          {Form::markdown, "", [pair](auto&) { return pair->remarks(); }},
          {Form::page, "Counts" + where, counts},
          {Form::page, "Durations in µs" + where, durations}};
}

FileDiff compared(const Trace& control, Trace test, const DiffRequest& request, const TraceGate& gate) {
  const auto pair = std::make_shared<const TracePair>(control, std::move(test), request);
  FileDiff out{.a = control.path, .b = pair->test().path, .verdict = pair->summary()};
  out.sections = sections_of(pair, request);
  out.csv = [pair] { return pair->csv(); };
  out.data = [pair, gate] { return pair->json(gate); };
  out.failed = pair->names([&](const auto& row) { return is_failed(row, gate); });
  out.undecided = pair->names([&](const auto& row) { return has_verdict(row, gate, SlowdownVerdict::inconclusive); });
  if (!request.report.junit.empty()) out.gate = pair->cases(gate);
  return out;
}

}  // namespace

std::vector<FileDiff> diff_of_traces(const DiffRequest& request) {
  TraceOptions options = request.traces;
  for (const std::string& step : request.steps) options.steps.push_back(parse_integer("--steps", step, 0));
  options.names_of_nodes = request.names == "node";
  const TraceGate gate = trace_gate(request);
  const Trace control = read_trace(request.files.front(), options);
  std::vector<FileDiff> out;
  for (std::size_t i = 1; i < request.files.size(); ++i) {
    Trace test = read_trace(request.files[i], options);
    check_machines(control, test, request, gate);
    out.push_back(compared(control, std::move(test), request, gate));
  }
  return out;
}

}  // namespace relayout::cli
