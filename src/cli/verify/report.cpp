// Reports a verification of two models on screens and pages: what was compared, what differs, where, and the verdict.
#include "cli/verify/report.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "base/positions.h"
#include "relayout/derivative_check.h"
#include "report/charts.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kMostLosses = 5;  ///< lines without -v

/// "floor by sample  0: 6.5e-07 · 1: 1.2e-02 (ill-conditioned) …"
std::string floors_text(const OutputComparison& output) {
  return "floor by sample  " + joined(output.samples, " · ", [](const SampleMetrics& metrics) {
           return std::to_string(metrics.sample) + ": " + scientific(metrics.floor.max) +
                  (metrics.ill_conditioned ? " (ill-conditioned)" : "");
         });
}

/// Whether no element is a number in either model.
bool is_nan_in_both(const OutputComparison& output) {
  return std::ranges::all_of(output.samples, [](const SampleMetrics& metrics) {
    return metrics.sums.elements > 0 && metrics.non_finite.nan_both == metrics.sums.elements;
  });
}

void add_output(Table& table, const OutputComparison& output) {
  const SampleMetrics* const telling = output.telling < output.samples.size() ? &output.samples[output.telling] : nullptr;
  std::vector<Cell> cells{{escape(output.name), Style::strong}, shape_of(output)};
  const auto is_empty = [](const SampleMetrics& metrics) { return std::ranges::find(metrics.dims, 0) != metrics.dims.end(); };
  const bool has_elements = telling != nullptr && !std::ranges::all_of(output.samples, is_empty);
  const bool measured = has_elements && is_measured(output.type) && telling->bound.max > 0;
  if (telling != nullptr && !has_elements) {
    cells.emplace_back("no elements");
  } else if (measured && is_nan_in_both(output)) {
    cells.emplace_back("no finite value");
  } else if (measured) {
    cells.emplace_back("error/range " + error_text(output), output.outcome == Outcome::different ? Style::bad : Style::plain);
    cells.emplace_back("floor " + scientific(output.floor));
    cells.emplace_back(ratio_words(output), has_unusual_ratio(output) ? style_of(output.outcome) : Style::plain);
  } else if (telling != nullptr && output.outcome == Outcome::same) {
    int64_t ties = 0;
    for (const SampleMetrics& metrics : output.samples) ties += metrics.ties;
    cells.emplace_back(ties == 0 ? "equal" : "equal but for " + counted(ties, "tie"));
  }
  if (output.outcome == Outcome::different && measured && telling->max_abs > 0) {
    cells.emplace_back("worst " + to_string(telling->worst.at) + ": " + significant(telling->worst.b, 6) + ", was " +
                       significant(telling->worst.a, 6));
  }
  table.row(std::move(cells));
  if (output.outcome != Outcome::same && !output.reason.empty()) {
    table.note(std::string(to_string(output.outcome)) + ": " + output.reason, style_of(output.outcome));
  }
  for (const std::string& remark : remarks_on(output)) table.note(remark);
  const bool is_ill = std::ranges::find(output.samples, true, &SampleMetrics::ill_conditioned) != output.samples.end();
  if (measured && output.samples.size() > 1 && is_ill) table.note(floors_text(output));
  const auto tied = std::ranges::find_if(output.samples, [](const SampleMetrics& metrics) { return metrics.ties != 0; });
  if (tied != output.samples.end()) table.note("sample " + std::to_string(tied->sample) + ": " + tied->reason);
  if (!output.hint.empty()) table.note(output.hint);
}

/// "0 · 1 · <2^14": the bins that contain the percentiles 50, 99 and 100.
std::string ulp_text(const std::vector<int64_t>& histogram) {
  int64_t total = 0, sum = 0;
  for (const int64_t count : histogram) total += count;
  std::string p50, p99;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    sum += histogram[bin];
    if (p50.empty() && 2 * sum >= total) p50 = bin_text(bin);
    if (p99.empty() && 100 * sum >= 99 * total) p99 = bin_text(bin);
  }
  if (histogram.empty()) return "–";
  return p50 + " · " + p99 + " · " + bin_text(histogram.size() - 1);
}

