// Draws what pages of profiles show besides the table: facts of the run, time by operator and by scope, and the roofline.
#include "report/page.h"

#include <cmath>

#include "cli/profile/profile.h"
#include "report/charts.h"

namespace relayout::cli {
namespace {

/// The groups of a grouping as parts, the largest first.
Share parts_by(const Profile& profile, Grouping by, const std::string& name) {
  Share whole{name, profile.total_us, duration_text(profile.total_us), {}};
  for (const ProfileGroup& group : group_rows(profile, by)) {
    whole.parts.push_back({group.name, group.us, duration_text(group.us) + " in " + counted(group.rows, "line"), {}});
  }
  std::ranges::stable_sort(whole.parts, std::greater{}, &Share::value);
  return whole;
}

/// The tree of the nodes' paths, in execution order.
class ScopeTree {
 public:
  void add(const ProfileRow& row) {
    std::size_t at = 0;
    std::size_t level = 0;
    for (const std::string_view part : path_of(row)) {
      if (level++ == kLevels) break;
      const auto [entry, is_new] = numbers_.try_emplace(std::to_string(at) + "/" + std::string(part), nodes_.size());
      const std::size_t number = entry->second;
      if (is_new) {
        nodes_.push_back({std::string(part), 0, {}});
        nodes_[at].children.push_back(number);
      }
      nodes_[number].us += row.us;
      at = number;
    }
  }
  [[nodiscard]] Share share(std::size_t number = 0) const {
    const Node& node = nodes_[number];
    Share out{escape(node.name), node.us, duration_text(node.us), {}};
    for (const std::size_t child : node.children) out.parts.push_back(share(child));
    return out;
  }

 private:
  static constexpr std::size_t kLevels = 12;
  struct Node {
    std::string name;
    double us = 0;
    std::vector<std::size_t> children;
  };
  std::vector<Node> nodes_{{"", 0, {}}};
  std::unordered_map<std::string, std::size_t> numbers_;
};

Share scopes_of(const Profile& profile) {
  ScopeTree tree;
  for (const ProfileRow& row : profile.rows) tree.add(row);
  Share whole = tree.share();
  whole.name = escape(profile.model);
  whole.value = profile.total_us;
  whole.note = duration_text(profile.total_us);
  return whole;
}

Table facts(const Profile& profile) {
  const Latency& latency = profile.latency;
  Table table;
  table.head({"", ""});
  table.row(
      {"median", joined({duration_text(latency.us.median), latency.us.interval ? "95 % in " + interval_text(latency.us) : ""}, ", ")});
  table.row({"p90, p95, p99", duration_text(latency.p90_us) + ", " + duration_text(latency.p95_us) + ", " + duration_text(latency.p99_us)});
  table.row({"runs", format_count(latency.runs)});
  table.row({"apart", apart_text(latency, ", ")});
  table.row({"memory", memory_text(profile)});
  table.row({"copies", copies_text(profile)});
  table.row({"machine", context_text(profile.context)});
  table.row({"peak", peak_text(profile)});
  return table;
}

/// The roofline chart: rows that compute, under the peak of the machine.
Markup roofline(const Profile& profile) {
  if (!profile.peak) return {html_line({{peak_text(profile), Style::faint}})};
  std::vector<SvgWork> work;
  for (const ProfileRow& row : profile.rows) {
    const std::optional<double> rate = gflops(row.macs, row.us);
    if (!rate || row.bytes == 0) continue;
    const auto part = part_of_peak(*profile.peak, row.macs, row.bytes, row.us);
    work.push_back({full_name(row) + ": " + duration_text(row.us) + ", " + (part ? percent_text(*part) : "n/a") + " of the attainable rate",
                    2 * static_cast<double>(row.macs) / static_cast<double>(row.bytes), *rate, row.share});
  }
  return {svg_roofline(work, profile.peak->gflops, profile.peak->gigabytes)};
}

}  // namespace

std::vector<Section> page_sections(const Profile& profile) {
  const auto operators = [&](auto&) { return Markup{svg_stacks({parts_by(profile, Grouping::op, "all")})}; };
  return {{Form::page, "", [&](auto&) { return facts(profile); }},
          {Form::page, "Time by operator", operators},
          {Form::page, "Time by scope: parts of the nodes' paths", [&](auto&) { return Markup{svg_icicle(scopes_of(profile))}; }},
          {Form::page, "Roofline: lines that compute", [&](auto&) { return roofline(profile); }}};
}

Section operators_section(const ProfileComparison& comparison) {
  return {Form::page, "Time by operator", [&](auto&) {
            return Markup{svg_stacks({parts_by(comparison.a, Grouping::op, "A   " + comparison.a.model),
                                      parts_by(comparison.b, Grouping::op, "B   " + comparison.b.model)})};
          }};
}

}  // namespace relayout::cli
