// Reports a profile: its latency, and the table of where the time goes, for screens, pages and summaries.
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

/// The lines of a screen above the table.
Table head_lines(const Profile& profile) {
  const Latency& latency = profile.latency;
  const std::string mode = "   " + std::string(to_string(profile.mode));
  Table table;
  table.line({{escape(profile.model), Style::strong}, joined({mode, profile.precision, inputs_text(profile)}, " · ")});
  table.row({"latency", Cell(duration_text(latency.us.median), Style::strong),
             "median of " + counted(latency.runs, "run") + (latency.us.interval ? ", 95 % in " + interval_text(latency.us) : "") +
                 " · p90 " + duration_text(latency.p90_us) + " · p95 " + duration_text(latency.p95_us) + " · p99 " +
                 duration_text(latency.p99_us)});
  table.row({"apart", "", apart_text(latency)});
  table.row({"memory", "", memory_text(profile)});
  table.line("");
  return table;
}

/// The lines of a screen below the table.
Table foot_lines(const Profile& profile) {
  Table out;
  out.line("");
  out.line("all rows " + duration_text(profile.latency.us.median) + " · " + copies_text(profile));
  if (profile.peak) out.line("peak " + peak_text(profile));
  out.line(context_text(profile.context), Style::faint);
  return out;
}

/// The latency alone.
Table latency_line(const Profile& profile) {
  const Estimate& us = profile.latency.us;
  return Table().line(joined({duration_text(us.median), us.interval ? "95 % in " + interval_text(us) : ""}, "   ") + " · " +
                      counted(profile.latency.runs, "run"));
}

/// The run in one line, for summaries.
Table circumstances(const Profile& profile) {
  const std::string interval = profile.latency.us.interval ? "95 % in " + interval_text(profile.latency.us) : "";
  return Table().line(joined(
      {interval, counted(profile.latency.runs, "run"), std::string(to_string(profile.mode)), counted(profile.context.threads, "thread"),
       markdown_code(profile.context.cpu), is_busy(profile.latency) ? "**the machine was busy**" : ""},
      ", "));
}

/// A column of the table: its head, and its text for a line.
struct Column {
  Cell head;
  std::function<std::string(const TableLine&)> show;
};

/// The columns of a form. Screens shorten names and operators, pages have room for them and for bars.
std::vector<Column> columns_of(const ProfileTable& table, const ReportStyle& style) {
  constexpr Form kNoSummary = Form::text | Form::page;
  std::vector<Column> out;
  const auto add = [&](bool has, Cell head, std::function<std::string(const TableLine&)> show) {
    if (has) out.push_back({std::move(head), std::move(show)});
  };
  const bool is_text = style.form == Form::text, nodes = table.by == Grouping::node;
  const bool is_short = table.by == Grouping::op && !has_columns(style, kUsualWidth);
  const bool has_calls = !nodes || std::ranges::any_of(table.lines, [](const TableLine& line) { return line.calls > 1; });
  const double most = table.lines.empty() ? 0 : std::ranges::max(table.lines, {}, &TableLine::us).us;
  add(true, std::string(to_string(table.by)),
      [&style, is_short](const TableLine& line) { return is_short ? short_operators(line.name) : node_text(line.name, style.width); });
  add(nodes, "op", [&style, is_text](const TableLine& line) { return is_text ? operator_text(line.op, style.width) : escape(line.op); });
  add(nodes, Cell("implementation").from(kWide), [is_text](const TableLine& line) {
    const std::string absorbed = line.absorbed.empty() ? "" : ", with " + counted(std::ssize(line.absorbed), "absorbed node");
    return is_text ? shortened(escape(line.implementation), kImplementationColumns) : escape(line.implementation) + absorbed;
  });
  add(nodes, Cell("layout").from(kVeryWide).only(kNoSummary), [](const TableLine& line) { return line.layout; });
  add(nodes, Cell("shape").from(kVeryWide).only(kNoSummary), [](const TableLine& line) { return line.shape; });
  add(has_calls, right("calls").only(kNoSummary), [](const TableLine& line) { return line.calls == 0 ? "" : format_count(line.calls); });
  add(true, right("µs"), [](const TableLine& line) { return microseconds_text(line.us); });
  add(true, Cell("").only(Form::page), [most](const TableLine& line) { return text_bar(line.us, most); });
  add(true, right("share"), [](const TableLine& line) { return percent_text(line.share); });
  add(true, right("cum.").from(kUsualWidth).only(kNoSummary), [](const TableLine& line) { return percent_text(line.cumulative); });
  add(true, right("GFLOP/s").only(kNoSummary), [](const TableLine& line) { return rate_text(gflops(line.macs, line.us)); });
  add(true, right("GB/s").from(kWide).only(kNoSummary), [](const TableLine& line) { return rate_text(gigabytes(line.bytes, line.us)); });
  add(table.peak.has_value(), right("of peak").only(kNoSummary),
      [](const TableLine& line) { return line.part_of_peak ? percent_text(*line.part_of_peak) : "n/a"; });
  return out;
}

