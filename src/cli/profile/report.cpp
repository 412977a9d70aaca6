// Reports a profile as text that fits the terminal.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>

#include "cli/profile/profile.h"
#include "relayout/types.h"
#include "report/table.h"

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

/// p90, p95, p99.
std::string tail_text(const Latency& latency) {
  return "p90 " + duration_text(latency.p90_us) + " · p95 " + duration_text(latency.p95_us) + " · p99 " + duration_text(latency.p99_us);
}

std::string head_text(const Profile& profile, const ReportStyle& style) {
  const Latency& latency = profile.latency;
  TextTable table({.gap = 3, .color = style.color});
  table.row({"latency",
             {duration_text(latency.us.median), Style::strong},
             "median of " + counted(latency.runs, "run") + (latency.us.interval ? ", 95 % in " + interval_text(latency.us) : "") + " · " +
                 tail_text(latency)});
  table.row({"apart", "",
             "load " + duration_text(latency.load_us) + " · plan " + duration_text(latency.plan_us) + " · first run " +
                 duration_text(latency.first_us)});
  table.row({"memory", "", memory_text(profile)});
  return table.text();
}

/// A column of the table: its head, and its text for a line.
struct Column {
  std::string head;
  Align align;
  std::function<std::string(const TableLine&)> show;
};

std::string implementation_cell(const TableLine& line) {
  return shortened(escape(line.implementation), kImplementationColumns);
}
std::string calls_cell(const TableLine& line) {
  return line.calls == 0 ? "" : format_count(line.calls);
}
std::string time_cell(const TableLine& line) {
  return microseconds_text(line.us);
}
std::string share_cell(const TableLine& line) {
  return percent_text(line.share);
}
std::string cumulative_cell(const TableLine& line) {
  return percent_text(line.cumulative);
}
std::string gflops_cell(const TableLine& line) {
  return rate_text(gflops(line.macs, line.us));
}
std::string gigabytes_cell(const TableLine& line) {
  return rate_text(gigabytes(line.bytes, line.us));
}

std::string peak_cell(const TableLine& line) {
  return line.part_of_peak ? percent_text(*line.part_of_peak) : "n/a";
}

std::string with_short_operators(const std::string& names) {
  constexpr std::string_view kLong = "Normalization", kShort = "Norm";
  std::string out = escape(names);
  for (std::size_t at = out.find(kLong); at != std::string::npos; at = out.find(kLong, at)) out.replace(at, kLong.size(), kShort);
  return out;
}

std::vector<Column> columns_for(const ProfileTable& table, const ReportStyle& style) {
  const bool nodes = table.by == Grouping::node;
  const auto has = [&](std::size_t width) { return has_columns(style, width); };
  const bool is_short = table.by == Grouping::op && !has(kUsualWidth);
  std::vector<Column> out{{std::string(to_string(table.by)), Align::left, [&style, is_short](const TableLine& line) {
                             return is_short ? with_short_operators(line.name) : node_text(line.name, style.width);
                           }}};
  if (nodes) out.push_back({"op", Align::left, [&](const TableLine& line) { return operator_text(line.op, style.width); }});
  if (nodes && has(kWide)) out.push_back({"implementation", Align::left, implementation_cell});
  if (nodes && has(kVeryWide)) {
    out.push_back({"layout", Align::left, [](const TableLine& line) { return line.layout; }});
    out.push_back({"shape", Align::left, [](const TableLine& line) { return line.shape; }});
  }
  const bool calls = !nodes || std::ranges::any_of(table.lines, [](const TableLine& line) { return line.calls > 1; });
  if (calls) out.push_back({"calls", Align::right, calls_cell});
  out.push_back({"µs", Align::right, time_cell});
  out.push_back({"share", Align::right, share_cell});
  if (has(kUsualWidth)) out.push_back({"cum.", Align::right, cumulative_cell});
  out.push_back({"GFLOP/s", Align::right, gflops_cell});
  if (has(kWide)) out.push_back({"GB/s", Align::right, gigabytes_cell});
  if (table.peak) out.push_back({"of peak", Align::right, peak_cell});
  return out;
}

std::string table_text(const ProfileTable& table, const ReportStyle& style) {
  const std::vector<Column> columns = columns_for(table, style);
  TextTable out({.gap = 2, .color = style.color, .width = style.width});
  std::vector<Cell> head;
  for (const Column& column : columns) head.emplace_back(column.head, Style::faint, column.align);
  out.row(std::move(head));
  const auto add = [&](const TableLine& line, Style look) {
    std::vector<Cell> cells;
    for (const Column& column : columns) cells.emplace_back(column.show(line), look, column.align);
    out.row(std::move(cells));
  };
  for (const TableLine& line : table.lines) {
    add(line, Style::plain);
    if (!style.verbose || line.absorbed.empty()) continue;
    std::string names;
    for (const std::string& name : line.absorbed) names += (names.empty() ? "  with " : ", ") + escape(name);
    out.line(names, Style::faint);
  }
  if (table.others) add(*table.others, Style::faint);
  add(table.executor, Style::faint);
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

std::string operator_text(const std::string& op, std::size_t width) {
  const std::string out = with_short_operators(op);
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

std::string latency_line(const Profile& profile) {
  const Latency& latency = profile.latency;
  return duration_text(latency.us.median) + (latency.us.interval ? "   95 % in " + interval_text(latency.us) : "") + " · " +
         counted(latency.runs, "run") + "\n";
}

std::string profile_text(const Profile& profile, const ProfileTable& table, const ReportStyle& style) {
  if (style.quiet) return latency_line(profile);
  return heading(profile, style) + head_text(profile, style) + "\n" + table_text(table, style) + "\n" + "all rows " +
         duration_text(profile.latency.us.median) + " · " + copies_text(profile) + "\n" +
         (profile.peak ? "peak " + peak_text(profile) + "\n" : "") + paint(context_text(profile.context), Style::faint, style.color) +
         "\n" + doubts_text(profile.latency, style);
}

std::string reference_columns(const ProfileTable& table) {
  constexpr std::array<const char*, 4> kHeads = {"Op type", "Op", "Average runtime (s)", "Pct total runtime"};
  std::vector<std::array<std::string, 4>> rows;
  const auto add = [&](const TableLine& line) {
    const std::string& op = line.op.empty() ? line.kind : line.op;
    rows.push_back({escape(op), escape(line.name), significant(line.us / 1e6, 6), significant(100 * line.share, 6)});
  };
  for (const TableLine& line : table.lines) add(line);
  if (table.others) add(*table.others);
  add(table.executor);
  std::array<std::size_t, 4> widths{};
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] = display_width(kHeads[i]);
    for (const auto& row : rows) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  TextTable out({.gap = 2});
  out.row({kHeads[0], kHeads[1], {kHeads[2], Style::plain, Align::right}, {kHeads[3], Style::plain, Align::right}});
  out.row({std::string(widths[0], '-'), std::string(widths[1], '-'), std::string(widths[2], '-'), std::string(widths[3], '-')});
  for (const auto& row : rows) out.row({row[0], row[1], {row[2], Style::plain, Align::right}, {row[3], Style::plain, Align::right}});
  return out.text();
}

}  // namespace relayout::cli
