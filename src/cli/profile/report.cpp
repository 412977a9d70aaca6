// Reports a profile as text that fits the terminal.
#include <cmath>

#include "cli/profile/profile.h"
#include "relayout/types.h"

namespace relayout::cli {
namespace {

/// As kWide, for yet more columns.
constexpr std::size_t kVeryWide = 130;
constexpr std::size_t kOperatorColumns = 27, kNarrowOperatorColumns = 14, kImplementationColumns = 22;

struct Unit {
  double us;
  const char* name;
};

Unit unit_of(double us) {
  if (us >= 999'500) return {1e6, "s"};
  return us >= 999.5 ? Unit{1e3, "ms"} : Unit{1, "µs"};
}

std::string heading(const Profile& profile, const ReportStyle& style) {
  std::string out = paint(escape(profile.model), Style::strong, style.color) + "   " + std::string(to_string(profile.mode));
  if (!profile.precision.empty()) out += " · " + profile.precision;
  const std::string inputs = inputs_text(profile);
  return out + (inputs.empty() ? "" : " · " + inputs) + "\n";
}

std::string head_text(const Profile& profile, const ReportStyle& style) {
  const Latency& latency = profile.latency;
  Table table({.gap = 3, .color = style.color});
  table.row({"latency", Cell(duration_text(latency.us.median), Style::strong),
             "median of " + counted(latency.runs, "run") + (latency.us.interval ? ", 95 % in " + interval_text(latency.us) : "") +
                 " · p90 " + duration_text(latency.p90_us) + " · p95 " + duration_text(latency.p95_us) + " · p99 " +
                 duration_text(latency.p99_us)});
  table.row({"apart", "", apart_text(latency)});
  table.row({"memory", "", memory_text(profile)});
  return table.text();
}

/// A column of the table: its head, and its text for a line.
struct Column {
  Cell head;
  std::function<std::string(const TableLine&)> show;
};

/// The columns for which the terminal has room.
std::vector<Column> columns_for(const ProfileTable& table, const ReportStyle& style) {
  std::vector<Column> out;
  const auto add = [&](bool has, Cell head, std::function<std::string(const TableLine&)> show) {
    if (has) out.push_back({std::move(head), std::move(show)});
  };
  const bool nodes = table.by == Grouping::node, is_usual = has_columns(style, kUsualWidth), is_wide = has_columns(style, kWide);
  const bool is_very_wide = nodes && has_columns(style, kVeryWide), is_short = table.by == Grouping::op && !is_usual;
  const bool has_calls = !nodes || std::ranges::any_of(table.lines, [](const TableLine& line) { return line.calls > 1; });
  add(true, std::string(to_string(table.by)),
      [&style, is_short](const TableLine& line) { return is_short ? short_operators(line.name) : node_text(line.name, style.width); });
  add(nodes, "op", [&style](const TableLine& line) { return operator_text(line.op, style.width); });
  add(nodes && is_wide, "implementation",
      [](const TableLine& line) { return shortened(escape(line.implementation), kImplementationColumns); });
  add(is_very_wide, "layout", [](const TableLine& line) { return line.layout; });
  add(is_very_wide, "shape", [](const TableLine& line) { return line.shape; });
  add(has_calls, right("calls"), [](const TableLine& line) { return line.calls == 0 ? "" : format_count(line.calls); });
  add(true, right("µs"), [](const TableLine& line) { return microseconds_text(line.us); });
  add(true, right("share"), [](const TableLine& line) { return percent_text(line.share); });
  add(is_usual, right("cum."), [](const TableLine& line) { return percent_text(line.cumulative); });
  add(true, right("GFLOP/s"), [](const TableLine& line) { return rate_text(gflops(line.macs, line.us)); });
  add(is_wide, right("GB/s"), [](const TableLine& line) { return rate_text(gigabytes(line.bytes, line.us)); });
  add(table.peak.has_value(), right("of peak"),
      [](const TableLine& line) { return line.part_of_peak ? percent_text(*line.part_of_peak) : "n/a"; });
  return out;
}

std::string table_text(const ProfileTable& table, const ReportStyle& style) {
  const std::vector<Column> columns = columns_for(table, style);
  Table out({.gap = 2, .color = style.color, .width = style.width});
  std::vector<Cell> head;
  for (const Column& column : columns) head.push_back(column.head);
  out.head(std::move(head));
  for (const TableLine& line : table.all_lines()) {
    std::vector<Cell> cells;
    const bool is_rest = line.kind == "others" || line.kind == "executor";
    for (const Column& column : columns) cells.emplace_back(column.show(line), is_rest ? Style::faint : Style::plain);
    out.row(std::move(cells));
    if (style.verbose && !line.absorbed.empty()) out.note("with " + joined(line.absorbed, ", ", escape), Style::faint);
  }
  return out.text();
}

/// "1 reorder, 45.2 µs, 0.6 %"
std::string copies_of(const Profile& profile, StepKind kind, const char* noun) {
  double us = 0, share = 0;
  int64_t count = 0;
  for (const ProfileRow& row : profile.rows) {
    if (row.is_executor() || row.kind != kind) continue;
    ++count;
    us += row.us;
    share += row.share;
  }
  return counted(count, noun) + (count == 0 ? "" : ", " + duration_text(us) + ", " + percent_text(share));
}

}  // namespace

std::string inputs_text(const Profile& profile) {
  std::string out;
  for (const auto& [name, dims] : profile.inputs) out += (out.empty() ? "" : ", ") + escape(name) + " " + to_string(dims);
  for (std::size_t i = 0; i < profile.assumed.size(); ++i) out += (i == 0 ? " at " : ", ") + escape(profile.assumed[i]);
  return out;
}

std::string apart_text(const Latency& latency, const char* between) {
  return joined(
      {"load " + duration_text(latency.load_us), "plan " + duration_text(latency.plan_us), "first run " + duration_text(latency.first_us)},
      between);
}

std::string memory_text(const Profile& profile) {
  std::string out = "arena " + format_bytes(profile.arena_bytes);
  if (!profile.peak_node.empty()) out += ", most in use " + format_bytes(profile.peak_bytes) + " at " + escape(profile.peak_node);
  if (profile.packed_bytes > 0) out += " · packed weights " + format_bytes(profile.packed_bytes);
  return out;
}

std::string peak_text(const Profile& profile) {
  if (!profile.peak) return "n/a: not known; --peak GFLOPS,GBS tells it, --peak measure measures it";
  return three_digits(profile.peak->gflops) + " GFLOP/s, " + three_digits(profile.peak->gigabytes) + " GB/s with " +
         counted(profile.context.threads, "thread") + (profile.peak->is_measured ? ", measured" : ", given");
}

std::string rate_text(const std::optional<double>& rate) {
  return rate ? three_digits(*rate) : "–";
}

std::string copies_text(const Profile& profile) {
  return copies_of(profile, StepKind::reorder, "reorder") + " · " + copies_of(profile, StepKind::pack, "pack") +
         (profile.views == 0 ? "" : " · " + counted(profile.views, "view") + " at no cost");
}

std::string microseconds_text(double us) {
  const auto tenths = static_cast<int64_t>(std::llround(std::abs(us) * 10));
  return (us < 0 ? "-" : "") + format_count(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string signed_microseconds_text(double us) {
  return (us > 0 ? "+" : "") + microseconds_text(us);
}

std::string context_text(const ProfileContext& context, const std::string& threads) {
  std::string out = escape(context.cpu) + ", " + context.isa + " · " + (threads.empty() ? counted(context.threads, "thread") : threads) +
                    " on " + format_count(context.affinity) + " of " + counted(context.processors, "processor");
  if (context.quota > 0) out += ", quota " + format_count(context.quota);
  return out + ", load " + fixed(context.load, 1) + " · relayout " + context.relayout + ", oneDNN " + context.onednn;
}

std::string doubts_text(const Latency& latency, const ReportStyle& style) {
  std::string out;
  if (is_busy(latency)) {
    out += paint("the machine was busy", Style::warning, style.color) + ": " + fixed(latency.cpu_per_wall, 2) +
           " processors worked where " + fixed(latency.expected_cpus, 2) + " would have; times include waiting\n";
  }
  if (latency.stopped_early) out += "stopped by --max-time before the requested number of runs\n";
  return out;
}

std::string short_operators(const std::string& names) {
  constexpr std::string_view kLong = "Normalization", kShort = "Norm";
  std::string out = escape(names);
  for (std::size_t at = out.find(kLong); at != std::string::npos; at = out.find(kLong, at)) out.replace(at, kLong.size(), kShort);
  return out;
}

std::string operator_text(const std::string& op, std::size_t width) {
  const std::string out = short_operators(op);
  if (width == 0 || width >= kWide) return shortened(out, kOperatorColumns);
  // "Conv + 2": narrow terminals leave more columns to node names.
  const std::size_t plus = out.find(" + ");
  if (plus == std::string::npos) return shortened(out, kNarrowOperatorColumns);
  int64_t more = 0;
  for (std::size_t at = plus; at != std::string::npos; at = out.find(" + ", at + 1)) ++more;
  return shortened(out.substr(0, plus), kNarrowOperatorColumns) + " + " + std::to_string(more);
}

std::string node_text(const std::string& name, std::size_t width) {
  std::string whole = escape(name);
  if (width == 0 || width >= kWide || name.find('/') == std::string::npos) return whole;
  // Exporters repeat a scope in the next part of the path: "/features/features.2/conv/conv.0/Conv".
  std::string out;
  std::string_view rest = whole;
  bool leaves_out = false;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/', 1);
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash);
    if (part.size() > 1 && rest.starts_with(part)) {
      if (!leaves_out) out += "/…";
      leaves_out = true;
      continue;
    }
    leaves_out = false;
    out += part;
  }
  return out;
}

std::string duration_text(double us) {
  const Unit unit = unit_of(us);
  return three_digits(us / unit.us) + " " + unit.name;
}

std::string interval_text(const Estimate& us) {
  if (!us.interval) return "–";
  const Unit unit = unit_of(us.median);
  return three_digits(us.interval->low / unit.us) + " … " + three_digits(us.interval->high / unit.us) + " " + unit.name;
}

std::string profile_text(const Profile& profile, const ProfileTable& table, const ReportStyle& style) {
  const Estimate& us = profile.latency.us;
  if (style.quiet) {
    return joined({duration_text(us.median), us.interval ? "95 % in " + interval_text(us) : ""}, "   ") + " · " +
           counted(profile.latency.runs, "run") + "\n";
  }
  return heading(profile, style) + head_text(profile, style) + "\n" + table_text(table, style) + "\n" + "all rows " +
         duration_text(profile.latency.us.median) + " · " + copies_text(profile) + "\n" +
         (profile.peak ? "peak " + peak_text(profile) + "\n" : "") + paint(context_text(profile.context), Style::faint, style.color) +
         "\n" + doubts_text(profile.latency, style);
}

std::string reference_columns(const ProfileTable& table) {
  std::vector<std::vector<Cell>> rows{{"Op type", "Op", right("Average runtime (s)"), right("Pct total runtime")}};
  for (const TableLine& line : table.all_lines()) {
    rows.push_back({escape(line.op.empty() ? line.kind : line.op), escape(line.name), right(significant(line.us / 1e6, 6)),
                    right(significant(100 * line.share, 6))});
  }
  std::vector<Cell> rule;
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    const auto widest = std::ranges::max(rows, {}, [&](const auto& row) { return display_width(row[i].text); });
    rule.emplace_back(std::string(display_width(widest[i].text), '-'));
  }
  rows.insert(rows.begin() + 1, std::move(rule));
  Table out({.gap = 2});
  for (std::vector<Cell>& row : rows) out.row(std::move(row));
  return out.text();
}

}  // namespace relayout::cli