Table samples_table(const OutputComparison& output) {
  Table table({.indent = 4, .gap = 2});
  table.head({right("sample"), right("error/range"), right("floor"), right("bound"), right("RMS/σ"), right("floor"), right("cosine"),
              right("PSNR"), right("ULP p50 · p99 · max")});
  for (const SampleMetrics& metrics : output.samples) {
    table.row({std::to_string(metrics.sample), scientific(metrics.max_error), scientific(metrics.floor.max), scientific(metrics.bound.max),
               scientific(metrics.rms_error), scientific(metrics.floor.rms), fixed(metrics.cosine, 9),
               std::isinf(metrics.psnr) ? "∞" : fixed(metrics.psnr, 1), ulp_text(metrics.ulp_histogram)});
  }
  return table;
}

std::string inputs_text(const VerifyResult& result, const ReportStyle& style) {
  std::string out;
  for (const SampleInputs& inputs : result.inputs) {
    if (!style.verbose && inputs.rejected.empty()) continue;
    out += "sample " + std::to_string(inputs.sample);
    for (const auto& [name, dims] : inputs.shapes) out += "  " + escape(name) + " " + to_string(dims);
    if (!inputs.rejected.empty()) out += "  not compared, " + escape(result.a) + " refuses it: " + inputs.rejected;
    out += "\n";
  }
  return out;
}

/// The unexplained differences, each with the floor of its node.
Table checks_table(const VerifyResult& result, bool all) {
  constexpr std::size_t kMostLines = 5;
  Table table({.indent = 2, .gap = 2});
  if (result.checks.empty()) return table;
  std::vector<const UnexplainedCheck*> checks;
  for (const UnexplainedCheck& check : result.checks) checks.push_back(&check);
  // Different ones first, then by error in floors. Errors may be infinite or NaN, and floors 0.
  const auto order = [](const UnexplainedCheck* check) {
    constexpr double kMost = std::numeric_limits<double>::infinity();
    const double floors = check->error > 0 ? check->error / check->floor : check->error == 0 ? 0 : kMost;
    return std::pair(check->outcome != Outcome::different, std::isnan(floors) ? -kMost : -floors);
  };
  std::ranges::stable_sort(checks, {}, order);
  // Differences that are judged at one node with one result share a line.
  const auto key = [](const UnexplainedCheck* check) {
    return std::tie(check->node, check->outcome, check->effect, check->error, check->floor);
  };
  const bool is_rounding = result.rounded_proof && result.rounded_proof->proved;
  table.head({is_rounding ? "rounded, at its node" : "unexplained, at its node", "node", right("local error"), right("local floor")});
  std::span<const UnexplainedCheck* const> rest = checks;
  for (std::size_t lines = 0; !rest.empty() && (all || lines < kMostLines); ++lines) {
    const UnexplainedCheck& check = *rest.front();
    const auto next = std::ranges::find_if(rest, [&](const UnexplainedCheck* other) { return key(other) != key(&check); });
    const std::size_t alike = all ? 1 : std::max<std::size_t>(as_size(next - rest.begin()), 1);  // NaN equals nothing
    rest = rest.subspan(alike);
    const Style of = check.outcome == Outcome::different ? Style::bad : Style::plain;
    const std::string others = alike > 1 ? " and " + format_count(static_cast<int64_t>(alike) - 1) + " more" : "";
    table.row({Cell(escape(result.proof->unexplained[check.entry].name) + others, of),
               escape(check.node) + " (" + escape(check.op_type) + ")", Cell(error_text(check), of), scientific(check.floor)});
  }
  if (!rest.empty()) table.line("  " + format_count(std::ssize(rest)) + " more (-v)");
  return table;
}

