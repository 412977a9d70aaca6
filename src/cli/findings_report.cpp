// Lines on the work of each pass, in text and JSON: "17 of 20 weights moved to channels-last", refusals by reason (2 names without -v),
// numbers that --precision loses, advice on a newer opset.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/outlook.h"
#include "cli/report.h"
#include "relayout/findings.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kNamesShown = 2;  ///< per group of refusals, without -v
constexpr std::string_view kLayoutPass = "conv-weights-layout", kPrecisionPass = "precision", kExportPass = "export-io",
                           kAffinePass = "fold-affine";

/// The findings of one pass: rewrites by operator, refusals by reason.
struct Group {
  std::map<std::string, int64_t> done;
  /// Refusals. For fragile nodes and types that an operator does not accept, the key includes the detail, which is the useful part.
  std::map<std::pair<Reason, std::string>, std::vector<const Finding*>> skipped;
  std::map<Reason, int64_t> settled;  ///< needs no change
  std::string other_types;            ///< detail of the precision pass's finding about the whole model
  int64_t done_count = 0, all = 0;
};

Group group_of(const Findings& findings, std::string_view pass) {
  Group group;
  for (const Finding& finding : findings) {
    if (finding.pass != pass) continue;
    if (finding.reason == Reason::no_source_type) {
      group.other_types = finding.detail;
      continue;
    }
    ++group.all;
    if (finding.verdict == Verdict::done) {
      ++group.done[finding.op_type];
      ++group.done_count;
    } else if (finding.verdict == Verdict::skipped) {
      const bool by_detail = finding.reason == Reason::fragile || finding.reason == Reason::type_not_allowed;
      group.skipped[{finding.reason, by_detail ? finding.detail : std::string()}].push_back(&finding);
    } else {
      ++group.settled[finding.reason];
    }
  }
  return group;
}

/// A reason's text without its explanation: "both layouts at once".
std::string_view short_text(Reason reason) {
  return text(reason).substr(0, text(reason).find(':'));
}

/// "17 of 53 weights moved to channels-last, 36 both layouts at once"
std::string layout_text(const Group& group, const PassReport& report) {
  std::string out = format_count(group.done_count) + " of " + counted(group.all, "weight");
  out += " " + moved_text(report.will) + " to " + (report.layout == "contiguous" ? "contiguous order" : "channels-last");
  for (const auto& [reason, count] : group.settled) out += ", " + format_count(count) + " " + std::string(short_text(reason));
  return out;
}

/// Whether an operator between a BatchNormalization and its linear operator was folded together with it.
bool is_taken_along(std::string_view op_type) {
  return !op_type.ends_with("Normalization");
}

/// "53 of 53 BatchNormalizations, 2 scales and shifts with them"
std::string batch_norms_text(const Group& group) {
  int64_t along = 0;
  std::string_view noun;
  for (const auto& [op_type, count] : group.done) {
    if (is_taken_along(op_type)) {
      along += count;
    } else {
      noun = op_type;
    }
  }
  if (noun.empty() && !group.skipped.empty()) noun = group.skipped.begin()->second.front()->op_type;
  std::string out = format_count(group.done_count - along) + " of " + counted(group.all - along, escape(noun));
  if (along > 0) out += ", " + count_of_affines(along) + " with them";
  return out;
}

int64_t done_of(const Group& group, const char* noun) {
  const auto found = group.done.find(noun);
  return found != group.done.end() ? found->second : 0;
}

/// Nodes that the precision pass examined. Its other findings are about weights and Casts.
int64_t nodes_of(const Group& group) {
  return group.all - done_of(group, "weight") - done_of(group, "Cast") - done_of(group, "Cast removed");
}

