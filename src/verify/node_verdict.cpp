// How nodes decide the verdict, and which `--layers` lists: names the wrong node, finds differences that outputs hide, makes unexplained
// constants inconclusive, vouches for outputs that show nothing. Each node is fed the reference's values.
#include "verify/node_verdict.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/candidate.h"
#include "verify/feeding.h"
#include "verify/inputs/port.h"
#include "verify/judge.h"
#include "verify/measured_types.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/rules.h"
#include "verify/sample_count.h"
#include "verify/unsampled.h"

namespace relayout {
namespace {

std::vector<std::string> output_names(const Pair& pair) {
  std::vector<std::string> names;
  for (const Port& port : pair.b.outputs) names.push_back(port.name);
  return names;
}

/// Whether an output shows nothing by itself, so that all nodes upstream have to vouch for it.
bool needs_nodes(const OutputComparison& output) {
  const auto is_ill = [](const SampleMetrics& metrics) { return metrics.ill_conditioned; };
  return output.outcome == Outcome::inconclusive || std::ranges::all_of(output.samples, is_ill);
}

bool layer_differs(const LayerResult& layer) {
  return layer.outcome == Outcome::different;
}

void convict(VerifyResult& result, const LayerResult& layer) {
  if (result.outcome == Outcome::different) return;
  result.outcome = Outcome::different;
  result.reason =
      "node " + quote(layer.node) + " (" + escape(layer.op_type) + "): fed A's values, it gives a different result (" +
      (layer.bound > 0 && layer.error > layer.bound ? scientific(layer.error) + ", floor " + scientific(layer.floor.max) : layer.reason) +
      "), which the outputs hide (--outputs-only judges them alone)";
}

/// Reports how many elements rounding moves across a boundary to the neighbouring step, and the node with most of them.
void note_flips(const Reference& reference, std::size_t sample, const std::vector<LayerResult>& layers, VerifyResult& result) {
  int64_t flips = 0;
  const LayerResult* most = nullptr;
  for (const LayerResult& layer : layers) {
    flips += layer.flips;
    if (layer.flips > 0 && (most == nullptr || layer.flips > most->flips)) most = &layer;
  }
  if (most == nullptr) return;
  result.remarks.push_back("sample " + std::to_string(reference.samples()[sample].number) + ": " +
                           counted(flips, "element falls", "elements fall") + " to the neighbouring step by rounding, most of " +
                           quote(most->node) + " (" + escape(most->op_type) + ")");
}

/// Whether a constant of b holds sizes, counts or indices, which are never rounded: integers of any type that no node reads as quantized
/// numbers.
bool is_never_rounded(const Unexplained& entry, const Graph& b) {
  const Value* const value = b.find(entry.name);
  if (value == nullptr || !kIntegerTypes.has(Constants().type_of(*value))) return false;
  return std::ranges::none_of(value->uses(), [](const Use& use) {
    const std::string& op = use.node->op_type();
    return op.starts_with('Q') || op == "DequantizeLinear" || op.ends_with("Integer");
  });
}

/// Whether a constant alone differs by more than rounding, and its nodes stay within their floors over all samples.
bool is_hidden(const UnexplainedCheck& check, const ProofResult& proof, const Graph& b) {
  const Unexplained& entry = proof.unexplained[check.entry];
  return check.outcome == Outcome::same && check.alone && !check.acquitted && is_constant(entry) && entry.values > 0 &&
         (entry.largest > rules::kRoundedConstant || is_never_rounded(entry, b));
}

std::string unreached(const UnexplainedCheck& check, const ProofResult& proof) {
  return "node " + quote(check.node) + " (" + escape(check.op_type) + "): " + unreached(proof.unexplained[check.entry]);
}

/// Whether a constant differs by more than rounding to b's narrow type, and its nodes stay within their floors. Every node differs by
/// rounding there, so that `felt` says nothing about the constant. Weights and biases may hold folded factors, which the proof does not
/// recognize where types change.
bool exceeds_rounding(const UnexplainedCheck& check, const ProofResult& proof, DataType grain) {
  const Unexplained& entry = proof.unexplained[check.entry];
  return check.outcome == Outcome::same && !check.acquitted && entry.kind == Unexplained::Kind::tensor && entry.values > 0 &&
         entry.beyond_half > rules::kGainRoundings * unit_roundoff(grain);
}

/// Whether a constant differs by more than rounding to the narrow type of either model, and its nodes vouch for it only together with other
/// products, whose rounding may hide it; or no node shows it, as it is too far upstream of every value that both models have.
bool is_hidden_by_others(const Unexplained& entry, const UnexplainedCheck* check, DataType narrow) {
  const bool is_off = is_constant(entry) && entry.values > 0 && entry.beyond_half > rules::kGainRoundings * unit_roundoff(narrow);
  return is_off && (check == nullptr || (check->outcome == Outcome::same && check->together && !check->acquitted));
}

/// Whether an operator (added, removed or changed) has nodes that compute the same bits over all samples.
bool is_unreached(const UnexplainedCheck& check, const ProofResult& proof) {
  const Unexplained& entry = proof.unexplained[check.entry];
  return check.outcome == Outcome::same && !check.felt && !check.acquitted && !(check.alone && is_constant(entry)) &&
         entry.largest <= rules::kRoundedConstant;
}

/// Whether every node alone, the outputs' included, computes the original's result in samples that differ. Where these say nothing about a
/// node, another sample has to.
bool are_right_alone(const Pair& pair, const Reference& reference, std::vector<std::size_t> samples, const VerifyResult& result) {
  const std::size_t differing = samples.size();
  for (std::size_t s = 0; s < reference.samples().size() && samples.size() < differing + rules::kLayerSamples; ++s) {
    if (std::ranges::find(samples, s) == samples.end()) samples.push_back(s);
  }
  std::set<std::string> vague;  // in all samples so far
  for (std::size_t k = 0; k < samples.size() && (k < differing || !vague.empty()); ++k) {
    const auto layers = compare_nodes(pair, reference, samples[k], result.proof ? &*result.proof : nullptr, Feeding::exact);
    if (std::ranges::any_of(layers, layer_differs) || !has_all(layers, output_names(pair))) return false;
    const std::set<std::string> here = find_vague(layers);
    if (k == 0) vague = here;
    std::erase_if(vague, [&](const std::string& tensor) { return !here.contains(tensor); });
  }
  return vague.empty();
}

}  // namespace

std::string place_of(const Pair& pair, const Reference& reference, std::size_t output, std::size_t sample) {
  return "output " + quote(pair.a.outputs[output].name) + ", sample " + std::to_string(reference.samples()[sample].number);
}

bool acquit_choices(const Pair& pair, const Reference& reference, Candidate& candidate, VerifyResult& result) {
  std::vector<std::pair<std::size_t, std::size_t>> differing;  // output, sample
  std::vector<std::size_t> samples;
  for (std::size_t s = 0; s < reference.samples().size(); ++s) {
    for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
      if (s < candidate.outputs()[i].figures.size() && candidate.outputs()[i].figures[s].outcome == Outcome::different)
        differing.emplace_back(i, s);
    }
    if (!differing.empty() && differing.back().second == s) samples.push_back(s);
  }
  const auto may_jump = [&](const auto& place) {
    const auto [i, s] = place;
    // Choices exchange numbers; they do not give a value other dims or another type.
    return !candidate.outputs()[i].figures[s].other_structure &&
           depends_on_choice(*pair.b.model->graph().outputs()[*candidate.outputs()[i].place]) &&
           candidate.outputs()[i].contradiction.empty();
  };
  if (differing.empty() || !std::ranges::all_of(differing, may_jump) || !are_right_alone(pair, reference, samples, result)) return false;
  for (const auto& [i, s] : differing) {
    result.remarks.push_back(place_of(pair, reference, i, s) + ": B is " + scientific(candidate.outputs()[i].figures[s].max_error) +
                             " of the range away" + kChoice);
    candidate.outputs()[i].figures[s].outcome = Outcome::same;
  }
  for (OutputComparison& output : result.outputs) {
    output.outcome = Outcome::same;
    output.reason.clear();
  }
  return true;
}