Table lines_table(const ProfileTable& table, const ReportStyle& style) {
  const std::vector<Column> columns = columns_of(table, style);
  Table out({.gap = 2});
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
  return out;
}

/// The table of PyTorch's tutorial on profiling with FX, with the same columns and format.
Table reference_columns(const ProfileTable& table) {
  Table out({.gap = 2});
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
  for (std::vector<Cell>& row : rows) out.row(std::move(row));
  return out;
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

Table doubts_of(const Latency& latency) {
  Table out;
  if (is_busy(latency)) {
    out.line({{"the machine was busy", Style::warning},
              ": " + fixed(latency.cpu_per_wall, 2) + " processors worked where " + fixed(latency.expected_cpus, 2) +
                  " would have; times include waiting"});
  }
  if (latency.stopped_early) out.line("stopped by --max-time before the requested number of runs");
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

Report profile_report(const Profile& profile, const TableChoice& choice, const TableChoice& whole) {
  Report out{.verdict = {duration_text(profile.latency.us.median), is_busy(profile.latency) ? Style::warning : Style::plain}};
  out.title = out.verdict.text + ": " + profile.model;
  out.subject = profile.model + "   " + std::string(to_string(profile.mode)) + " · " + profile.precision + " · " + inputs_text(profile);
  out.footer = "relayout profile · relayout " + profile.context.relayout + ", oneDNN " + profile.context.onednn;
  const auto table = [&profile](const TableChoice& of) {
    return [&profile, of](auto& style) { return lines_table(make_table(profile, of), style); };
  };
  const auto doubts = [&](auto&) { return doubts_of(profile.latency); };
  const auto reference = [&profile, whole](auto&) { return reference_columns(make_table(profile, whole)); };
  TableChoice readable = whole;
  readable.top = std::min(whole.top == 0 ? kMostTableRows : whole.top, kMostTableRows);
  if (choice.reference_columns) {
    out.sections = {{Form::text | Form::quiet, "", reference}};
  } else {
    out.sections = {{Form::quiet, "", [&](auto&) { return latency_line(profile); }},
                    {Form::text, "", [&](auto&) { return head_lines(profile); }},
                    {Form::text, "", table(choice)},
                    {Form::text, "", [&](auto&) { return foot_lines(profile); }},
                    {Form::text, "", doubts}};
  }
  out.sections.push_back({Form::markdown, "", [&](auto&) { return circumstances(profile); }});
  out.sections.push_back({Form::markdown, "", table(choice)});
  out.sections.push_back({Form::page, "", doubts});
  std::ranges::move(page_sections(profile), std::back_inserter(out.sections));
  out.sections.push_back({Form::page, "Lines add up to the latency", table(readable)});
  out.document = [&profile, whole] { return profile_json(profile, make_table(profile, whole)); };
  return out;
}

}  // namespace relayout::cli