/// "41 of 43 nodes, 62 weights are in fp16, 2 Casts made, 1 Cast removed"
std::string precision_text(const Group& group, const PassReport& report) {
  const int64_t weights = done_of(group, "weight"), made = done_of(group, "Cast"), removed = done_of(group, "Cast removed");
  const int64_t nodes = nodes_of(group);
  std::string out =
      format_count(group.done_count - (group.all - nodes)) + " of " + counted(nodes, "node") + ", " + counted(weights, "weight");
  out += " " + are_text(weights, report.will) + " in " + report.precision;
  if (made > 0) out += ", " + counted(made, "Cast") + " made";
  if (removed > 0) out += ", " + counted(removed, "Cast") + " removed";
  if (!group.other_types.empty()) out += "; " + group.other_types;
  // A conversion back to fp32 has only the bits that the 16-bit types kept.
  if (report.precision == "fp32" && weights > 0) out += "; bits that 16-bit types dropped stay 0";
  return out;
}

/// "53 of 53 BatchNormalizations", "3 of 4 scales and shifts", "159 initializers, 3 Constants"
std::string done_text(std::string_view pass, const Group& group, const PassReport& report) {
  if (pass == "fold-batch-norm") return batch_norms_text(group);
  if (pass == kPrecisionPass) return precision_text(group, report);
  if (pass == kAffinePass) return format_count(group.done_count) + " of " + count_of_affines(group.all);
  std::string out;
  for (const auto& [noun, count] : group.done) out += (out.empty() ? "" : ", ") + counted(count, escape(noun));
  return out.empty() ? "nothing" : out;
}

std::string what_text(std::string_view pass, const Group& group, const PassReport& report) {
  if (group.all == 0 && pass == kPrecisionPass) return group.other_types.empty() ? "no node computes in f32" : group.other_types;
  if (group.all == 0 && pass == kExportPass) return "no input or output is an image that a convolution reads or writes";
  if (group.all == 0) return pass == kLayoutPass ? "no convolution weights" : "nothing to fold";
  return pass == kLayoutPass ? layout_text(group, report) : done_text(pass, group, report);
}

/// Whether a pass without findings gets a line: those that are the purpose of every run, and those that were requested.
bool reports_nothing_done(std::string_view pass, const PassReport& report) {
  if (pass == kExportPass) return report.layout != "contiguous";  // with contiguous it only undoes an earlier export
  return pass == kLayoutPass || pass == kPrecisionPass || pass == "fold-batch-norm";
}

/// Adds the refusals of one reason: their number, code and text, then their names.
void add_refusals(TextTable& table, Reason reason, const std::string& detail, const std::vector<const Finding*>& findings,
                  const ReportStyle& style) {
  table.line("      " + counted(std::ssize(findings), "stays: ", "stay: ") + paint(to_string(reason), Style::strong, style.color) + "   " +
             (detail.empty() ? std::string(text(reason)) : escape(detail)));
  if (style.verbose || style.refusals) {
    for (const Finding* finding : findings) {
      const bool has_more_detail = !finding->detail.empty() && finding->detail != detail;
      table.line("        " + escape(finding->node) + (has_more_detail ? ": " + finding->detail : ""));
    }
    return;
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamesShown, findings.size()); ++i) names += (i > 0 ? ", " : "") + escape(findings[i]->node);
  if (findings.size() > kNamesShown) names += ", " + format_count(static_cast<int64_t>(findings.size() - kNamesShown)) + " more (-v)";
  table.line("        " + names);
}

/// Adds weights that lost values or bits in the narrower type.
void add_losses(TextTable& table, const Findings& findings, const PassReport& report, const ReportStyle& style) {
  std::vector<const Finding*> lost;
  for (const Finding& finding : findings) {
    if (finding.pass == kPrecisionPass && finding.op_type == "weight" && !finding.detail.empty()) lost.push_back(&finding);
  }
  if (lost.empty()) return;
  // Half the spacing of the type's subnormal numbers.
  const std::string most = report.precision == "bf16" ? "4.6e-41" : "3.0e-08";
  table.line("      " + counted(std::ssize(lost), "weight has", "weights have") + " numbers near 0 that " + report.precision +
             " rounds by up to " + most + " each, to 0 or to fewer bits: this is usual, and verify --precision " + report.precision +
             " measures what it costs");
  const std::size_t shown = style.verbose ? lost.size() : std::min(kNamesShown, lost.size());
  for (std::size_t i = 0; i < shown; ++i) table.line("        " + escape(lost[i]->node) + ": " + lost[i]->detail);
  if (shown < lost.size()) table.line("        " + format_count(static_cast<int64_t>(lost.size() - shown)) + " more (-v)");
}

