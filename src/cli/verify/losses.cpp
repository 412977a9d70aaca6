// Words the loss of a model that computes in coarser numbers, by output and by node.
#include "cli/verify/losses.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "base/positions.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kMostNodes = 5;  ///< shown without -v

/// The largest error of all samples. Names its sample if the output's figures are from a different one.
std::string largest_error_text(const OutputComparison& output) {
  std::string out = "largest error/range " + scientific(output.loss->error);
  const auto largest = std::ranges::max_element(output.samples, {}, &SampleMetrics::max_error);
  const bool is_shown = as_size(largest - output.samples.begin()) == output.telling || output.max_error == output.loss->error;
  return is_shown ? out : out + " (sample " + std::to_string(largest->sample) + ")";
}

}  // namespace

LossWords words_of(const QuantizationLoss& loss) {
  const bool clips = loss.clipped && *loss.clipped > 0;
  return {escape(loss.node) + " (" + escape(loss.op_type) + ")", decibels(loss.snr), loss.expected ? decibels(*loss.expected) : "–",
          clips ? significant(100 * *loss.clipped, 2) + " %" : "–", loss.fault};
}

std::vector<std::string> loss_sentences(const VerifyResult& result) {
  std::vector<std::string> out;
  for (const QuantizationLoss& loss : std::span(result.losses).first(std::min(kMostNodes, result.losses.size()))) {
    const LossWords words = words_of(loss);
    std::string& text = out.emplace_back(words.node + ": " + words.alone + " alone");
    if (loss.expected) text += ", " + words.expected + " expected";
    if (words.clipped != "–") text += ", " + words.clipped + " clipped";
    if (!loss.fault.empty()) text += ": " + loss.fault;
  }
  return out;
}

std::string loss_text(const OutputComparison& output) {
  const Loss& loss = *output.loss;
  if (!is_measured(output.type)) return share_text(loss.match) + " equal";
  std::string out = decibels(loss.snr);
  if (output.samples.size() > 1 && loss.worst_snr < loss.snr) out += " (worst sample " + decibels(loss.worst_snr) + ")";
  out += ", cosine " + fixed(loss.cosine, 6) + ", " + largest_error_text(output);
  if (loss.top1) out += ", top-1 " + share_text(*loss.top1);
  if (loss.top5) out += ", top-5 " + share_text(*loss.top5);
  return out;
}

std::string losses_table(const VerifyResult& result, const ReportStyle& style) {
  const std::size_t shown = style.verbose ? result.losses.size() : std::min(kMostNodes, result.losses.size());
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  table.row(
      {{"loss by node", Style::faint}, right("alone", Style::faint), right("expected", Style::faint), right("clipped", Style::faint), ""});
  for (const QuantizationLoss& loss : std::span(result.losses).first(shown)) {
    const Style of = !loss.fault.empty() ? Style::bad : Style::plain;
    const LossWords words = words_of(loss);
    table.row({{words.node, of}, right(words.alone, of), right(words.expected), right(words.clipped), {words.fault, of}});
  }
  std::string out = table.text();
  if (shown < result.losses.size()) out += "  " + counted(static_cast<int64_t>(result.losses.size() - shown), "more node") + " (-v)\n";
  return out;
}

Json loss_json(const Loss& loss) {
  Json out = Json::object();
  out.set("snr", loss.snr).set("worst_snr", loss.worst_snr).set("cosine", loss.cosine).set("err", loss.error).set("match", loss.match);
  if (loss.top1) out.set("top1", *loss.top1);
  if (loss.top5) out.set("top5", *loss.top5);
  return out;
}

Json losses_json(const VerifyResult& result) {
  Json out = Json::array();
  for (const QuantizationLoss& loss : result.losses) {
    Json entry = Json::object();
    entry.set("node", loss.node).set("op", loss.op_type).set("tensor", loss.tensor).set("snr", loss.snr);
    out.add(std::move(entry.set("expected_snr", loss.expected).set("clipped", loss.clipped).set("fault", loss.fault)));
  }
  return out;
}

}  // namespace relayout::cli
