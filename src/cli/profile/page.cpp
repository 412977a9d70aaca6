// Draws profiles as pages: time by operator and by scope, the roofline, and a table of all rows.
#include "report/page.h"

#include <cmath>

#include "cli/profile/profile.h"
#include "report/charts.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kMostTableRows = 2000;  ///< rows of a table; the data below the page has all

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

VerdictPage::Section facts(const Profile& profile) {
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
  return {"", table.html()};
}

/// The roofline chart: rows that compute, under the peak of the machine.
std::string roofline(const Profile& profile) {
  if (!profile.peak) return html_lines({{peak_text(profile), Style::faint}});
  std::vector<SvgWork> work;
  for (const ProfileRow& row : profile.rows) {
    const std::optional<double> rate = gflops(row.macs, row.us);
    if (!rate || row.bytes == 0) continue;
    const auto part = part_of_peak(*profile.peak, row.macs, row.bytes, row.us);
    work.push_back({full_name(row) + ": " + duration_text(row.us) + ", " + (part ? percent_text(*part) : "n/a") + " of the attainable rate",
                    2 * static_cast<double>(row.macs) / static_cast<double>(row.bytes), *rate, row.share});
  }
  return svg_roofline(work, profile.peak->gflops, profile.peak->gigabytes);
}

VerdictPage::Section doubts(const Latency& latency) {
  const std::string text = doubts_text(latency, {});
  return {"", text.empty() ? "" : html_lines({{text.substr(0, text.size() - 1), Style::warning}})};
}

VerdictPage::Section table_of(const Profile& profile, const TableChoice& choice) {
  TableChoice all = choice;
  all.top = std::min(choice.top == 0 ? kMostTableRows : choice.top, kMostTableRows);
  const ProfileTable table = make_table(profile, all);
  const double most = table.lines.empty() ? 0 : std::ranges::max(table.lines, {}, &TableLine::us).us;
  Table out;
  out.head({std::string(to_string(table.by)), right("µs"), "", right("share"), right("cumulative"), right("GFLOP/s"), right("GB/s"),
            right("of peak"), "op", "layout", "shape", "implementation"});
  for (const TableLine& line : table.all_lines()) {
    const std::string absorbed = line.absorbed.empty() ? "" : ", with " + counted(std::ssize(line.absorbed), "absorbed node");
    out.row({escape(line.name), microseconds_text(line.us), text_bar(line.us, most), percent_text(line.share),
             percent_text(line.cumulative), rate_text(gflops(line.macs, line.us)), rate_text(gigabytes(line.bytes, line.us)),
             line.part_of_peak ? percent_text(*line.part_of_peak) : "n/a", line.op, line.layout, line.shape,
             line.implementation + absorbed});
  }
  return {"Lines add up to the latency", out.html()};
}

}  // namespace

std::string profile_html(const Profile& profile, const TableChoice& choice) {
  VerdictPage page;
  page.verdict = {duration_text(profile.latency.us.median), is_busy(profile.latency) ? Style::warning : Style::plain};
  page.title = page.verdict.text + ": " + profile.model;
  page.subject = profile.model + "   " + std::string(to_string(profile.mode)) + " · " + profile.precision + " · " + inputs_text(profile);
  page.footer = "relayout profile · relayout " + profile.context.relayout + ", oneDNN " + profile.context.onednn;
  page.sections = {doubts(profile.latency),
                   facts(profile),
                   {"Time by operator", svg_stacks({parts_by(profile, Grouping::op, "all")})},
                   {"Time by scope: parts of the nodes' paths", svg_icicle(scopes_of(profile))},
                   {"Roofline: lines that compute", roofline(profile)},
                   table_of(profile, choice)};
  page.data = profile_json(profile, make_table(profile, choice));
  return html_page(page);
}

std::string comparison_html(const ProfileComparison& comparison, const TableChoice& choice, const std::optional<SlowdownGate>& gate) {
  TableChoice all = choice;
  all.top = kMostTableRows;
  const Style style = exit_code(comparison, gate) != 0 ? Style::bad : gate ? Style::good : Style::plain;
  VerdictPage page;
  page.verdict = {comparison_answer(comparison, gate), style};
  page.title = page.verdict.text + ": " + comparison.b.model;
  page.subject = comparison.a.model + " → " + comparison.b.model;
  page.footer = "relayout profile · " + context_text(comparison.a.context);
  page.sections = {doubts(comparison.a.latency),
                   {"", html_lines({comparison_basis(comparison), sentence_of(comparison), causes_text(comparison)})},
                   {"Time by operator", svg_stacks({parts_by(comparison.a, Grouping::op, "A   " + comparison.a.model),
                                                    parts_by(comparison.b, Grouping::op, "B   " + comparison.b.model)})},
                   {"Differences, the largest first", comparison_table(comparison, all, {}, true).html()}};
  page.data = comparison_json(comparison, choice, gate);
  return html_page(page);
}

}  // namespace relayout::cli