/// Suggests a newer opset where the opset alone refuses at least half of the nodes that would gain from the precision.
void add_way_to_newer_opset(TextTable& table, const Group& group, const PassReport& report) {
  int64_t kept = 0;
  for (const auto& [why, skipped] : group.skipped) kept += why.first == Reason::type_not_allowed ? std::ssize(skipped) : 0;
  const auto idle = group.skipped.find({Reason::no_gain, ""});
  const int64_t concerned = nodes_of(group) - (idle != group.skipped.end() ? std::ssize(idle->second) : 0);
  if (kept == 0 || 2 * kept < concerned) return;
  table.line("      Most operators take " + report.precision +
             " from a later opset on: upgrade the model first, with onnx.version_converter.convert_version");
}

/// Adds the rewrites, by node name.
void add_done(TextTable& table, const Findings& findings, std::string_view pass) {
  for (const Finding& finding : findings) {
    if (finding.pass != pass || finding.verdict != Verdict::done || finding.op_type == "weight") continue;
    table.line("      done: " + escape(finding.node) + " (" + escape(finding.op_type) + ")" +
               (finding.detail.empty() ? "" : ": " + finding.detail));
  }
}

}  // namespace

std::string count_of_affines(int64_t count) {
  return counted(count, "scale or shift", "scales and shifts");
}

std::string findings_text(const Findings& findings, const PassReport& report, const ReportStyle& style) {
  TextTable table({.indent = 2, .gap = 3, .color = style.color, .width = style.width});
  std::vector<std::string> passes;
  for (const Finding& finding : findings) {
    // A change before the first pass (--freeze) belongs to no pass.
    if (std::ranges::find(report.passes, finding.pass) == report.passes.end() && std::ranges::find(passes, finding.pass) == passes.end()) {
      passes.push_back(finding.pass);
    }
  }
  passes.insert(passes.end(), report.passes.begin(), report.passes.end());
  for (const std::string& pass : passes) {
    const Group group = group_of(findings, pass);
    if (group.all == 0 && !reports_nothing_done(pass, report)) continue;
    // Few of the remaining scales and shifts are candidates for a fold: most are parts of activations and normalizations.
    const bool is_summed_up = pass == kAffinePass && !style.verbose && !style.refusals && !group.skipped.empty();
    const int64_t stay = group.all - group.done_count;
    const std::string rest = ", " + counted(stay, "stays", "stay") + " (-v says why)";
    table.row({pass, what_text(pass, group, report) + (is_summed_up ? rest : "")});
    if (style.verbose) add_done(table, findings, pass);
    if (!is_summed_up) {
      for (const auto& [why, skipped] : group.skipped) add_refusals(table, why.first, why.second, skipped, style);
    }
    if (pass == kPrecisionPass) add_losses(table, findings, report, style);
    if (pass == kPrecisionPass) add_way_to_newer_opset(table, group, report);
  }
  return table.text();
}

std::string weights_outlook(const Findings& findings) {
  const Group group = group_of(findings, kLayoutPass);
  return group.all == 0 ? "" : layout_text(group, {.passes = {}, .will = true});
}

Json findings_json(const Findings& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings) {
    Json entry = Json::object();
    entry.set("pass", finding.pass).set("op_type", finding.op_type).set("node", finding.node);
    entry.set("verdict", to_string(finding.verdict));
    if (finding.reason != Reason::count_) entry.set("reason", to_string(finding.reason)).set("text", text(finding.reason));
    if (!finding.detail.empty()) entry.set("detail", finding.detail);
    out.add(std::move(entry));
  }
  return out;
}

}  // namespace relayout::cli