void name_wrong_nodes(const Pair& pair, const Reference& reference, const Candidate& candidate, VerifyResult& result) {
  const auto sample = candidate.first_different();
  if (!sample) return;
  const Feeding feeding = pair.options->layers ? Feeding::by_depth : Feeding::exact;
  auto layers = compare_nodes(pair, reference, *sample, result.proof ? &*result.proof : nullptr, feeding);
  // If an unexplained change accounts for the difference, nodes that differ without it compute other values under an old name.
  const auto is_touched = [](const LayerResult& layer) { return layer_differs(layer) && is_open(layer); };
  if (std::ranges::any_of(layers, is_touched)) {
    for (LayerResult& layer : layers) layer.outcome = is_touched(layer) ? Outcome::different : Outcome::same;
  }
  for (LayerResult& layer : layers) {
    if (pair.options->layers || layer_differs(layer)) result.layers.push_back(std::move(layer));
  }
}

bool judge_unexplained(const Pair& pair, const Reference& reference, VerifyResult& result) {
  const ProofResult* const proof = result.proof ? &*result.proof : nullptr;
  const bool wanted = proof != nullptr && !pair.proved && !pair.options->outputs_only;
  if (!wanted && !pair.options->layers) return false;
  bool vouches = wanted;
  const bool all = pair.options->layers || std::ranges::any_of(result.outputs, needs_nodes);
  const std::size_t samples = std::min<std::size_t>(wanted ? rules::kLayerSamples : 1, reference.samples().size());
  for (std::size_t s = 0; s < samples; ++s) {
    const bool listed = pair.options->layers && s == 0;
    std::vector<LayerResult> layers = wanted && !all
                                          ? compare_open_nodes(pair, reference, s, *proof, Feeding::exact)
                                          : compare_nodes(pair, reference, s, proof, listed ? Feeding::by_depth : Feeding::exact);
    vouches = vouches && covers(layers, output_names(pair)) && std::ranges::none_of(layers, layer_differs);
    note_flips(reference, s, layers, result);
    if (wanted) check_unexplained(result.checks, layers, *proof);
    for (LayerResult& layer : layers) {
      const bool guilty = wanted && convicts(layer);
      if (guilty) convict(result, layer);
      if (!guilty && !pair.options->layers) layer.outcome = Outcome::same;
      const bool named = std::ranges::find(result.layers, layer.tensor, &LayerResult::tensor) != result.layers.end();
      if (listed || (guilty && !named)) result.layers.push_back(std::move(layer));
    }
  }
  return vouches;
}