/// The first node that computes something different, and the number of others.
Table divergence(const VerifyResult& result, bool all) {
  Table out;
  const auto first = std::ranges::find(result.layers, Outcome::different, &LayerResult::outcome);
  if (first == result.layers.end()) return out;
  const bool is_measured = first->bound > 0 && first->finite;
  const std::string why = is_measured ? scientific(first->error) + ", floor " + scientific(first->floor.max) : first->reason;
  const std::string apart = nodes_in_one_only(result, *first);
  out.line({{divergence_title(result), Style::strong},
            "   " + layer_label(*first) + (apart.empty() ? ", its inputs agree, its output does not (" : ", where " + apart + " (") + why +
                ")"});
  if (!first->proof.inside.empty()) out.line("  inside: " + first->proof.inside);
  if (!first->replaces.empty()) {
    constexpr std::size_t kMostNodes = 6;
    const std::size_t count = first->replaces.size(), shown = all || count <= kMostNodes + 1 ? count : kMostNodes;
    out.line("  it replaces these nodes of " + escape(result.a) + ": " + joined(std::span(first->replaces).first(shown), ", ") +
             (shown == count ? "" : " and " + counted(static_cast<int64_t>(count - shown), "more node") + " (-v)"));
  }
  if (first->by_structure) {
    out.line("  compared with " + quote(first->reference) + " of " + escape(result.a) + ", its counterpart by structure (names differ)");
  }
  const int64_t more = std::ranges::count(result.layers, Outcome::different, &LayerResult::outcome) - 1;
  if (more > 0) out.line("  " + counted(more, "more node that does so on its own", "more nodes that do so on their own") + " (--layers)");
  return out;
}

/// The loss of each output, where b computes in coarser numbers.
Table loss_table(const VerifyResult& result) {
  Table table({.indent = 2, .gap = 2});
  if (result.lossy.empty()) return table;
  table.line(result.lossy);
  for (const OutputComparison& output : result.outputs) {
    if (output.loss) table.row({{escape(output.name), Style::strong}, loss_text(output)});
    if (!is_finite(output)) table.row({{escape(output.name), Style::strong}, {ratio_words(output), Style::bad}});
  }
  return table;
}

/// Unexplained differences that the samples do not distinguish from rounding, when the verdict `same` depends on the samples alone.
std::string differences_within_rounding(const VerifyResult& result) {
  const ProofResult* const proof = result.told_proof();
  if (result.outcome != Outcome::same || proof == nullptr) return {};
  // Differences of the interface are not rounding and have separate lines.
  const auto is_of_nodes = [](const Unexplained& entry) { return entry.kind != Unexplained::Kind::interface; };
  const int64_t count = std::ranges::count_if(proof->unexplained, is_of_nodes);
  if (count == 0) return {};
  return counted(count, "unexplained difference stays", "unexplained differences stay") + " within rounding (--strict refuses " +
         (count == 1 ? "it" : "them") + ")";
}

/// The text of a doubt. A difference of the files that a line above tells is named by its node alone.
std::string short_text(const Doubt& doubt, const VerifyResult& result) {
  const ProofResult* const proof = result.told_proof();
  for (const Unexplained& entry : proof != nullptr ? proof->unexplained : std::vector<Unexplained>()) {
    const std::string clause = entry.text + ", and ";
    if (doubt.text.starts_with(clause)) return quote(entry.name) + ": " + doubt.text.substr(clause.size());
  }
  return doubt.text;
}

/// Doubts apart from the one that the verdict states.
std::string other_doubts(const VerifyResult& result) {
  if (result.outcome != Outcome::inconclusive) return {};
  const Doubt* const stated = stated_doubt(result);
  return joined(result.doubts, "", [&](const Doubt& doubt) {
    const std::string where = doubt.output.empty() ? "" : "output " + quote(doubt.output) + ": ";
    return &doubt == stated ? "" : "also in doubt (" + doubt.name + "): " + where + short_text(doubt, result) + "\n";
  });
}

/// The option that accepts the doubts of an inconclusive verdict, or the doubts that it has accepted.
std::string allowance(const VerifyResult& result) {
  if (result.outcome != Outcome::inconclusive || result.is_blocked()) return {};
  std::vector<std::string> open, allowed;
  for (const Doubt& doubt : result.doubts) {
    std::vector<std::string>& names = doubt.allowed ? allowed : open;
    if (std::ranges::find(names, doubt.name) == names.end()) names.push_back(doubt.name);
  }
  return !open.empty() ? "--allow " + joined(open, ",") + " takes it" : allowed.empty() ? "" : "allowed: " + joined(allowed, ",");
}

/// "same   4 samples, seed 1, …   exit 0"; --quiet omits the circumstances of the run.
Table verdict_line(const VerifyResult& result, int code, bool is_quiet) {
  const Doubt* const doubt = stated_doubt(result);
  const std::string reason = (doubt == nullptr ? "" : doubt->name + ": ") + verdict_reason(result);
  const std::string details = joined(
      {reason, differences_within_rounding(result), is_quiet ? "" : allowance(result), is_quiet ? "" : circumstances(result)}, " · ");
  return Table().row({verdict_cell(result), details, exit_text(code)});
}

