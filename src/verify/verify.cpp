// Compares two files: reads both, lets the proof decide what it can, and runs what is left, stage by stage: the reference, its noise
// floors, the candidate as written, the nodes that nothing explains, the candidate optimized.
#include "relayout/verify.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cpus.h"
#include "base/sha256.h"
#include "base/text.h"
#include "model/origin.h"
#include "passes/pass.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "verify/acceptance.h"
#include "verify/adaption.h"
#include "verify/candidate.h"
#include "verify/compare.h"
#include "verify/compare_models.h"
#include "verify/floors.h"
#include "verify/identical.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
#include "verify/inputs/save_data.h"
#include "verify/interface.h"
#include "verify/judge.h"
#include "verify/nodes/nodes.h"
#include "verify/pair.h"
#include "verify/precision.h"
#include "verify/quantized_work.h"
#include "verify/quantizer.h"
#include "verify/reference.h"
#include "verify/rules.h"
#include "verify/session.h"

namespace relayout {
namespace {

/// Takes out what `convert --io nhwc` put behind inputs and in front of outputs (exact pairs of dims and a Transpose, see
/// passes/export_io.cpp), so that both models are asked the same way.
void take_images_contiguous(Model& model) {
  PassContext context;
  context.options.layout = WeightsLayout::contiguous;
  const Pass* const pass = find_pass("export-io");
  run_passes(model, std::span(&pass, 1), context);
}

Side load_side(const std::filesystem::path& path, const LoadOptions& options, bool images_last) {
  Side side;
  side.name = path.string();
  side.model = Model::load(path, options);
  if (images_last) take_images_contiguous(*side.model);
  side.outputs = output_ports(side.model->graph());
  return side;
}

VerifyResult describe_run(const Side& a, const Side& b, const VerifyOptions& options) {
  VerifyResult result;
  result.a = a.name;
  result.b = b.name;
  result.seed = options.seed;
  result.threads = options.threads > 0 ? options.threads : available_cpus();
  if (!options.digests) return result;
  if (origin_of(*a.model).file) result.sha256_a = sha256_of(*origin_of(*a.model).file);
  if (origin_of(*b.model).file) result.sha256_b = sha256_of(*origin_of(*b.model).file);
  return result;
}

/// What follows from the files alone. From here on both are known to be valid.
void read_files(const Side& a, Side& b, const VerifyOptions& options, VerifyResult& result) {
  const Graph& graph = a.model->graph();
  result.interface = take_names(graph, *b.model, options);
  const bool renamed = !result.interface.empty();
  std::vector<InterfaceDifference> differences = compare_interfaces(graph, b.model->graph());
  adapt(graph, *b.model, options, differences);
  result.interface.insert(result.interface.end(), differences.begin(), differences.end());
  b.outputs = output_ports(b.model->graph());
  result.unsupported_a = Executor::unsupported(a.model->graph());
  result.unsupported_b = Executor::unsupported(b.model->graph());
  result.identical = !renamed && are_identical(*a.model, *b.model);
  if (!result.identical) result.proof = prove(*a.model, *b.model, {.digests = false, .threads = options.threads});
}

/// Whether nothing has to run, with the reason.
bool is_decided(const Side& a, const VerifyOptions& options, VerifyResult& result) {
  const bool cannot_run = !result.unsupported_a.empty() || !result.unsupported_b.empty();
  if (result.identical && (cannot_run || !options.run_identical)) {
    result.reason = "identical files (sha256 " + sha256_of(*origin_of(*a.model).file) + ")";
  } else if (cannot_run && result.proof && result.proof->proved) {
    result.reason = "proved from the files; nodes that cannot run: nothing was executed";
  } else if (cannot_run) {
    result.outcome = Outcome::inconclusive;
    result.reason = "nodes that cannot run: nothing was executed";
  } else if (!inputs_fit(result.interface)) {
    result.reason = "b cannot be given a's inputs: nothing was run";
  } else {
    return false;
  }
  return true;
}

void note_random_nodes(const Pair& pair, VerifyResult& result) {
  const auto random_a = random_nodes(pair.a.model->graph()), random_b = random_nodes(pair.b.model->graph());
  const auto note = [&](const std::vector<std::string>& labels, const std::string& where, const std::string& then) {
    if (labels.empty()) return;
    result.remarks.push_back(std::to_string(labels.size()) + (labels.size() == 1 ? " random node in " : " random nodes in ") + where +
                             " (" + labels.front() + (labels.size() > 1 ? " …" : "") + "): " + then);
  };
  constexpr const char* kPinned = "seeds are pinned by node name";
  if (random_a == random_b) return note(random_a, "both files", kPinned);
  note(random_a, pair.a.name, pair.a.name + " is not deterministic; " + kPinned);
  note(random_b, pair.b.name, pair.b.name + " is not deterministic; " + kPinned);
}

/// Whether b may compute in this floating-point type, or quantize to so many bits, as the user means it.
bool is_meant(DataType type, const VerifyOptions& options) {
  return options.precision != DataType::undefined &&
         (!is_measured(options.precision) || unit_roundoff(options.precision) >= unit_roundoff(type));
}
bool is_meant(int bits, const VerifyOptions& options) {
  return options.precision != DataType::undefined && !is_measured(options.precision) && traits(options.precision).bits <= bits;
}

/// What b does in coarser numbers than a and than is meant, as text; empty when nothing. Sets the type whose rounding the bounds allow.
std::string find_coarser(Pair& pair, VerifyResult& result) {
  if (pair.proved || !result.proof) return {};
  const VerifyOptions& options = *pair.options;
  const NarrowWork a = narrow_work(pair.a.model->graph()), b = narrow_work(pair.b.model->graph());
  const QuantizedWork quantized = quantized_work(pair.b.model->graph());
  pair.narrow = a.coarsest != DataType::undefined || b.coarsest != DataType::undefined;
  std::string refused;
  pair.quantized = is_coarser(quantized, quantized_work(pair.a.model->graph()));
  if (pair.quantized) {
    result.lossy = describe(quantized);
    if (options.precision != DataType::undefined && !is_meant(quantized.bits, options)) refused = result.lossy;
  }
  if (is_measured(options.precision) && (b.nodes > 0 || b.constants > 0)) pair.grain = options.precision;
  if (!is_coarser(b, a)) return refused;
  const std::string what = describe(b);
  result.lossy += (result.lossy.empty() ? "" : " and ") + (result.lossy.empty() ? what : what.substr(what.find(' ') + 1));
  if (!is_meant(b.coarsest, options)) {
    pair.grain = b.coarsest;
    if (!options.accept.is_given() || options.precision != DataType::undefined) refused = result.lossy;
    return refused;
  }
  if (!is_measured(options.precision)) pair.grain = b.coarsest;
  result.remarks.push_back(what + ": floors and bounds are those of " + std::string(name_of(pair.grain)));
  return refused;
}

std::string option_of(DataType type) {
  return type == DataType::float16 ? "--precision fp16" : type == DataType::bfloat16 ? "--precision bf16" : "";
}

/// Inputs and a's outputs, as --data reads them.
void save_samples(const Pair& pair, const Reference& reference) {
  std::vector<std::string> input_names, output_names;
  for (const Port& port : required_inputs(pair.a.model->graph())) input_names.push_back(port.name);
  for (const Port& port : pair.a.outputs) output_names.push_back(port.name);
  for (std::size_t s = 0; s < reference.samples().size(); ++s) {
    const Inputs made = reference.inputs_of(s);
    std::vector<Datum> inputs, outputs;
    for (const std::string& name : input_names) inputs.push_back(made.at(name));
    for (std::size_t i = 0; i < reference.output_count(); ++i) outputs.push_back(reference.value(i, s));
    save_data_set(pair.options->save_data, reference.samples()[s].number, inputs, outputs, input_names, output_names);
  }
}

/// The reference ran nothing: the meaning depends on where the inputs come from.
void report_rejection(const Pair& pair, const Reference& reference, VerifyResult& result) {
  const std::string why = escape(pair.a.name) + ": " + reference.rejection();
  if (reference.inputs().any_from_files()) fail(ErrorKind::invalid, why);
  const auto guessed = reference.inputs().dims().guessed();
  if (!guessed.empty()) {
    fail(ErrorKind::usage, "no size for dimension " + quote(guessed.front()) + " was found that the model takes; " + why,
         "--dim NAME=… or --shape INPUT=… gives it");
  }
  result.outcome = Outcome::inconclusive;
  result.reason = "the reference cannot run: " + why;
}

void report_repeatability(const Pair& pair, const Reference& reference, VerifyResult& result) {
  if (reference.unrepeatable().empty()) return;
  const std::string what = "output " + quote(reference.unrepeatable()) + " of " + escape(pair.a.name) + " differs between two runs";
  if (random_nodes(pair.a.model->graph()).empty()) {
    result.defect = "not deterministic: " + what;
  } else {
    result.remarks.push_back(what + ", as its random nodes explain");
  }
}

/// Takes the place of ill-conditioned samples by ones of smaller inputs, as far as the model has well-conditioned ones.
void add_milder_samples(const Pair& pair, Reference& reference, Floors& floors, VerifyResult& result) {
  if (pair.proved || !reference.inputs().can_be_milder()) return;
  const int wanted = static_cast<int>(reference.samples().size());
  for (const double deviation : rules::kMildDeviations) {
    const int before = floors.well_conditioned();
    if (before >= wanted) return;
    // One tells whether more of this kind would help.
    reference.run(1, deviation);
    floors.measure();
    if (floors.well_conditioned() == before) continue;
    if (wanted > before + 1) reference.run(wanted - before - 1, deviation);
    floors.measure();
  }
  if (floors.well_conditioned() == 0) {
    result.remarks.emplace_back(
        "every sample is ill-conditioned, those of small inputs too: the outputs alone cannot show that the models are the same");
  }
}

std::string place_of(const Pair& pair, const Reference& reference, std::size_t output, std::size_t sample) {
  return "output " + quote(pair.a.outputs[output].name) + ", sample " + std::to_string(reference.samples()[sample].number);
}

constexpr const char* kChoice = ", though no node alone differs: a choice among nearly equal numbers falls either way";

/// The reference in double precision is far from the one as written: a defect only where a node alone errs, fed the values as written.
void explain_suspicions(const Pair& pair, const Reference& reference, const Floors& floors, VerifyResult& result) {
  for (const Floors::Suspicion& suspicion : floors.suspicions()) {
    if (!result.defect.empty()) return;
    const std::string& output = pair.a.outputs[suspicion.output].name;
    const auto layer = erring_node(pair, pair.a, reference, suspicion.sample, Mode::reference);
    if (!layer) {
      result.remarks.push_back(place_of(pair, reference, suspicion.output, suspicion.sample) + ": double precision lies " +
                               short_number(suspicion.error) + " of the range away" + kChoice);
      return;
    }
    result.defect = "as written and double-precision reference disagree on output " + quote(output) + " of " + escape(pair.a.name) +
                    " by " + short_number(suspicion.error) + " of its range, and node " + quote(layer->node) + " (" +
                    escape(layer->op_type) + ") alone by " + (layer->bound > 0 ? short_number(layer->error) : layer->reason) +
                    ", more than any rounding explains";
  }
}

/// The candidate's figures into the result.
void take_figures(const Pair& pair, const Reference& reference, Candidate& candidate, VerifyResult& result) {
  const bool varied = !reference.inputs().all_from_files() && !pair.a.model->graph().inputs().empty() && reference.samples().size() > 1;
  for (std::size_t i = 0; i < reference.output_count(); ++i) {
    OutputComparison& output = result.outputs[i];
    output.samples = candidate.figures(i);
    output.hint = candidate.hints()[i];
    if (!candidate.contradictions()[i].empty()) {
      output.outcome = Outcome::different;
      output.reason = candidate.contradictions()[i];
    }
    sum_up(output, reference.output(i), varied, pair.proved);
  }
  if (candidate.rejection().empty()) return;
  result.outcome = Outcome::different;
  result.reason = "the reference runs, the candidate does not: " + escape(pair.b.name) + ": " + candidate.rejection();
}

bool is_different(const VerifyResult& result) {
  const auto differs = [](const OutputComparison& output) { return output.outcome == Outcome::different; };
  return result.outcome == Outcome::different || std::ranges::any_of(result.outputs, differs);
}

std::vector<std::string> output_names(const Pair& pair) {
  std::vector<std::string> names;
  for (const Port& port : pair.b.outputs) names.push_back(port.name);
  return names;
}

bool differs(const LayerResult& layer) {
  return layer.outcome == Outcome::different;
}

/// Outputs that differ where a result that jumps stands upstream, though each node alone makes what the original makes: the same in every
/// sample that differs so.
void acquit_choices(const Pair& pair, const Reference& reference, Candidate& candidate, VerifyResult& result) {
  bool acquitted = false;
  for (std::size_t s = 0; s < reference.samples().size(); ++s) {
    std::vector<std::size_t> outputs;
    for (std::size_t i = 0; i < reference.output_count(); ++i) {
      if (s < candidate.figures(i).size() && candidate.figures(i)[s].outcome == Outcome::different) outputs.push_back(i);
    }
    if (outputs.empty()) continue;
    const auto may_jump = [&](std::size_t i) {
      return depends_on_choice(*pair.b.model->graph().outputs()[*candidate.place_of(i)]) && candidate.contradictions()[i].empty();
    };
    if (!std::ranges::all_of(outputs, may_jump)) return;
    const auto layers = compare_nodes(pair, reference, s, result.proof ? &*result.proof : nullptr, Feeding::exact);
    if (std::ranges::any_of(layers, differs) || !covers(layers, output_names(pair))) return;
    for (const std::size_t i : outputs) {
      result.remarks.push_back(place_of(pair, reference, i, s) + ": b lies " + short_number(candidate.figures(i)[s].max_error) +
                               " of the range away" + kChoice);
      candidate.figures(i)[s].outcome = Outcome::same;
      acquitted = true;
    }
  }
  if (!acquitted) return;
  for (OutputComparison& output : result.outputs) {
    output.outcome = Outcome::same;
    output.reason.clear();
  }
  take_figures(pair, reference, candidate, result);
}

/// The nodes behind a difference of the outputs.
void name_wrong_nodes(const Pair& pair, const Reference& reference, const Candidate& candidate, VerifyResult& result) {
  const auto sample = candidate.first_different();
  if (!sample) return;
  const Feeding feeding = pair.options->layers ? Feeding::by_depth : Feeding::exact;
  auto layers = compare_nodes(pair, reference, *sample, result.proof ? &*result.proof : nullptr, feeding);
  // Where something unexplained accounts for the difference, the nodes that differ without it are other values under an old name.
  const auto is_touched = [](const LayerResult& layer) { return differs(layer) && !layer.unexplained.empty(); };
  if (std::ranges::any_of(layers, is_touched)) {
    for (LayerResult& layer : layers) layer.outcome = is_touched(layer) ? Outcome::different : Outcome::same;
  }
  for (LayerResult& layer : layers) {
    if (pair.options->layers || differs(layer)) result.layers.push_back(std::move(layer));
  }
}

void convict(VerifyResult& result, const LayerResult& layer) {
  if (result.outcome == Outcome::different) return;
  result.outcome = Outcome::different;
  result.reason =
      "node " + quote(layer.node) + " (" + escape(layer.op_type) + "): fed a's values, it gives a different result (" +
      (layer.bound > 0 && layer.error > layer.bound ? short_number(layer.error) + ", floor " + short_number(layer.floor) : layer.reason) +
      "), which the outputs hide (--outputs-only judges them alone)";
}

/// Elements that fall to the neighbouring step because rounding puts them on the other side of a boundary: counted, with the node of most.
void note_flips(const Reference& reference, std::size_t sample, const std::vector<LayerResult>& layers, VerifyResult& result) {
  int64_t flips = 0;
  const LayerResult* most = nullptr;
  for (const LayerResult& layer : layers) {
    flips += layer.flips;
    if (layer.flips > 0 && (most == nullptr || layer.flips > most->flips)) most = &layer;
  }
  if (most == nullptr) return;
  result.remarks.push_back("sample " + std::to_string(reference.samples()[sample].number) + ": " + format_count(flips) +
                           (flips == 1 ? " element falls" : " elements fall") + " to the neighbouring step by rounding, most of " +
                           quote(most->node) + " (" + escape(most->op_type) + ")");
}

/// Judges what the proof leaves unexplained at its nodes; returns whether that vouches for the outputs.
bool judge_unexplained(const Pair& pair, const Reference& reference, VerifyResult& result) {
  const ProofResult* const proof = result.proof ? &*result.proof : nullptr;
  const bool wanted = proof != nullptr && !pair.proved && !pair.options->outputs_only;
  if (!wanted && !pair.options->layers) return false;
  bool vouches = wanted;
  const std::size_t samples = std::min<std::size_t>(wanted ? rules::kLayerSamples : 1, reference.samples().size());
  for (std::size_t s = 0; s < samples; ++s) {
    const bool listed = pair.options->layers && s == 0;
    std::vector<LayerResult> layers = compare_nodes(pair, reference, s, proof, listed ? Feeding::by_depth : Feeding::exact);
    vouches = vouches && covers(layers, output_names(pair)) && std::ranges::none_of(layers, differs);
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

/// A constant alone that differs by more than rounding, and whose nodes stay within their floors over all samples.
bool is_hidden(const UnexplainedCheck& check, const ProofResult& proof) {
  const Unexplained& entry = proof.unexplained[check.entry];
  return check.outcome == Outcome::same && check.alone && !check.acquitted && is_constant(entry) && entry.values > 0 &&
         entry.largest > rules::kRoundedConstant;
}

/// Such constants are judged with values beside those of the samples, where no operand is always zero or small; nothing was tested where
/// neither those values nor the samples feel them.
void judge_hidden(const Pair& pair, const Reference& reference, VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof) return;
  const ProofResult& proof = *result.proof;
  const auto hidden = [&](const UnexplainedCheck& check) { return is_hidden(check, proof); };
  if (std::ranges::none_of(result.checks, hidden)) return;
  const auto is_about_hidden = [&](std::size_t entry) {
    const auto found = std::ranges::find(result.checks, entry, &UnexplainedCheck::entry);
    return found != result.checks.end() && is_hidden(*found, proof);
  };
  std::vector<UnexplainedCheck> checks;
  for (LayerResult& layer : compare_nodes(pair, reference, 0, &proof, Feeding::shaken)) {
    if (std::ranges::none_of(layer.unexplained, is_about_hidden)) continue;
    check_unexplained(checks, {layer}, proof);
    if (!convicts(layer)) continue;
    if (result.outcome == Outcome::same) {
      result.outcome = Outcome::different;
      result.reason = "node " + quote(layer.node) + " (" + escape(layer.op_type) +
                      "): " + proof.unexplained[layer.unexplained.front()].text + "; no sample shows it, values beside theirs do";
    }
    result.layers.push_back(std::move(layer));
  }
  for (UnexplainedCheck& check : result.checks) {
    if (!is_hidden(check, proof)) continue;
    const auto found = std::ranges::find(checks, check.entry, &UnexplainedCheck::entry);
    if (found != checks.end() && found->outcome == Outcome::different) {
      check = *found;
    } else if (!check.felt && result.outcome == Outcome::same) {
      result.outcome = Outcome::inconclusive;
      result.reason = "node " + quote(check.node) + " (" + escape(check.op_type) + "): " + proof.unexplained[check.entry].text +
                      ", and no sample reaches that (--samples N makes more, --input gives your own)";
    }
  }
}

/// Fused attentions take masks to be as tokenizers make them. That they give other results for masks with holes is worth a remark.
void note_masks_with_holes(const Pair& pair, const InputMaker& inputs, const Reference& reference, const Floors& floors,
                           const Candidate& candidate, VerifyResult& result) {
  const Inputs holes = inputs.make_with_holes(reference.samples().front().assignment);
  pair.steps->expect(2);
  pair.steps->next("masks with holes");
  const Session::Run a = pair.open(pair.a, pair.execute_options(Mode::as_written))->run(holes);
  pair.steps->next("masks with holes");
  const Session::Run b = pair.open(pair.b, pair.execute_options(Mode::as_written))->run(holes);
  if (!a.rejected.empty() || !b.rejected.empty()) return;
  for (std::size_t i = 0; i < reference.output_count(); ++i) {
    const auto place = candidate.place_of(i);
    if (!place || !structural_difference(a.outputs[i], b.outputs[*place]).empty()) continue;
    Yardstick yardstick;
    yardstick.add(a.outputs[i]);
    SampleMetrics metrics = measure(a.outputs[i], b.outputs[*place], yardstick);
    decide(metrics, pair.type_of_floor(reference.output(i).type()), floors.of(i, 0));
    if (metrics.outcome != Outcome::different) continue;
    result.remarks.push_back("output " + quote(reference.output(i).name()) + " differs for masks with holes, as no tokenizer makes them (" +
                             short_number(metrics.max_error) + " of the range)");
  }
}

/// Outputs whose values show nothing (a head that starts at zero) are the same where node by node everything unexplained is.
void trust_nodes(const Reference& reference, VerifyResult& result) {
  for (std::size_t i = 0; i < reference.output_count(); ++i) {
    OutputComparison& output = result.outputs[i];
    if (output.outcome != Outcome::inconclusive || !reference.output(i).holds_values()) continue;
    result.remarks.push_back("output " + quote(output.name) + " shows nothing (" + output.reason +
                             "), but node by node b makes what a makes");
    output.outcome = Outcome::same;
    output.reason.clear();
  }
}

/// Outputs over which every sample is ill-conditioned show nothing unless their nodes, or the proof, vouch for them.
void doubt_ill_conditioned(bool vouched, VerifyResult& result) {
  for (OutputComparison& output : result.outputs) {
    const auto is_ill = [](const SampleMetrics& metrics) { return metrics.ill_conditioned; };
    if (vouched || output.outcome != Outcome::same || output.samples.empty() || !std::ranges::all_of(output.samples, is_ill)) continue;
    output.outcome = Outcome::inconclusive;
    output.reason = "ill-conditioned: the floor is " + short_number(output.floor) + " of the range in every sample";
  }
}

/// Whether an optimized run is within the bound of what the file gives as written: how far that is from the reference is not the
/// executor's doing.
bool is_error_of_the_file(const SampleMetrics& optimized, const SampleMetrics& written) {
  if (optimized.nan_b > 0 || optimized.infinite_mismatches > 0 || !(optimized.bound_max > 0)) return false;
  return optimized.max_error <= optimized.bound_max + written.max_error && optimized.rms_error <= optimized.bound_rms + written.rms_error;
}

/// Right as written, but not optimized: a defect only against a node that errs alone.
void check_optimized(const Pair& pair, const Reference& reference, Floors& floors, Candidate& written, VerifyResult& result) {
  Candidate optimized(pair, reference, floors, Mode::optimized);
  optimized.run();
  result.seconds_b += optimized.seconds();
  if (!optimized.rejection().empty()) {
    result.defect = "right as written, cannot run optimized: " + escape(pair.b.name) + ": " + optimized.rejection();
    return;
  }
  optimized.settle();
  for (std::size_t i = 0; i < reference.output_count(); ++i) {
    for (std::size_t s = 0; s < optimized.figures(i).size() && result.defect.empty(); ++s) {
      const SampleMetrics& metrics = optimized.figures(i)[s];
      if (metrics.outcome != Outcome::different || is_error_of_the_file(metrics, written.figures(i)[s])) continue;
      const auto layer = erring_node(pair, pair.b, reference, s, Mode::optimized);
      if (!layer) {
        result.remarks.push_back(place_of(pair, reference, i, s) + ": optimized execution lies " + short_number(metrics.max_error) +
                                 " of the range away" + kChoice);
        return;
      }
      result.defect = escape(pair.b.name) + " is right as written, but not optimized: " + place_of(pair, reference, i, s) + ": " +
                      metrics.reason + "; node " + quote(layer->node) + " (" + escape(layer->op_type) + ") alone: " +
                      (layer->bound > 0 ? short_number(layer->error) + ", floor " + short_number(layer->floor) : layer->reason);
    }
  }
}

/// Elements that are NaN in both are equal and tell nothing of what b computes.
void note_nan_in_both(VerifyResult& result) {
  for (const OutputComparison& output : result.outputs) {
    int64_t both = 0, elements = 0;
    for (const SampleMetrics& metrics : output.samples) both += metrics.nan_both, elements += metrics.sums.elements;
    if (both == 0) continue;
    result.remarks.push_back("output " + quote(output.name) + ": " + format_count(both) + " of " + format_count(elements) +
                             (both == 1 ? " elements is NaN in both" : " elements are NaN in both"));
  }
}

/// b computes in a coarser type than a, and --precision does not allow it.
void refuse_coarser(const Pair& pair, const std::string& coarser, VerifyResult& result) {
  if (coarser.empty()) return;
  const bool within = !is_different(result);
  const std::string option = option_of(pair.grain);
  const std::string type(name_of(pair.grain));
  result.outcome = Outcome::different;
  std::string why = coarser;
  if (pair.grain == DataType::undefined) {
    why += ", coarser than --precision means";
  } else if (within) {
    why += "; within the floor of " + type + (option.empty() ? "" : ": " + option + " accepts");
  }
  if (within || result.reason.empty()) {
    result.reason = why;
  } else {
    result.remarks.push_back(why);
  }
}

/// Of a difference that is a loss: how large it is, and how to take it.
void say_loss(const Pair& pair, VerifyResult& result) {
  if (result.lossy.empty() || !is_different(result) || !result.reason.empty()) return;
  result.reason = result.lossy + ": " + describe_loss(result);
  if (!pair.options->accept.is_given()) result.reason += " (--accept snr=…,top1=… takes a loss)";
}

void mark_missing(const Pair& pair, const InterfaceDifference& difference, VerifyResult& result) {
  if (difference.field != "missing" && difference.field != "renamed") return;
  for (OutputComparison& output : result.outputs) {
    if (output.name != difference.name) continue;
    output.outcome = Outcome::different;
    output.reason =
        difference.field == "missing" ? "missing in " + escape(pair.b.name) : "named " + quote(difference.b) + " in " + escape(pair.b.name);
  }
}

/// The verdict over everything.
void conclude(const Pair& pair, VerifyResult& result) {
  for (const InterfaceDifference& difference : result.interface) {
    if (!difference.remark) result.outcome = Outcome::different;
    if (difference.side == "output" && !difference.remark) mark_missing(pair, difference, result);
  }
  for (OutputComparison& output : result.outputs) {
    if (output.samples.empty() && output.outcome == Outcome::same) {
      output.outcome = Outcome::inconclusive;
      output.reason = "not compared";
    }
    if (output.outcome == Outcome::different) result.outcome = Outcome::different;
    if (output.outcome == Outcome::inconclusive && result.outcome != Outcome::different) result.outcome = Outcome::inconclusive;
  }
}

void list_outputs(const Pair& pair, VerifyResult& result) {
  for (const Port& port : pair.a.outputs) {
    OutputComparison& output = result.outputs.emplace_back();
    output.name = port.name;
    output.type = tensor_port(port).type;
    output.shape = port.kind == Datum::Kind::tensor ? shape_text(port) : type_text(port);
  }
}

/// Samples to begin with: all files of a folder, where one is given.
int planned_samples(const Pair& pair, const InputMaker& inputs) {
  if (inputs.is_always_the_same()) return 1;
  const int files = inputs.given().in_folders(), wanted = pair.options->samples;
  if (files > 0 && wanted > files) {
    fail(ErrorKind::usage, "--samples " + std::to_string(wanted) + ": " +
                               escape(inputs.given().paths(0).begin()->second.parent_path().string()) + " has " + std::to_string(files) +
                               (files == 1 ? " file" : " files"));
  }
  if (wanted > 0) return wanted;
  if (files > 0) return files;
  return pair.proved ? rules::kSamplesOfProved : rules::kSamples;
}

void execute(Pair& pair, VerifyResult& result) {
  const LibraryInfo library = onednn_info();
  result.onednn = library.version;
  result.isa = library.isa;
  list_outputs(pair, result);
  note_random_nodes(pair, result);
  const std::string coarser = find_coarser(pair, result);
  const Graph &a = pair.a.model->graph(), &b = pair.b.model->graph();
  InputLimits limits{pair.narrow, {}};
  if (pair.quantized) limits.ranges = ranges_of_inputs(b);
  InputMaker inputs(a, *pair.options, pair.proved ? nullptr : &b, limits, bound_dims(a, b, *pair.options));

  const int samples = planned_samples(pair, inputs);
  inputs.prepare(samples);
  Reference reference(pair, inputs);
  reference.run(samples);
  result.inputs = reference.tried();
  if (reference.samples().empty()) return report_rejection(pair, reference, result);
  report_repeatability(pair, reference, result);
  if (!pair.options->save_data.empty()) save_samples(pair, reference);

  Floors floors(pair, reference);
  floors.measure();
  if (!pair.proved) floors.join_reference(0, 1);
  add_milder_samples(pair, reference, floors, result);
  result.inputs = reference.tried();
  result.samples = static_cast<int>(reference.samples().size());

  Candidate candidate(pair, reference, floors, Mode::as_written);
  candidate.run();
  candidate.settle();
  take_figures(pair, reference, candidate, result);
  result.seconds_b += candidate.seconds();
  explain_suspicions(pair, reference, floors, result);
  if (is_different(result) && candidate.rejection().empty()) acquit_choices(pair, reference, candidate, result);

  if (is_different(result)) {
    name_wrong_nodes(pair, reference, candidate, result);
  } else {
    const bool vouched = judge_unexplained(pair, reference, result);
    if (!pair.options->outputs_only) judge_hidden(pair, reference, result);
    doubt_ill_conditioned(vouched || pair.proved, result);
    if (vouched) trust_nodes(reference, result);
    const bool may_fuse_masks = !pair.proved && inputs.makes_padding();
    if (may_fuse_masks && !is_different(result)) note_masks_with_holes(pair, inputs, reference, floors, candidate, result);
    const auto is_remark = [](const InterfaceDifference& difference) { return difference.remark; };
    if (!is_different(result) && std::ranges::all_of(result.interface, is_remark)) {
      check_optimized(pair, reference, floors, candidate, result);
    }
  }
  for (OutputComparison& output : result.outputs) output.loss = loss_of(output);
  const bool by_node = pair.quantized && !pair.options->outputs_only && candidate.rejection().empty();
  if (by_node) result.losses = measure_quantization(pair, reference);
  if (candidate.rejection().empty()) apply_acceptance(pair.options->accept, result);
  refuse_coarser(pair, coarser, result);
  say_loss(pair, result);
  note_nan_in_both(result);
  result.reference_run = floors.has_reference(0);
  result.draws = floors.draws();
  result.seconds_a = reference.seconds();
  result.seconds_floor = floors.seconds();
}

}  // namespace

VerifyResult compare_models(Side a, Side b, const VerifyOptions& options, OpenSession open) {
  const auto start = std::chrono::steady_clock::now();
  Steps steps(options.progress);
  VerifyResult result = describe_run(a, b, options);
  read_files(a, b, options, result);
  Pair pair{std::move(a), std::move(b), &options, std::move(open), &steps};
  pair.proved = result.proof && result.proof->proved;
  if (!is_decided(pair.a, options, result)) execute(pair, result);
  conclude(pair, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  // Without their payloads: weights are read by one Session at a time.
  Side side_a = load_side(a, options.load, /*images_last=*/false);
  Side side_b = load_side(b, options.load, options.images_last);
  return compare_models(std::move(side_a), std::move(side_b), options);
}

}  // namespace relayout