void judge_hidden(const Pair& pair, const Reference& reference, VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof) return;
  const ProofResult& proof = *result.proof;
  const Graph& b = pair.b.model->graph();
  const auto hidden = [&](const UnexplainedCheck& check) { return is_hidden(check, proof, b); };
  if (std::ranges::none_of(result.checks, hidden)) return;
  const auto is_about_hidden = [&](std::size_t entry) {
    const auto found = std::ranges::find(result.checks, entry, &UnexplainedCheck::entry);
    return found != result.checks.end() && is_hidden(*found, proof, b);
  };
  std::vector<UnexplainedCheck> checks;
  for (LayerResult& layer : compare_open_nodes(pair, reference, 0, proof, Feeding::shaken)) {
    if (std::ranges::none_of(layer.proof.unexplained, is_about_hidden)) continue;
    check_unexplained(checks, {layer}, proof);
    if (!convicts(layer)) continue;
    if (result.outcome == Outcome::same) {
      result.outcome = Outcome::different;
      result.reason = "node " + quote(layer.node) + " (" + escape(layer.op_type) +
                      "): " + proof.unexplained[layer.proof.unexplained.front()].text + "; no sample shows it, values beside theirs do";
    }
    result.layers.push_back(std::move(layer));
  }
  for (UnexplainedCheck& check : result.checks) {
    if (!is_hidden(check, proof, b)) continue;
    const auto found = std::ranges::find(checks, check.entry, &UnexplainedCheck::entry);
    if (found != checks.end() && found->outcome == Outcome::different) {
      check = *found;
    } else if (!check.felt && result.outcome == Outcome::same) {
      doubt(result, unreached(check, proof));
    }
  }
}