/// Each node alone, given A's values, and in place.
Table layers_table(const VerifyResult& result) {
  Table table({.indent = 2, .gap = 2});
  table.head({"node by node", "", right("alone"), right("floor"), right("in place"), right("floor")});
  const auto number = [](const std::optional<double>& value) { return value ? scientific(*value) : "–"; };
  for (const LayerResult& layer : result.layers) {
    const Style of = layer.outcome == Outcome::different ? Style::bad : Style::plain;
    table.row({Cell(layer_label(layer), of), std::string(name_of(layer.type)) + " " + to_string(layer.dims), Cell(error_text(layer), of),
               scientific(layer.floor.max), number(layer.depth.error), number(layer.depth.floor)});
    if (of == Style::bad) table.note(layer.reason, of);
  }
  return table;
}

/// Differences of the interfaces that are no news to a reader are left out of text.
Table interface_lines(const VerifyResult& result, bool all) {
  Table out;
  for (const InterfaceDifference& difference : result.interface) {
    if (difference.remark && !difference.adapted && !all) continue;
    out.line(sentence(difference, result), difference.remark ? Style::faint : Style::bad);
  }
  return out;
}

Table outputs_table(const VerifyResult& result) {
  Table table;
  for (const OutputComparison& output : result.outputs) {
    if (output.samples.empty() && output.outcome == Outcome::same) continue;
    add_output(table, output);
  }
  return table;
}

/// The figures of each sample.
std::string samples_text(const VerifyResult& result, const ReportStyle& style) {
  std::string out;
  for (const OutputComparison& output : result.outputs) {
    if (style.verbose && !output.samples.empty() && is_measured(output.type))
      out += "  " + escape(output.name) + "\n" + samples_table(output).text(style);
  }
  return out;
}

/// The losses of a quantized model, of which text shows the first.
Table losses_part(const VerifyResult& result, const ReportStyle& style) {
  const std::size_t all = result.losses.size();
  const std::size_t shown = style.verbose || style.form == Form::page ? all : std::min(kMostLosses, all);
  Table out = losses_table(result, shown);
  if (shown < all) out.line("  " + counted(static_cast<int64_t>(all - shown), "more node") + " (-v)");
  return out;
}

// What pages show besides.

/// Limits that keep pages readable: bars (different outputs first), histograms (of the first outputs), differences in an open list.
constexpr std::size_t kMostOutputs = 40, kMostHistograms = 4, kMostUnexplained = 10;

bool has_figures(const OutputComparison& output) {
  const auto is_empty = [](const SampleMetrics& metrics) { return std::ranges::find(metrics.dims, 0) != metrics.dims.end(); };
  return !output.samples.empty() && !std::ranges::all_of(output.samples, is_empty) && output.bound > 0;
}

Table answers(const VerifyResult& result) {
  Table out = interface_lines(result, true);
  if (!result.defect.empty()) out.line("defect in relayout: " + result.defect, Style::bad);
  if (!result.reason.empty()) out.line(result.reason);
  if (const LayerResult* const wrong = first_wrong(result)) {
    out.line("First wrong node: " + layer_label(*wrong) + ". Its inputs agree, its output does not: " + wrong->reason, Style::strong);
  }
  if (const ProofResult* const proof = result.told_proof(); proof != nullptr && proof->proved) {
    out.line("Proved from the files alone: " + proof_sentence(result), Style::good);
  }
  for (const std::string& remark : result.remarks) out.line(remark, Style::faint);
  return out;
}

Markup bars(const VerifyResult& result) {
  std::vector<SvgBar> all;
  for (const OutputComparison& output : result.outputs) {
    if (!has_figures(output)) continue;
    const double error = is_finite(output) ? output.max_error : NAN;
    all.push_back({output.name, error, output.floor, output.bound, output.outcome == Outcome::different, ratio_words(output)});
  }
  std::ranges::stable_sort(all, [](const SvgBar& x, const SvgBar& y) { return x.bad && !y.bad; });
  if (all.size() > kMostOutputs) all.resize(kMostOutputs);
  return {all.empty() ? "" : svg_bars(all)};
}

