#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/report.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kNamesShown = 2;  ///< of each group of refusals, without -v

/// One pass's findings, refusals by reason.
struct Group {
  std::map<std::string, int64_t> done;  ///< by what it was done to
  std::map<Reason, std::vector<const Finding*>> skipped;
  int64_t done_count = 0, skipped_count = 0;
};

bool is_layout_pass(std::string_view pass) {
  return pass == "conv-weights-layout";
}

Group group_of(const Findings& findings, std::string_view pass) {
  Group group;
  for (const Finding& finding : findings) {
    if (finding.pass != pass) continue;
    if (finding.verdict == Verdict::done) {
      ++group.done[finding.op_type];
      ++group.done_count;
    } else if (finding.verdict == Verdict::skipped) {
      group.skipped[finding.reason].push_back(&finding);
      ++group.skipped_count;
    }
  }
  return group;
}

/// "53 of 53 BatchNormalizations", "17 of 53 weights", "159 initializers, 3 Constants"
std::string done_text(std::string_view pass, const Group& group, bool will) {
  const int64_t all = group.done_count + group.skipped_count;
  if (all == 0) return "nothing to do";
  if (is_layout_pass(pass)) {
    return format_count(group.done_count) + " of " + counted(all, "weight") + (will ? " would change layout" : " changed layout");
  }
  std::string out;
  if (group.skipped_count > 0 || group.done.size() == 1) {
    std::string_view noun = group.done.empty() ? group.skipped.begin()->second.front()->op_type : group.done.begin()->first;
    if (group.skipped_count > 0) return format_count(group.done_count) + " of " + counted(all, escape(noun));
    return (pass.starts_with("fold") ? format_count(all) + " of " : "") + counted(all, escape(noun));
  }
  for (const auto& [noun, count] : group.done) out += (out.empty() ? "" : ", ") + counted(count, escape(noun));
  return out;
}

/// The refusals of one reason: their number, code and text, then names.
void add_refusals(TextTable& table, Reason reason, const std::vector<const Finding*>& findings, const ReportStyle& style) {
  table.line("      " + format_count(static_cast<int64_t>(findings.size())) +
             " stay: " + paint(to_string(reason), Style::strong, style.color) + "   " + std::string(text(reason)));
  if (style.verbose) {
    for (const Finding* finding : findings) {
      table.line("        " + escape(finding->node) + (finding->detail.empty() ? "" : ": " + finding->detail));
    }
    return;
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamesShown, findings.size()); ++i) names += (i > 0 ? ", " : "") + escape(findings[i]->node);
  if (findings.size() > kNamesShown) names += ", " + format_count(static_cast<int64_t>(findings.size() - kNamesShown)) + " more (-v)";
  table.line("        " + names);
}

}  // namespace

std::string counted(int64_t count, std::string_view noun) {
  return format_count(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string findings_text(const Findings& findings, const std::vector<std::string>& pass_names, bool will, const ReportStyle& style) {
  TextTable table({.indent = 2, .gap = 3, .color = style.color});
  for (const std::string& pass : pass_names) {
    const Group group = group_of(findings, pass);
    std::string what = done_text(pass, group, will);
    if (is_layout_pass(pass)) {
      // That a weight has no second layout is no refusal to be looked into.
      for (const auto& [reason, skipped] : group.skipped) {
        what += ", " + format_count(static_cast<int64_t>(skipped.size())) + " " + std::string(to_string(reason));
      }
    }
    table.row({pass, what});
    if (is_layout_pass(pass) && !style.verbose) continue;
    for (const auto& [reason, skipped] : group.skipped) add_refusals(table, reason, skipped, style);
  }
  return table.text();
}

Json findings_json(const Findings& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings) {
    Json entry = Json::object();
    entry.set("pass", finding.pass).set("op_type", finding.op_type).set("node", finding.node);
    entry.set("verdict", to_string(finding.verdict));
    if (finding.verdict == Verdict::skipped) entry.set("reason", to_string(finding.reason)).set("text", text(finding.reason));
    if (!finding.detail.empty()) entry.set("detail", finding.detail);
    out.add(std::move(entry));
  }
  return out;
}

}  // namespace relayout::cli