void judge_rounded(const Pair& pair, VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof || pair.grain == DataType::undefined) return;
  const ProofResult& proof = *result.proof;
  for (const UnexplainedCheck& check : result.checks) {
    if (!exceeds_rounding(check, proof, pair.grain)) continue;
    return doubt(result, "node " + quote(check.node) + " (" + escape(check.op_type) + "): " + proof.unexplained[check.entry].text +
                             ": more than rounding to " + std::string(name_of(pair.grain)) +
                             ", less than the rounding of the node's result");
  }
}

void judge_diluted(const Pair& pair, VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof || pair.proved || pair.narrow == DataType::undefined) return;
  const ProofResult& proof = *result.proof;
  for (std::size_t i = 0; i < proof.unexplained.size(); ++i) {
    const auto found = std::ranges::find(result.checks, i, &UnexplainedCheck::entry);
    if (!is_hidden_by_others(proof.unexplained[i], found == result.checks.end() ? nullptr : &*found, pair.narrow)) continue;
    return doubt(result, proof.unexplained[i].text + ": more than rounding to " + std::string(name_of(pair.narrow)) +
                             ", and no node shows it that does not hold the rounding of other products too");
  }
}

void judge_unreached(const Pair& pair, const Reference& reference, VerifyResult& result) {
  if (!result.proof) return;
  const ProofResult& proof = *result.proof;
  for (const Feeding feeding : {Feeding::near, Feeding::far}) {
    if (feeding == Feeding::far && pair.narrow != DataType::undefined) return;
    const auto is_wanted = [&](const UnexplainedCheck& check) { return is_unreached(check, proof); };
    if (result.outcome != Outcome::same || std::ranges::none_of(result.checks, is_wanted)) return;
    std::vector<UnexplainedCheck> checks;
    check_unexplained(checks, compare_open_nodes(pair, reference, 0, proof, feeding), proof);
    for (const UnexplainedCheck& check : result.checks) {
      const auto found = std::ranges::find(checks, check.entry, &UnexplainedCheck::entry);
      if (!is_wanted(check) || found == checks.end() || found->outcome != Outcome::different) continue;
      return doubt(result, unreached(*found, proof));
    }
  }
}

void judge_unentered(const Pair& pair, EnteredGraphs& entered, VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof || pair.proved) return;
  const Unexplained* const entry = find_unentered(pair, entered, *result.proof);
  if (entry != nullptr) doubt(result, unreached(*entry));
}

void judge_unsampled(const Pair& pair, const Reference& reference, EnteredGraphs& entered, VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof || pair.proved) return;
  const std::string why = find_unsampled(pair, reference, entered, result);
  if (!why.empty()) doubt(result, why);
}

void trust_nodes(const Reference& reference, VerifyResult& result) {
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    OutputComparison& output = result.outputs[i];
    if (output.outcome != Outcome::inconclusive || !reference.outputs().summary(i).holds_values()) continue;
    result.remarks.push_back("output " + quote(output.name) + " shows nothing (" + output.reason +
                             "), but node by node B computes what A computes");
    output.outcome = Outcome::same;
    output.reason.clear();
  }
}

}  // namespace relayout