Table figures_table(const VerifyResult& result) {
  Table table;
  table.head({"output", "", "", right("error/range"), right("RMS/σ"), right("floor"), right("ratio"), right("cosine"), right("PSNR")});
  for (const OutputComparison& output : result.outputs) {
    std::vector<Cell> row{
        {output.name, Style::strong}, shape_of(output), {std::string(to_string(output.outcome)), style_of(output.outcome)}};
    if (has_figures(output)) {
      const double cosine = std::ranges::min(output.samples, {}, &SampleMetrics::cosine).cosine;
      const double psnr = std::ranges::min(output.samples, {}, &SampleMetrics::psnr).psnr;
      row.insert(row.end(), {error_text(output), scientific(output.rms_error), scientific(output.floor),
                             is_finite(output) ? ratio_text(output.ratio) : "–", fixed(std::min(cosine, 1.0), 6),
                             std::isinf(psnr) ? "∞" : std::to_string(static_cast<int>(psnr)) + " dB"});
    }
    row.resize(9, Cell(""));
    table.row(std::move(row));
    table.note(joined({output.reason, output.hint}, "; "));
  }
  return table;
}

/// Histograms of the elements' distances in ULPs, over all samples.
Markup histograms(const VerifyResult& result) {
  std::string body;
  std::size_t shown = 0;
  for (const OutputComparison& output : result.outputs) {
    std::vector<std::pair<std::string, double>> columns;
    for (const SampleMetrics& metrics : output.samples) {
      for (std::size_t bin = 0; bin < metrics.ulp_histogram.size(); ++bin) {
        if (columns.size() <= bin) columns.emplace_back(bin_text(bin), 0);
        columns[bin].second += static_cast<double>(metrics.ulp_histogram[bin]);
      }
    }
    if (columns.empty() || shown++ == kMostHistograms) continue;
    body += svg_histogram(columns, output.name + ": elements by their distance in ULPs");
  }
  return {body};
}

Markup depth(const VerifyResult& result) {
  SvgLine error{"error", {}, false}, floor{"floor", {}, true};
  std::vector<SvgMark> marks;
  std::vector<std::string> names;
  for (const LayerResult& layer : result.layers) {
    if (!layer.depth.error && !layer.depth.floor) continue;
    // As in answers(): where b is quantized, a difference does not make a node wrong.
    if (layer.outcome == Outcome::different && marks.empty() && result.losses.empty())
      marks.push_back({names.size(), std::string(divergence_title(result)) + ": " + layer_label(layer)});
    error.values.push_back(layer.depth.error);
    floor.values.push_back(layer.depth.floor);
    names.push_back(layer_label(layer));
  }
  return {names.size() < 2 ? "" : svg_lines({error, floor}, marks, names, "nodes of " + result.b + " in order")};
}

Table doubts_table(const VerifyResult& result) {
  Table table;
  table.head({"rule (--allow)", "node or output", "", ""});
  for (const Doubt& doubt : result.doubts) {
    if (result.outcome != Outcome::inconclusive) break;
    const Style style = doubt.allowed ? Style::faint : Style::warning;
    table.row({{doubt.name, style}, doubt.output.empty() ? doubt.node : doubt.output, {doubt.text, style}, doubt.allowed ? "allowed" : ""});
  }
  return table;
}

/// Differences that the files alone do not explain, in a closed block if there are many.
Markup unexplained(const VerifyResult& result) {
  Table lines;
  std::size_t count = 0;
  if (const ProofResult* const proof = result.told_proof()) {
    for (const Unexplained* entry : telling_first(*proof)) {
      ++count;
      lines.line(entry->text, Style::warning);
      if (!entry->repair.text.empty()) lines.line("Repair: " + entry->repair.text, Style::good);
    }
  }
  const std::string summary = "<summary>" + counted(static_cast<int64_t>(count), "difference") + "</summary>";
  return {count > kMostUnexplained ? "<details>" + summary + lines.html() + "</details>" : lines.html()};
}

