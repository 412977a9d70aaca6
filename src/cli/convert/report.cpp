// Reports a conversion: what each pass did and refused and why, and what that changed.
#include "cli/verify/report.h"

#include "base/file.h"
#include "cli/convert/convert.h"
#include "relayout/data_file.h"

namespace relayout::cli {

namespace {

/// "2 scales and shifts", the term for affines.
std::string count_of_affines(int64_t count) {
  return counted(count, "scale or shift", "scales and shifts");
}

/// "is" or "are", or "would be" of a change that is only planned.
std::string are_text(int64_t count, bool will) {
  return will ? "would be" : count == 1 ? "is" : "are";
}

}  // namespace

Outlook outlook_of(const Findings& findings) {
  Outlook out;
  for (const Finding& finding : findings) {
    const bool done = finding.verdict == Verdict::done;
    if (finding.pass == "fold-batch-norm" && finding.op_type == "BatchNormalization") {
      ++out.batch_norms;
      out.folds += done ? 1 : 0;
    } else if (finding.pass == "fold-batch-norm" || finding.pass == "fold-affine") {
      ++out.affines;
      out.affine_folds += done ? 1 : 0;
    } else if (finding.pass == "conv-weights-layout") {
      ++out.weights;
      out.moves += done ? 1 : 0;
    }
  }
  return out;
}

std::string folds_outlook(const Findings& findings) {
  const Outlook counts = outlook_of(findings);
  const bool has_batch_norms = counts.batch_norms > 0;
  std::string out = "no BatchNormalization to fold";
  if (has_batch_norms) out = format_count(counts.folds) + " of " + counted(counts.batch_norms, "BatchNormalization") + " will fold";
  if (counts.affines == 0) return out;
  return out + " · " + format_count(counts.affine_folds) + " of " + count_of_affines(counts.affines) +
         (has_batch_norms ? "" : " will fold");
}

std::string outlook_text(const Findings& findings) {
  return joined({folds_outlook(findings), weights_outlook(findings)}, " · ");
}

// Findings of the passes.
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

/// "17 of 53 weights moved to channels-last, 36 are the same in both layouts"
std::string layout_text(const Group& group, const PassReport& report) {
  std::string out = format_count(group.done_count) + " of " + counted(group.all, "weight");
  out += std::string(" ") + (report.will ? "would move" : "moved") + " to " +
         (report.layout == "contiguous" ? "contiguous order" : "channels-last");
  for (const auto& [reason, count] : group.settled) {
    const std::string are = reason == Reason::both_layouts ? count == 1 ? "is " : "are " : "";
    out += ", " + format_count(count) + " " + are + split(text(reason), ':').front();  // without its explanation
  }
  return out;
}

/// "53 of 53 BatchNormalizations, 2 scales and shifts with them"
std::string batch_norms_text(const Group& group) {
  int64_t along = 0;
  std::string_view noun;
  for (const auto& [op_type, count] : group.done) {
    const bool is_between = !op_type.ends_with("Normalization");  // before its linear operator, folded together with it
    along += is_between ? count : 0;
    if (!is_between) noun = op_type;
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
  const std::string out = joined(group.done, ", ", [](const auto& entry) {
    const std::string noun = escape(entry.first);
    return counted(entry.second, noun, noun.ends_with('y') ? noun.substr(0, noun.size() - 1) + "ies" : noun + "s");
  });
  return out.empty() ? "nothing" : out;
}

std::string what_text(std::string_view pass, const Group& group, const PassReport& report) {
  if (group.all == 0 && pass == kPrecisionPass) return group.other_types.empty() ? "no node computes in f32" : group.other_types;
  if (group.all == 0 && pass == kExportPass) return "no input or output is an image that a convolution reads or writes";
  if (group.all == 0) return pass == kLayoutPass ? "no convolution weights" : "no BatchNormalization to fold";
  return pass == kLayoutPass ? layout_text(group, report) : done_text(pass, group, report);
}

/// Whether a pass without findings gets a line: those that are the purpose of every run, and those that were requested.
bool reports_nothing_done(std::string_view pass, const PassReport& report) {
  if (pass == kExportPass) return report.layout != "contiguous";  // with contiguous it only undoes an earlier export
  return pass == kLayoutPass || pass == kPrecisionPass || pass == "fold-batch-norm";
}

/// The operator of a node that a detail names, as in "'/relu/Relu' (Relu)"; empty where it names none.
std::string_view operator_in(std::string_view detail) {
  const std::size_t open = detail.rfind(" (");
  return open == std::string_view::npos || !detail.ends_with(')') ? "" : detail.substr(open + 2, detail.size() - open - 3);
}

/// The text of a reason, with the operator in the way where it is the same for all.
std::string reason_text(Reason reason, const std::vector<const Finding*>& findings) {
  constexpr std::string_view kAny = "an operator between";
  const std::string_view words = text(reason), op_type = operator_in(findings.front()->detail);
  const bool is_one = std::ranges::all_of(findings, [&](const Finding* finding) { return operator_in(finding->detail) == op_type; });
  if (op_type.empty() || !is_one || !words.starts_with(kAny)) return std::string(words);
  return escape(op_type) + " between" + std::string(words.substr(kAny.size()));
}

/// Whether the text of a reason says little without the detail, which names the branch and what stops it.
bool is_told_by_detail(Reason reason) {
  return reason == Reason::concat_branch;
}

/// Adds the refusals of one reason: their number, code and text, then their names, except those that the user has left out.
void add_refusals(Table& table, Reason reason, const std::string& detail, const std::vector<const Finding*>& findings, bool is_full) {
  table.line({"      " + counted(std::ssize(findings), "stays: ", "stay: "),
              {std::string(to_string(reason)), Style::strong},
              "   " + (detail.empty() ? reason_text(reason, findings) : escape(detail))});
  if (reason == Reason::excluded) return;
  const std::size_t shown = is_full ? findings.size() : std::min(kNamesShown, findings.size());
  const int64_t rest = std::ssize(findings) - static_cast<int64_t>(shown);
  const std::string more = rest > 0 ? format_count(rest) + " more (-v)" : "";
  if (is_full || is_told_by_detail(reason)) {
    for (const Finding* finding : std::span(findings).first(shown)) {
      const bool has_more_detail = !finding->detail.empty() && finding->detail != detail;
      table.line("        " + escape(finding->node) + (has_more_detail ? ": " + finding->detail : ""));
    }
    if (rest > 0) table.line("        " + more);
    return;
  }
  const std::string names = joined(std::span(findings).first(shown), ", ", [](const Finding* finding) { return escape(finding->node); });
  table.line("        " + joined({names, more}, ", "));
}

/// Adds weights that lost values or bits in the narrower type.
void add_losses(Table& table, const Findings& findings, const PassReport& report, bool all) {
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
  const std::size_t shown = all ? lost.size() : std::min(kNamesShown, lost.size());
  for (std::size_t i = 0; i < shown; ++i) table.line("        " + escape(lost[i]->node) + ": " + lost[i]->detail);
  if (shown < lost.size()) table.line("        " + format_count(static_cast<int64_t>(lost.size() - shown)) + " more (-v)");
}

/// Suggests a newer opset where the opset alone refuses at least half of the nodes that would gain from the precision.
void add_way_to_newer_opset(Table& table, const Group& group, const PassReport& report) {
  int64_t kept = 0;
  for (const auto& [why, skipped] : group.skipped) kept += why.first == Reason::type_not_allowed ? std::ssize(skipped) : 0;
  const auto idle = group.skipped.find({Reason::no_gain, ""});
  const int64_t concerned = nodes_of(group) - (idle != group.skipped.end() ? std::ssize(idle->second) : 0);
  if (kept == 0 || 2 * kept < concerned) return;
  table.line("      Most operators take " + report.precision +
             " from a later opset on: upgrade the model first, with onnx.version_converter.convert_version");
}

/// Adds the rewrites, by node name. `will`: nothing is written.
void add_done(Table& table, const Findings& findings, std::string_view pass, bool will) {
  for (const Finding& finding : findings) {
    if (finding.pass != pass || finding.verdict != Verdict::done || finding.op_type == "weight") continue;
    table.line((will ? "      planned: " : "      done: ") + escape(finding.node) + " (" + escape(finding.op_type) + ")" +
               (finding.detail.empty() ? "" : ": " + finding.detail));
  }
}

}  // namespace

Table findings_table(const Findings& findings, const PassReport& report, bool all) {
  Table table({.indent = 2});
  std::vector<std::string> passes = report.passes;
  std::size_t before = 0;
  for (const Finding& finding : findings) {
    // A change before the first pass (--freeze) belongs to no pass.
    if (std::ranges::find(passes, finding.pass) != passes.end()) continue;
    passes.insert(passes.begin() + static_cast<std::ptrdiff_t>(before++), finding.pass);
  }
  for (const std::string& pass : passes) {
    const Group group = group_of(findings, pass);
    if (group.all == 0 && !reports_nothing_done(pass, report)) continue;
    // Few of the remaining scales and shifts are candidates for a fold: most are parts of activations and normalizations.
    const bool is_full = all || report.lists_refusals, is_summed_up = pass == kAffinePass && !is_full && !group.skipped.empty();
    const int64_t stay = group.all - group.done_count;
    const std::string rest = ", " + counted(stay, "stays", "stay") + " (-v says why)";
    table.row({pass, what_text(pass, group, report) + (is_summed_up ? rest : "")});
    if (all) add_done(table, findings, pass, report.will);
    if (!is_summed_up) {
      for (const auto& [why, skipped] : group.skipped) add_refusals(table, why.first, why.second, skipped, is_full);
    }
    if (pass == kPrecisionPass) add_losses(table, findings, report, all);
    if (pass == kPrecisionPass) add_way_to_newer_opset(table, group, report);
  }
  return table;
}

std::string weights_outlook(const Findings& findings) {
  const Group group = group_of(findings, kLayoutPass);
  return group.all == 0 ? "" : layout_text(group, {.passes = {}, .will = true});
}

Json findings_json(const Findings& findings) {
  return Json::list(findings, [](const Finding& finding) {
    Json out;
    out.set("pass", finding.pass).set("op_type", finding.op_type).set("node", finding.node).set("verdict", to_string(finding.verdict));
    if (finding.reason != Reason::count_) out.set("reason", to_string(finding.reason)).set("text", text(finding.reason));
    if (!finding.detail.empty()) out.set("detail", finding.detail);
    return out;
  });
}

// Whole conversions.
namespace {

constexpr std::size_t kFactsColumn = 48;  ///< first column of the first line's figures

/// "102.5 → 102.2 MB"; the unit appears once when both have the same.
std::string bytes_change(int64_t before, int64_t after) {
  const std::string from = format_bytes(before), to = format_bytes(after);
  const std::size_t unit = from.find(' ');
  if (from.substr(unit) == to.substr(to.find(' '))) return from.substr(0, unit) + " → " + to;
  return from + " → " + to;
}

std::string stream_name(const std::filesystem::path& path, std::string_view stream) {
  return is_stream(path) ? std::string(stream) : escape(path.string());
}

std::string facts(const ConvertResult& result) {
  std::string out = format_count(result.nodes_before) + " → " + counted(result.nodes_after, "node");
  if (result.written) out += " · " + bytes_change(result.bytes_before, result.bytes_after);
  return out + " · " + fixed(result.seconds, 2) + " s";
}

/// Number of rewrites by passes that `is_counted` names.
template <class IsCounted>
int64_t done_by(const ConvertResult& result, const IsCounted& is_counted) {
  return std::ranges::count_if(result.findings, [&](const Finding& finding) {
    return finding.verdict == Verdict::done && is_counted(std::string_view(finding.pass));
  });
}

/// One line for a conversion that changes nothing, or that moves weights to channels-last and folds nothing or adds Transposes. Names the
/// option that avoids it. Empty where other passes added nodes too, as those of --precision, --io and --emit do.
std::string no_gain_text(const ConvertResult& result) {
  const int64_t moved = done_by(result, [](auto pass) { return pass == kLayoutPass; }), more = result.nodes_after - result.nodes_before;
  const bool has_folds = done_by(result, [](auto pass) { return pass.starts_with("fold-"); }) > 0;
  const bool has_more = done_by(result, [](auto pass) { return pass != kLayoutPass && pass != "remove-unused"; }) > 0;
  if (done_by(result, [](auto) { return true; }) == 0) return "Nothing changes in this model.\n";
  if (result.layout != WeightsLayout::channels_last || moved == 0 || more > moved || (more <= 0 && has_more)) return {};
  if (done_by(result, [](auto pass) { return pass == kExportPass || pass == "export-transposes"; }) > 0) return {};
  const bool will = !result.written;
  std::string out = has_more ? "" : will ? "Nothing would be folded" : "Nothing was folded";
  if (more > 0) {
    out += (has_more ? "There " : "; there ") + are_text(more, will) + " " + counted(more, "more node") +
           ": each weight that is moved needs a Transpose";
  }
  return out + (has_folds ? ". --layout keep folds only.\n" : ". --layout keep leaves the weights as they are.\n");
}

/// The data files of the result, and those that it no longer uses.
Table data_files(const ConvertResult& result) {
  const auto name = [](const DataFile& file) { return escape(file.path.string()) + ", " + format_bytes(file.bytes); };
  Table table({.indent = 2});
  for (const DataFile& file : result.data) {
    const bool is_shared = file.of_input && result.input != result.output;
    table.row({"data", name(file) + (is_shared ? ": a file of " + escape(result.input.string()) + ", which the result needs too" : "")});
  }
  for (const DataFile& file : result.left_behind) table.row({"data", name(file) + ": no longer needed by this model"});
  return table;
}

/// "net.onnx → net.cl.onnx   69 → 49 nodes · 46.8 → 46.7 MB · 0.04 s"
Table head_line(const ConvertResult& result) {
  const std::string head = stream_name(result.input, kStandardInput) + " → " + stream_name(result.output, kStandardOutput) +
                           (result.written ? "" : " (not written)");
  const std::size_t width = display_width(head);
  return Table().line({{head, Style::strong}, std::string(width + 3 > kFactsColumn ? 3 : kFactsColumn - width, ' ') + facts(result)});
}

}  // namespace

Report conversion_report(const ConvertResult& result, bool lists_refusals) {
  const auto findings = [&, lists_refusals](auto& style) {
    const PassReport report{result.passes, word_of(result.layout), !result.written, word_of(result.precision), lists_refusals};
    return findings_table(result.findings, report, style.verbose);
  };
  return {.sections = {{Form::text | Form::quiet, "", [&](auto&) { return head_line(result); }},
                       {Form::text, "", findings},
                       {Form::text, "", [&](auto&) { return no_gain_text(result); }},
                       {Form::text, "", [&](auto&) { return data_files(result); }}},
          .document = [&] { return convert_json(result); }};
}

Json convert_json(const ConvertResult& result) {
  const auto file = [](const DataFile& one) {
    return Json().set("path", one.path.string()).set("bytes", one.bytes).set("of_input", one.of_input);
  };
  Json out, bytes;
  out.set("input", result.input.string()).set("output", result.output.string()).set("written", result.written);
  out.set("nodes", Json().set("before", result.nodes_before).set("after", result.nodes_after));
  out.set("initializers", Json().set("before", result.initializers_before).set("after", result.initializers_after));
  bytes.set("before", result.bytes_before);
  if (result.written) bytes.set("after", result.bytes_after);
  out.set("bytes", std::move(bytes));
  out.set("data_files", Json::list(result.data, file)).set("data_files_left_behind", Json::list(result.left_behind, file));
  out.set("seconds", result.seconds).set("passes", result.passes).set("layout", word_of(result.layout));
  if (result.precision != DataType::undefined) out.set("precision", word_of(result.precision));
  out.set("all_folded", result.all_folded).set("findings", findings_json(result.findings));
  if (result.verification) out.set("verification", verify_json(*result.verification, false));
  return out;
}

}  // namespace relayout::cli
