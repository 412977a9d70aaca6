// Words what all forms of a verification share: reasons, counts, and the circumstances of the run.
#include <cmath>

#include "base/positions.h"
#include "cli/verify/report.h"

namespace relayout::cli {
namespace {

using Field = InterfaceDifference::Field;

constexpr const char* kNotFinite = "not finite";

bool has_nan(const NonFinite& count) {
  return count.nan_a + count.nan_b > 0;
}

/// Counts of elements over all samples that are NaN or infinite in one of the two models only.
NonFinite count_non_finite(const OutputComparison& output) {
  NonFinite out;
  for (const SampleMetrics& metrics : output.samples) {
    out.nan_a += metrics.non_finite.nan_a;
    out.nan_b += metrics.non_finite.nan_b;
    out.infinite += metrics.non_finite.infinite;
  }
  return out;
}

/// " from images/, masks/": the folders of samples that are not random.
std::string folders_text(const VerifyResult& result) {
  std::set<std::string> folders;
  for (const SampleInputs& inputs : result.inputs) {
    for (const auto& [name, file] : inputs.files) folders.insert(escape(file.parent_path().string()));
  }
  const std::string list = joined(folders, ", ", [](const std::string& folder) { return folder + (folder.ends_with('/') ? "" : "/"); });
  return list.empty() ? "" : " from " + list;
}

/// "; 1 sample is of smaller inputs, as others are ill-conditioned": the reason for more samples than requested.
std::string milder_text(const VerifyResult& result) {
  const auto is_milder = [](const SampleInputs& inputs) {
    return inputs.deviation > 0 && inputs.beyond.empty() && inputs.rejected.empty();
  };
  const int64_t milder = std::ranges::count_if(result.inputs, is_milder);
  if (milder == 0) return {};
  return "; " + counted(milder, "sample is", "samples are") + " of smaller inputs, as others are ill-conditioned";
}

/// The sentence on a difference, without the option that accepts it.
std::string plain_sentence(const InterfaceDifference& difference, const VerifyResult& result) {
  const std::string place = difference.side + " " + quote(difference.name);
  const std::string b = escape(result.b);
  if (difference.field == Field::missing) return place + " (" + difference.a + ") is missing in " + b;
  if (difference.field == Field::added) return place + " (" + difference.b + ") is only in " + b;
  if (difference.field == Field::renamed) return place + " is named " + quote(difference.b) + " in " + b;
  if (difference.field == Field::order) return difference.side + "s are in another order: " + difference.b + "; was " + difference.a;
  if (difference.field == Field::has_default) return place + " has a default in " + b;
  if (difference.field == Field::type) return place + " is " + difference.b + ", was " + difference.a;
  return place + ": " + field_text(difference) + " is " + difference.b + ", was " + difference.a;
}

}  // namespace

Style style_of(Outcome outcome) {
  if (outcome == Outcome::different) return Style::bad;
  return outcome == Outcome::inconclusive ? Style::warning : Style::good;
}

std::string verdict_word(const VerifyResult& result) {
  if (!result.defect.empty()) return "defect";
  return result.is_blocked() ? "not supported" : std::string(to_string(result.outcome));
}

Cell verdict_cell(const VerifyResult& result) {
  return {verdict_word(result), result.defect.empty() ? style_of(result.outcome) : Style::bad};
}

std::string ratio_text(double ratio) {
  if (std::isnan(ratio)) return "nan";
  if (ratio < 9.95) return fixed(ratio, 1);
  if (!(ratio < 1e15)) return "∞";
  double unit = 1;
  while (ratio / unit >= 99.5) unit *= 10;
  return format_count(static_cast<int64_t>(std::llround(ratio / unit) * std::llround(unit)));
}

bool is_finite(const OutputComparison& output) {
  return count_non_finite(output).unequal() == 0;
}

std::string error_text(const OutputComparison& output) {
  const NonFinite count = count_non_finite(output);
  return has_nan(count) ? "NaN" : count.infinite > 0 ? "∞" : scientific(output.max_error);
}

std::string ratio_words(const OutputComparison& output) {
  const NonFinite count = count_non_finite(output);
  if (!has_nan(count)) return count.infinite > 0 ? "infinite in one only" : "ratio " + ratio_text(output.ratio);
  const std::string side = count.nan_b == 0 ? "A" : count.nan_a == 0 ? "B" : "one";
  return "NaN in " + side + " only";
}

std::string verdict_reason(const VerifyResult& result) {
  if (!result.reason.empty() || result.outcome == Outcome::same || result.outcome == Outcome::accepted) return result.reason;
  if (result.outcome == Outcome::different) {
    for (const InterfaceDifference& difference : result.interface) {
      if (!difference.remark) return sentence(difference, result);
    }
  }
  const auto telling = std::ranges::find(result.outputs, result.outcome, &OutputComparison::outcome);
  if (telling == result.outputs.end()) return {};
  const int64_t others = std::ranges::count(result.outputs, result.outcome, &OutputComparison::outcome) - 1;
  const std::string which = "output " + quote(telling->name) + (others > 0 ? " and " + format_count(others) + " more" : "");
  const LayerResult* const wrong = first_wrong(result);
  if (result.outcome != Outcome::different || wrong == nullptr) return which + ": " + telling->reason;
  const std::string apart = nodes_in_one_only(result, *wrong);
  return which + (others > 0 ? " differ" : " differs") + " from node " + quote(wrong->node) + " (" + escape(wrong->op_type) + ") onwards" +
         (!apart.empty()  ? ", where " + apart
          : wrong->finite ? ""
                          : ": " + wrong->reason);
}

std::string nodes_in_one_only(const VerifyResult& result, const LayerResult& layer) {
  constexpr std::size_t kMost = 2;
  std::vector<std::size_t> entries = layer.proof.unexplained;
  entries.insert(entries.end(), layer.proof.misread.begin(), layer.proof.misread.end());
  std::vector<std::string> out;
  for (const std::size_t entry : entries) {
    const Unexplained& change = result.proof->unexplained[entry];
    const bool is_gone = change.kind == Unexplained::Kind::node_removed;
    if (!is_gone && change.kind != Unexplained::Kind::node_added) continue;
    const std::string label = change.text.substr(0, change.text.rfind(is_gone ? " is gone" : " was not there"));
    out.push_back(label + " of " + escape(is_gone ? result.a : result.b) + (is_gone ? " is gone" : " is new"));
  }
  return out.size() > kMost ? "" : joined(out, " and ");
}

const Doubt* stated_doubt(const VerifyResult& result) {
  if (result.outcome != Outcome::inconclusive) return nullptr;
  const std::string reason = verdict_reason(result);
  const auto is_it = [&](const Doubt& doubt) {
    return doubt.output.empty() ? reason.starts_with(doubt.text) : reason.ends_with(": " + doubt.text);
  };
  const auto found = std::ranges::find_if(result.doubts, is_it);
  return found == result.doubts.end() ? nullptr : &*found;
}

std::string full_reason(const VerifyResult& result) {
  if (!result.reason.empty() || result.outcome != Outcome::different) return verdict_reason(result);
  std::string files, node, of_output;
  const auto interface = std::ranges::find(result.interface, false, &InterfaceDifference::remark);
  if (interface != result.interface.end()) {
    files = sentence(*interface, result);
  } else if (const ProofResult* const proof = result.told_proof(); proof != nullptr && !proof->unexplained.empty()) {
    files = proof->unexplained.front().text;
  }
  if (const LayerResult* const wrong = first_wrong(result)) {
    node = "node " + quote(wrong->node) + " (" + escape(wrong->op_type) + "): " + wrong->reason;
  }
  const auto output = std::ranges::find(result.outputs, Outcome::different, &OutputComparison::outcome);
  if (output != result.outputs.end()) of_output = "output " + quote(output->name) + ": " + output->reason;
  return joined({files, node, of_output}, "; ");
}

std::string error_text(const LayerResult& layer) {
  if (!layer.finite) return kNotFinite;
  return layer.error == 0 && layer.reason.empty() ? "equal" : scientific(layer.error);
}

std::string error_text(const UnexplainedCheck& check) {
  if (!check.finite) return kNotFinite;
  return check.effect != UnexplainedCheck::Effect::none ? scientific(check.error) : "equal";
}

const LayerResult* first_wrong(const VerifyResult& result) {
  // Every node of a quantized model differs: its losses show which one is at fault.
  if (!result.losses.empty()) return nullptr;
  const auto found = std::ranges::find(result.layers, Outcome::different, &LayerResult::outcome);
  return found == result.layers.end() ? nullptr : &*found;
}

std::string shape_of(const OutputComparison& output) {
  const std::string shape = output.samples.empty() ? output.shape : to_string(output.dims);
  return std::string(name_of(output.type)) + (shape.empty() ? "" : " " + shape);
}

std::string circumstances(const VerifyResult& result) {
  if (result.samples == 0) return {};
  std::string out = counted(result.samples, "sample") + folders_text(result) + ", seed " + std::to_string(result.seed) + ", floor from " +
                    counted(result.draws, "run") + " with perturbed weights";
  if (result.reference_run) out += " and the double-precision reference";
  out += milder_text(result);
  out += " · oneDNN " + result.onednn + ", " + result.isa + ", " + counted(result.threads, "thread");
  return out + " · " + seconds_text(result.seconds);
}

std::string proof_counts(const VerifyResult& result) {
  const ProofResult& proof = *result.told_proof();
  const bool is_rounded = result.rounded_proof.has_value();
  std::vector<std::string> parts;
  if (proof.folds > proof.near_folds) parts.push_back(counted(proof.folds - proof.near_folds, "fold") + " recomputed");
  if (proof.near_folds > 0) {
    parts.push_back(counted(proof.near_folds, "fold") + " within " + std::to_string(static_cast<int64_t>(std::ceil(proof.near_ulp))) +
                    " ULP, not rounded as doubles would be");
  }
  if (proof.permutations > 0) {
    parts.push_back(is_rounded ? counted(proof.permutations, "weight") + " permuted"
                               : counted(proof.permutations, "weight is a byte permutation", "weights are byte permutations"));
  }
  if (proof.rewritten > 0) parts.push_back(counted(proof.rewritten, "operator") + " equal by formula");
  if (proof.tensors_equal > 0 || parts.empty())
    parts.push_back(counted(proof.tensors_equal, "tensor") + (is_rounded ? " equal" : " byte-equal"));
  return joined(parts, ", ");
}

std::string proof_sentence(const VerifyResult& result) {
  return proof_counts(result) + (result.rounded_proof ? ", all within rounding to 16 bits" : "") + ", nothing unexplained";
}

const char* divergence_title(const VerifyResult& result) {
  return result.outcome == Outcome::different ? "first wrong node" : "first node beyond rounding";
}

std::string layer_label(const LayerResult& layer) {
  return escape(layer.node) + " (" + escape(layer.op_type) + ")";
}

std::string sentence(const InterfaceDifference& difference, const VerifyResult& result) {
  const bool is_type = difference.field == Field::type;
  const char* const how = difference.field == Field::renamed ? "" : is_type ? ": cast" : ": run at that size";
  std::string what = plain_sentence(difference, result) + (difference.adapted ? how : "");
  const bool is_renamed = difference.field == Field::renamed && !difference.adapted && !difference.remark;
  if (is_renamed) return what + " (" + shell_word("--rename=" + difference.name + "=" + difference.b) + " pairs them)";
  if (!difference.adapted || difference.remark) return what;
  return what + " (" + (is_type ? "--precision or " : "") + "--allow-interface takes it)";
}

std::string exit_text(int code) {
  return "exit " + std::to_string(code);
}

std::string bin_text(std::size_t bin) {
  return bin < 2 ? std::to_string(bin) : "<2^" + std::to_string(bin);
}

// Losses.
namespace {

constexpr std::size_t kMostNodes = 5;  ///< of which messages tell

/// The loss of a quantized model at a node in words: alone, expected (– where it is not known) and clipped (– where nothing is).
struct LossWords {
  std::string node, alone, expected, clipped;
};

LossWords words_of(const QuantizationLoss& loss) {
  const bool clips = loss.clipped && *loss.clipped > 0;
  return {escape(loss.node) + " (" + escape(loss.op_type) + ")", decibels(loss.snr), loss.expected ? decibels(*loss.expected) : "–",
          clips ? significant(100 * *loss.clipped, 2) + " %" : "–"};
}

/// The largest error of all samples. Names its sample if the output's figures are from a different one.
std::string largest_error_text(const OutputComparison& output) {
  std::string out = "largest error/range " + scientific(output.loss->error);
  const auto largest = std::ranges::max_element(output.samples, {}, &SampleMetrics::max_error);
  const bool is_shown = as_size(largest - output.samples.begin()) == output.telling || output.max_error == output.loss->error;
  return is_shown ? out : out + " (sample " + std::to_string(largest->sample) + ")";
}

}  // namespace

std::vector<std::string> loss_sentences(const VerifyResult& result) {
  std::vector<std::string> out;
  for (const QuantizationLoss& loss : std::span(result.losses).first(std::min(kMostNodes, result.losses.size()))) {
    const LossWords words = words_of(loss);
    const auto part = [](const std::string& value, const char* what) { return value == "–" ? "" : value + what; };
    const std::string list = joined({words.alone + " alone", part(words.expected, " expected"), part(words.clipped, " clipped")}, ", ");
    out.push_back(joined({words.node, list, loss.fault}, ": "));
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

Table losses_table(const VerifyResult& result, std::size_t most) {
  Table table({.indent = 2, .gap = 2});
  table.head({"loss by node", right("alone"), right("expected"), right("clipped"), ""});
  for (const QuantizationLoss& loss : std::span(result.losses).first(std::min(most, result.losses.size()))) {
    const Style of = loss.fault.empty() ? Style::plain : Style::bad;
    const LossWords words = words_of(loss);
    table.row({{words.node, of}, {words.alone, of}, words.expected, words.clipped, {loss.fault, of}});
  }
  return table;
}

}  // namespace relayout::cli
