// Selects, sorts and sums the rows of a profile, and pairs those of two models.
#include <cmath>

#include "base/positions.h"
#include "cli/common/options.h"
#include "cli/profile/profile.h"
#include "relayout/types.h"

namespace relayout::cli {
namespace {

TableLine line_of(const ProfileRow& row) {
  const bool is_executor = row.is_executor();
  return {.name = full_name(row),
          .absorbed = row.absorbed,
          .op = row.op_type,
          .kind = is_executor ? "executor" : std::string(to_string(row.kind)),
          .layout = row.layout,
          .implementation = row.implementation,
          .shape = is_executor ? "" : to_string(row.dims),
          .calls = is_executor ? 0 : row.calls,
          .bytes = row.bytes,
          .macs = row.macs,
          .us = row.us,
          .share = row.share,
          .measured = row.measured_us};
}

TableLine line_of(const ProfileGroup& group) {
  return {.name = group.name,
          .kind = "group",
          .calls = group.rows,
          .bytes = group.bytes,
          .macs = group.macs,
          .us = group.us,
          .share = group.share};
}

/// All lines but the executor's, in execution order.
std::vector<TableLine> all_lines(const Profile& profile, const TableChoice& choice) {
  std::vector<TableLine> lines;
  if (choice.by == Grouping::node) {
    for (const ProfileRow& row : profile.rows) {
      if (!row.is_executor()) lines.push_back(line_of(row));
    }
    return lines;
  }
  for (const ProfileGroup& group : group_rows(profile, choice.by, choice.depth)) {
    if (group.name != profile.rows.back().node) lines.push_back(line_of(group));
  }
  return lines;
}

void sort_lines(std::vector<TableLine>& lines, const std::string& by) {
  if (by == "order") return;
  const auto key = [&](const TableLine& line) {
    return by == "bytes" ? static_cast<double>(line.bytes) : by == "flop" ? static_cast<double>(line.macs) : line.us;
  };
  std::ranges::stable_sort(lines, std::greater{}, key);
}

/// The sum of the lines that are not shown.
std::optional<TableLine> sum_of(const std::vector<TableLine>& lines) {
  if (lines.empty()) return std::nullopt;
  TableLine sum;
  for (const TableLine& line : lines) {
    sum.calls += line.calls;
    sum.bytes += line.bytes;
    sum.macs += line.macs;
    sum.us += line.us;
    sum.share += line.share;
  }
  sum.name = "(others)";
  sum.op = counted(static_cast<int64_t>(lines.size()), "line");
  sum.kind = "others";
  return sum;
}

/// Rows of both models but the executor's.
std::vector<PairedLine> paired_nodes(const ProfileComparison& comparison) {
  std::vector<PairedLine> lines;
  for (const PairedRow& pair : comparison.rows) {
    const ProfileRow* const a = pair.a ? &comparison.a.rows[*pair.a] : nullptr;
    const ProfileRow* const b = pair.b ? &comparison.b.rows[*pair.b] : nullptr;
    const ProfileRow& either = pair.a ? comparison.a.rows[*pair.a] : comparison.b.rows[pair.b.value()];
    if (either.is_executor()) continue;
    PairedLine line{full_name(either), either.op_type, std::nullopt, std::nullopt, pair.cause};
    if (a != nullptr) line.a_us = a->us;
    if (b != nullptr) line.b_us = b->us;
    if (a != nullptr && b != nullptr && a->op_type != b->op_type) line.op += " → " + b->op_type;
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The groups of both profiles, paired by name.
std::vector<PairedLine> paired_groups(const ProfileComparison& comparison, const TableChoice& choice) {
  std::vector<PairedLine> lines;
  std::unordered_map<std::string, std::size_t> numbers;
  for (const TableLine& line : all_lines(comparison.a, choice)) {
    numbers.emplace(line.name, lines.size());
    lines.push_back({line.name, "", line.us, std::nullopt, std::nullopt});
  }
  for (const TableLine& line : all_lines(comparison.b, choice)) {
    const auto known = numbers.find(line.name);
    if (known != numbers.end()) {
      lines[known->second].b_us = line.us;
    } else {
      lines.push_back({line.name, "", std::nullopt, line.us, std::nullopt});
    }
  }
  return lines;
}

}  // namespace

std::vector<TableLine> ProfileTable::all_lines() const {
  std::vector<TableLine> out = lines;
  if (others) out.push_back(*others);
  out.push_back(executor);
  return out;
}

ProfileTable make_table(const Profile& profile, const TableChoice& choice) {
  ProfileTable table;
  table.by = choice.by;
  table.peak = profile.peak;
  table.executor = line_of(profile.rows.back());
  std::vector<TableLine> lines = all_lines(profile, choice), left_out;
  const auto names = [](const TableLine& line) {
    std::vector<std::string> out = line.absorbed;
    out.push_back(line.name);
    return out;
  };
  choice.names.check(lines, names, "line of the table");
  sort_lines(lines, choice.sort);
  for (TableLine& line : lines) {
    const bool fits = choice.top == 0 || table.lines.size() < choice.top;
    (fits && choice.names.has(names(line)) ? table.lines : left_out).push_back(std::move(line));
  }
  table.others = sum_of(left_out);
  double cumulative = 0;
  const auto accumulate = [&](TableLine& line) {
    line.cumulative = cumulative += line.share;
    if (table.peak) line.part_of_peak = part_of_peak(*table.peak, line.macs, line.bytes, line.us);
  };
  std::ranges::for_each(table.lines, accumulate);
  if (table.others) accumulate(*table.others);
  accumulate(table.executor);
  return table;
}

std::vector<PairedLine> pair_tables(const ProfileComparison& comparison, const TableChoice& choice) {
  const ProfileRow &executor_a = comparison.a.rows.back(), &executor_b = comparison.b.rows.back();
  std::vector<PairedLine> lines = choice.by == Grouping::node ? paired_nodes(comparison) : paired_groups(comparison, choice);
  std::ranges::stable_sort(lines, std::greater{}, [](const PairedLine& line) { return std::abs(line.difference()); });
  if (choice.top > 0 && lines.size() > choice.top) {
    PairedLine rest{"(others)", counted(static_cast<int64_t>(lines.size() - choice.top), "line"), 0.0, 0.0, std::nullopt};
    for (std::size_t i = choice.top; i < lines.size(); ++i) {
      *rest.a_us += lines[i].a_us.value_or(0);
      *rest.b_us += lines[i].b_us.value_or(0);
    }
    lines.resize(choice.top);
    lines.push_back(std::move(rest));
  }
  lines.push_back({executor_a.node, "", executor_a.us, executor_b.us, std::nullopt});
  return lines;
}

void read_grouping(const std::string& word, TableChoice& choice) {
  const std::size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  for (const Grouping by : {Grouping::node, Grouping::op, Grouping::layout, Grouping::implementation, Grouping::scope}) {
    if (name != to_string(by)) continue;
    choice.by = by;
    if (colon == std::string::npos) return;
    if (by != Grouping::scope) fail(ErrorKind::usage, "--by " + escape(word) + ": only a scope has a depth");
    choice.depth = as_size(parse_integer("--by scope", word.substr(colon + 1), 0));
    return;
  }
  fail(ErrorKind::usage, "--by " + quote(word) + " is none of node, op, layout, impl, scope, scope:DEPTH");
}

}  // namespace relayout::cli
