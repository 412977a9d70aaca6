// Draws a verification of two models as a page of answers, errors, pictures and tables.
#include "report/page.h"

#include <cmath>

#include "cli/verify/report.h"
#include "report/charts.h"

namespace relayout::cli {
namespace {

/// Limits that keep pages readable: bars (different outputs first), histograms (of the first outputs), differences in an open list.
constexpr std::size_t kMostOutputs = 40, kMostHistograms = 4, kMostUnexplained = 10;

bool is_measured(const OutputComparison& output) {
  const auto is_empty = [](const SampleMetrics& metrics) { return std::ranges::find(metrics.dims, 0) != metrics.dims.end(); };
  return !output.samples.empty() && !std::ranges::all_of(output.samples, is_empty) && output.bound > 0;
}

VerdictPage::Section answers(const VerifyResult& result) {
  std::vector<Cell> lines;
  for (const InterfaceDifference& difference : result.interface) {
    lines.emplace_back(sentence(difference, result), difference.remark ? Style::faint : Style::bad);
  }
  if (!result.defect.empty()) lines.emplace_back("defect in relayout: " + result.defect, Style::bad);
  if (!result.reason.empty()) lines.emplace_back(result.reason);
  if (const LayerResult* const wrong = first_wrong(result)) {
    lines.emplace_back("First wrong node: " + layer_label(*wrong) + ". Its inputs agree, its output does not: " + wrong->reason,
                       Style::strong);
  }
  if (const ProofResult* const proof = result.told_proof(); proof != nullptr && proof->proved) {
    lines.emplace_back("Proved from the files alone: " + proof_sentence(result), Style::good);
  }
  for (const std::string& remark : result.remarks) lines.emplace_back(remark, Style::faint);
  return {"", html_lines(lines)};
}

VerdictPage::Section bars(const VerifyResult& result) {
  std::vector<SvgBar> all;
  for (const OutputComparison& output : result.outputs) {
    if (!is_measured(output)) continue;
    const double error = is_finite(output) ? output.max_error : NAN;
    all.push_back({output.name, error, output.floor, output.bound, output.outcome == Outcome::different, ratio_words(output)});
  }
  std::ranges::stable_sort(all, [](const SvgBar& x, const SvgBar& y) { return x.bad && !y.bad; });
  if (all.size() > kMostOutputs) all.resize(kMostOutputs);
  return {"Error over range, against its floor (line) and the bound (broken line)", all.empty() ? "" : svg_bars(all)};
}

VerdictPage::Section table(const VerifyResult& result) {
  Table table;
  table.head({"output", "", "", right("error/range"), right("RMS/σ"), right("floor"), right("ratio"), right("cosine"), right("PSNR")});
  for (const OutputComparison& output : result.outputs) {
    std::vector<Cell> row{
        {output.name, Style::strong}, shape_of(output), {std::string(to_string(output.outcome)), style_of(output.outcome)}};
    if (is_measured(output)) {
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
  return {"Outputs", table.html()};
}

/// Histograms of the elements' distances in ULPs, over all samples.
VerdictPage::Section histograms(const VerifyResult& result) {
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
  return {"Error histogram (heights in the logarithm)", body};
}

VerdictPage::Section depth(const VerifyResult& result) {
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
  return {"Error by depth", names.size() < 2 ? "" : svg_lines({error, floor}, marks, names, "nodes of " + result.b + " in order")};
}

VerdictPage::Section doubts(const VerifyResult& result) {
  Table table;
  table.head({"rule (--allow)", "node or output", "", ""});
  for (const Doubt& doubt : result.doubts) {
    if (result.outcome != Outcome::inconclusive) break;
    const Style style = doubt.allowed ? Style::faint : Style::warning;
    table.row({{doubt.name, style}, doubt.output.empty() ? doubt.node : doubt.output, {doubt.text, style}, doubt.allowed ? "allowed" : ""});
  }
  return {"In doubt", table.html()};
}

/// Differences that the files alone do not explain, in a closed block if there are many.
VerdictPage::Section unexplained(const VerifyResult& result) {
  std::vector<Cell> lines;
  if (const ProofResult* const proof = result.told_proof()) {
    for (const Unexplained* entry : telling_first(*proof)) {
      lines.emplace_back(entry->text, Style::warning);
      if (!entry->repair.text.empty()) lines.emplace_back("Repair: " + entry->repair.text, Style::good);
    }
  }
  if (lines.empty()) return {};
  const std::string all = html_lines(lines);
  const std::string summary = "<summary>" + counted(static_cast<int64_t>(lines.size()), "difference") + "</summary>";
  return {"Unexplained by the files alone", lines.size() > kMostUnexplained ? "<details>" + summary + all + "</details>" : all};
}

}  // namespace

std::string verify_html(const VerifyResult& result, bool allow_inconclusive) {
  VerdictPage page;
  page.verdict = {verdict_word(result), !result.defect.empty() ? Style::bad : style_of(result.outcome)};
  page.title = page.verdict.text + ": " + result.b;
  page.subject = result.a + " → " + result.b;
  page.footer = circumstances(result) + " · exit " + std::to_string(exit_code(result, allow_inconclusive));
  page.sections = {answers(result),
                   doubts(result),
                   bars(result),
                   depth(result),
                   histograms(result),
                   table(result),
                   {"Loss by node: each alone, given A's values, and the loss that its steps imply",
                    losses_table(result, result.losses.size(), {}).html()},
                   unexplained(result),
                   {"Node by node: each alone, given A's values, and in place", layers_table(result, {}).html()}};
  page.data = verify_json(result, allow_inconclusive);
  return html_page(page);
}

}  // namespace relayout::cli