std::string derivative_text(const DerivativeCheckResult& result, bool is_quiet) {
  const bool holds = exit_code(result) == 0;
  std::string out;
  for (const std::string& name : result.different_outputs) out += "  " + quote(name) + " is not what the original computes\n";
  for (const CheckedDerivative& one : result.derivatives) {
    const std::string floor = one.bound > result.bound ? ", within the " + significant(one.bound, 2) + " of the differences' rounding" : "";
    const std::string error = !one.is_told && one.error == 0 ? "lost in rounding on every sample: nothing was tested"
                              : std::isfinite(one.error)     ? "relative error " + significant(one.error, 2) + floor
                                                             : "other dims, or not finite";
    if (!is_quiet || !one.holds)
      out += "  " + std::string(one.holds ? "holds" : one.error == 0 ? "open " : "WRONG") + "   " + quote(one.name) + "   " + error + "\n";
  }
  return out + (holds ? "same" : "different") + "   central differences, " + counted(result.samples, "sample") + ", bound " +
         significant(result.bound, 2) + "\n";
}

}  // namespace

Report verify_report(const VerifyResult& result, bool allow_inconclusive, bool lists_layers) {
  Report out{.verdict = verdict_cell(result), .code = exit_code(result, allow_inconclusive)};
  out.title = out.verdict.text + ": " + result.b;
  out.subject = result.a + " → " + result.b;
  out.footer = circumstances(result) + " · " + exit_text(out.code);
  const auto is_run = [](const LayerResult& layer) { return layer.depth.error.has_value(); };
  const bool listed = lists_layers && std::ranges::any_of(result.layers, is_run);
  const bool is_quantized = !result.losses.empty();
  const auto show = [&](Form forms, const char* title, std::function<Section::Part(const ReportStyle&)> part) {
    out.sections.push_back({forms, title, std::move(part)});
  };
  show(Form::text, "", [&](auto& style) { return interface_lines(result, style.verbose); });
  show(Form::page, "", [&](auto&) { return answers(result); });
  show(Form::page, "In doubt", [&](auto&) { return doubts_table(result); });
  show(Form::page, "Error over range, against its floor (line) and the bound (broken line)", [&](auto&) { return bars(result); });
  show(Form::page, "Error by depth", [&](auto&) { return depth(result); });
  show(Form::page, "Error histogram (heights in the logarithm)", [&](auto&) { return histograms(result); });
  show(Form::text, "", [&](auto& style) { return unsupported_lines(result, style.verbose); });
  // A quantized model differs nearly everywhere, so its loss comes first.
  show(Form::text, "", [&](auto&) { return loss_table(result); });
  show(Form::text, "", [&](auto& style) { return proof_text(result, style); });
  show(Form::text, "", [&](auto& style) { return inputs_text(result, style); });
  show(Form::text, "", [&](auto&) { return joined(result.remarks, "", [](const std::string& remark) { return remark + "\n"; }); });
  show(Form::text, "", [&](auto&) { return outputs_table(result); });
  show(Form::page, "Outputs", [&](auto&) { return figures_table(result); });
  show(Form::text, "", [&](auto& style) { return samples_text(result, style); });
  show(Form::text, "", [&](auto& style) { return checks_table(result, style.verbose); });
  if (!is_quantized) show(Form::text, "", [&](auto& style) { return divergence(result, style.verbose); });
  if (is_quantized) {
    show(Form::text | Form::page, "Loss by node: each alone, given A's values, and the loss that its steps imply",
         [&](auto& style) { return losses_part(result, style); });
  }
  show(Form::page, "Unexplained by the files alone", [&](auto&) { return unexplained(result); });
  show(listed ? Form::text | Form::page : Form::page, "Node by node: each alone, given A's values, and in place",
       [&](auto&) { return layers_table(result); });
  show(Form::text, "", [&](auto& style) {
    const std::string defect = "defect in relayout: " + result.defect;
    return (result.defect.empty() ? "" : paint(defect, Style::bad, style.color) + "\n") + other_doubts(result);
  });
  show(Form::text | Form::quiet, "", [&, code = out.code](auto& style) { return verdict_line(result, code, style.quiet()); });
  out.document = [&, allow_inconclusive] { return verify_json(result, allow_inconclusive); };
  out.suites = {junit_suite(result, allow_inconclusive)};
  return out;
}

Report derivative_report(const DerivativeCheckResult& result) {
  const auto text = [&](auto& style) { return derivative_text(result, style.quiet()); };
  return text_report(text, [&] { return derivative_json(result); }, exit_code(result));
}

}  // namespace relayout::cli
