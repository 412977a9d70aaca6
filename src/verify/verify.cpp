// Compares two files: reads both, proves as much as the files show, and runs them stage by stage: the reference, its noise floors, the
// candidate as written, nodes with unexplained differences, the candidate optimized.
#include "relayout/verify.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/some_of.h"
#include "base/text.h"
#include "layout/graph_shapes.h"
#include "model/origin.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/declared_types.h"
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
#include "verify/coarser_work.h"
#include "verify/compare_models.h"
#include "verify/data_structure.h"
#include "verify/error_bounds.h"
#include "verify/floors.h"
#include "verify/identical.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
#include "verify/inputs/save_data.h"
#include "verify/interface.h"
#include "verify/judge.h"
#include "verify/measured_types.h"
#include "verify/metrics.h"
#include "verify/node_verdict.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/pair.h"
#include "verify/quantizer.h"
#include "verify/reference.h"
#include "verify/rules.h"
#include "verify/session.h"
#include "verify/yardstick.h"

namespace relayout {
namespace {

/// Removes the nodes that `convert --io nhwc` added after inputs and before outputs (exact pairs of dims and a Transpose, see
/// passes/export_io.cpp), so that both models take images in the original order.
void take_images_contiguous(Model& model) {
  passes::PassContext context;
  context.options.layout = WeightsLayout::contiguous;
  const passes::Pass* const pass = passes::find_pass("export-io");
  passes::run_passes(model, std::span(&pass, 1), context);
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
  result.threads = threads_or_all(options.threads);
  if (!options.digests) return result;
  if (origin_of(*a.model).file) result.sha256_a = sha256_of(*origin_of(*a.model).file);
  if (origin_of(*b.model).file) result.sha256_b = sha256_of(*origin_of(*b.model).file);
  return result;
}

/// Remarks on initializers that callers of a may replace, as they are also inputs, and callers of b may not. Before IR version 4, all are
/// inputs.
void note_lost_defaults(const Model& a, const Model& b, VerifyResult& result) {
  if (a.ir_version() < 4) return;
  std::vector<std::string> lost;
  for (const std::string& name : defaulted_inputs(a.graph())) {
    const auto has_it = [&](const Value* input) { return input->name() == name; };
    if (std::ranges::none_of(b.graph().inputs(), has_it)) lost.push_back(name);
  }
  if (lost.empty()) return;
  result.remarks.push_back(counted(std::ssize(lost), "input") + " with a default cannot be given to B: " + some_of(lost, 3, quote));
}

/// Compares the interfaces and runs the proof. From here on both models are known to be valid.
void read_files(const Side& a, Side& b, const VerifyOptions& options, VerifyResult& result) {
  const Graph& graph = a.model->graph();
  result.interface = take_names(graph, *b.model, options);
  const bool renamed = !result.interface.empty();
  std::vector<InterfaceDifference> differences = compare_interfaces(graph, b.model->graph());
  adapt(graph, *b.model, options, differences);
  note_lost_defaults(*a.model, *b.model, result);
  result.interface.insert(result.interface.end(), differences.begin(), differences.end());
  b.outputs = output_ports(b.model->graph());
  result.unsupported_a = Executor::unsupported(a.model->graph());
  result.unsupported_b = Executor::unsupported(b.model->graph());
  result.identical = !renamed && are_identical(*a.model, *b.model);
  if (!result.identical) result.proof = prove(*a.model, *b.model, {.digests = false, .threads = options.threads});
}

/// Refuses names, sizes and files given by the caller that do not fit, even if nothing runs.
void check_inputs(const Side& a, const VerifyOptions& options) {
  if (options.inputs.empty() && options.dims.empty() && options.shapes.empty()) return;
  InputMaker inputs(a.model->graph(), options, nullptr, {false, {}, true});
  inputs.prepare(std::max(inputs.given().in_folders(), 1));
}

/// " ('image': rank is 3 [3, 8, 8], was 4 [1, 3, 8, 8])": the first input that prevents b from running.
std::string misfits_of(const std::vector<InterfaceDifference>& differences) {
  for (const InterfaceDifference& one : differences) {
    if (inputs_fit({one})) continue;
    if (one.field == "missing") return " (" + quote(one.name) + " is missing in it)";
    if (one.field == "added") return " (" + quote(one.name) + " is in B alone)";
    return " (" + quote(one.name) + ": " + one.field + " is " + one.b + ", was " + one.a + ")";
  }
  return {};
}

/// Whether nothing has to run; sets outcome and reason.
bool is_decided(const Side& a, const VerifyOptions& options, VerifyResult& result) {
  const bool cannot_run = !result.unsupported_a.empty() || !result.unsupported_b.empty();
  if (result.identical && (cannot_run || !options.run_identical)) {
    check_declared_types(*a.model);  // models that run are checked when they are planned
    result.reason = "identical files (sha256 " + sha256_of(*origin_of(*a.model).file) + ")";
  } else if (a.model->graph().outputs().empty()) {
    result.outcome = Outcome::inconclusive;
    result.reason = escape(a.name) + " has no outputs: there is nothing to compare";
  } else if (cannot_run && result.proof && result.proof->proved) {
    result.reason = "proved from the files; nodes that cannot run: nothing was executed";
  } else if (cannot_run) {
    result.outcome = Outcome::inconclusive;
    result.reason = "nodes that cannot run: nothing was executed";
  } else if (!inputs_fit(result.interface)) {
    result.reason = "B cannot be given A's inputs" + misfits_of(result.interface) + ": nothing was run";
  } else {
    return false;
  }
  return true;
}

void note_random_nodes(const Pair& pair, VerifyResult& result) {
  const auto random_a = random_nodes(pair.a.model->graph()), random_b = random_nodes(pair.b.model->graph());
  const auto note = [&](const std::vector<std::string>& labels, const std::string& where, const std::string& then) {
    if (labels.empty()) return;
    result.remarks.push_back(counted(std::ssize(labels), "random node") + " in " + where + " (" + labels.front() +
                             (labels.size() > 1 ? " …" : "") + "): " + then);
  };
  constexpr const char* kPinned = "seeds are pinned by node name";
  if (random_a == random_b) return note(random_a, "both files", kPinned);
  note(random_a, pair.a.name, pair.a.name + " is not deterministic; " + kPinned);
  note(random_b, pair.b.name, pair.b.name + " is not deterministic; " + kPinned);
}

/// Saves inputs and a's outputs in the form that --data reads.
void save_samples(const Pair& pair, const Reference& reference) {
  std::vector<std::string> input_names, output_names;
  for (const Port& port : required_inputs(pair.a.model->graph())) input_names.push_back(port.name);
  for (const Port& port : pair.a.outputs) output_names.push_back(port.name);
  for (std::size_t s = 0; s < reference.samples().size(); ++s) {
    const Inputs& made = reference.inputs_of(s);
    std::vector<Datum> inputs, outputs;
    for (const std::string& name : input_names) inputs.push_back(made.at(name));
    for (std::size_t i = 0; i < reference.outputs().count(); ++i) outputs.push_back(reference.outputs().value(i, s));
    save_data_set(pair.options->save_data, reference.samples()[s].number, inputs, outputs, input_names, output_names);
  }
}

/// Reports that the reference ran no sample: the meaning depends on the source of the inputs.
void report_rejection(const Pair& pair, const Reference& reference, VerifyResult& result) {
  const std::string why = escape(pair.a.name) + ": " + reference.tried().front().rejected;
  if (reference.inputs().any_from_files()) fail(ErrorKind::invalid, why);
  reference.inputs().refuse_guesses(reference.tried().front().rejected);
  // No input can be right for dims that contradict each other as declared.
  const layout::Shapes shapes(pair.a.model->graph());
  if (!shapes.misfit().empty() && shapes.assumed().empty()) fail(ErrorKind::invalid, why, reference.inputs().ports().empty_input());
  const layout::Shapes requested(pair.a.model->graph(), {pair.options->dims, pair.options->shapes});
  if (!requested.misfit().empty() && requested.assumed().empty()) fail(ErrorKind::usage, why + ", at the sizes of --dim and --shape");
  result.outcome = Outcome::inconclusive;
  result.reason = "the reference cannot run: " + why;
  const std::string option = reference.inputs().input_option();
  if (shapes.misfit().empty() && !option.empty()) result.reason += " (" + option + " gives contents that it takes)";
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

/// Adds samples of smaller inputs in place of ill-conditioned ones, as long as these are well-conditioned.
void add_milder_samples(const Pair& pair, Reference& reference, Floors& floors, VerifyResult& result) {
  if (pair.proved || !reference.inputs().can_be_milder()) return;
  const int wanted = static_cast<int>(reference.samples().size());
  for (const double deviation : rules::kMildDeviations) {
    const int before = floors.well_conditioned();
    if (before >= wanted) return;
    // One sample shows whether more of this kind would help.
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

/// Explains runs in double precision far from the reference as written: a defect only if a node alone errs, fed the values as written.
void explain_suspicions(const Pair& pair, const Reference& reference, const Floors& floors, VerifyResult& result) {
  for (const Floors::Suspicion& suspicion : floors.suspicions()) {
    if (!result.defect.empty()) return;
    const std::string& output = pair.a.outputs[suspicion.output].name;
    const auto layer = erring_node(pair, pair.a, reference, suspicion.sample, Mode::reference);
    if (!layer) {
      result.remarks.push_back(place_of(pair, reference, suspicion.output, suspicion.sample) + ": double precision is " +
                               scientific(suspicion.error) + " of the range away" + kChoice);
      return;
    }
    result.defect = "as written and double-precision reference disagree on output " + quote(output) + " of " + escape(pair.a.name) +
                    " by " + scientific(suspicion.error) + " of its range, and node " + quote(layer->node) + " (" + escape(layer->op_type) +
                    ") alone by " + (layer->bound > 0 && layer->finite ? scientific(layer->error) : layer->reason) +
                    ", more than any rounding explains";
  }
}

/// Fused attentions expect masks as tokenizers write them. Different results for masks with holes are worth a remark.
void note_masks_with_holes(const Pair& pair, const InputMaker& inputs, const Reference& reference, const Floors& floors,
                           const Candidate& candidate, VerifyResult& result) {
  const Inputs holes = inputs.make_with_holes(reference.samples().front().assignment);
  pair.steps->expect(2);
  pair.steps->next("masks with holes");
  const Session::Run a = pair.open(pair.a, pair.execute_options(Mode::as_written))->run(holes);
  pair.steps->next("masks with holes");
  const Session::Run b = pair.open(pair.b, pair.execute_options(Mode::as_written))->run(holes);
  if (!a.rejected.empty() || !b.rejected.empty()) return;
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    const auto place = candidate.outputs()[i].place;
    if (!place || !structural_difference(a.outputs[i], b.outputs[*place]).empty()) continue;
    Yardstick yardstick;
    yardstick.add(a.outputs[i]);
    SampleMetrics metrics = measure(a.outputs[i], b.outputs[*place], yardstick);
    decide(metrics, pair.type_of_floor(reference.outputs().summary(i).type()), floors.of(i, 0));
    if (metrics.outcome != Outcome::different) continue;
    result.remarks.push_back("output " + quote(pair.a.outputs[i].name) + " differs for masks with holes, as no tokenizer makes them (" +
                             scientific(metrics.max_error) + " of the range)");
  }
}

/// Makes outputs inconclusive that are ill-conditioned in every sample, unless their nodes or the proof vouch for them.
void doubt_ill_conditioned(bool vouched, VerifyResult& result) {
  for (OutputComparison& output : result.outputs) {
    const auto is_ill = [](const SampleMetrics& metrics) { return metrics.ill_conditioned; };
    if (vouched || output.outcome != Outcome::same || output.samples.empty() || !std::ranges::all_of(output.samples, is_ill)) continue;
    output.outcome = Outcome::inconclusive;
    output.reason = "ill-conditioned: the floor is " + scientific(output.floor) + " of the range in every sample";
  }
}

/// Whether an optimized run is within its bound of the run as written, whose distance from the reference is not the executor's error.
bool is_error_of_the_file(const SampleMetrics& optimized, const SampleMetrics& written) {
  if (optimized.non_finite.nan_b > 0 || optimized.non_finite.infinite > 0 || !(optimized.bound.max > 0)) return false;
  return optimized.max_error <= optimized.bound.max + written.max_error && optimized.rms_error <= optimized.bound.rms + written.rms_error;
}

/// Copies the candidate's figures into the result.
void take_figures(const Pair& pair, const Reference& reference, const Candidate& candidate, VerifyResult& result) {
  const bool varied = !reference.inputs().all_from_files() && !pair.a.model->graph().inputs().empty() && reference.samples().size() > 1;
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    OutputComparison& output = result.outputs[i];
    output.samples = candidate.outputs()[i].figures;
    output.hint = candidate.outputs()[i].hint;
    if (!candidate.outputs()[i].contradiction.empty()) {
      output.outcome = Outcome::different;
      output.reason = candidate.outputs()[i].contradiction;
    }
    sum_up(output, reference.outputs().summary(i), varied, pair.proved);
  }
  if (candidate.rejection().empty()) return;
  result.outcome = Outcome::different;
  result.reason = "the reference runs, the candidate does not: " + escape(pair.b.name) + ": " + candidate.rejection();
}

/// Number of samples for optimized execution: if all have the same sizes, the first suffices, as it shows the plan.
std::size_t samples_of_optimized(const Reference& reference) {
  const std::vector<Sample>& samples = reference.samples();
  const auto has_first_size = [&](const Sample& sample) { return sample.assignment.shapes == samples.front().assignment.shapes; };
  return std::ranges::all_of(samples, has_first_size) ? 1 : samples.size();
}

/// Checks optimized execution of a model that is right as written: a difference is a defect only if a node errs alone.
void check_optimized(const Pair& pair, const Reference& reference, Floors& floors, const Candidate& written, VerifyResult& result) {
  Candidate optimized(pair, reference, floors, Mode::optimized);
  optimized.run(samples_of_optimized(reference));
  result.seconds_b += optimized.seconds();
  if (!optimized.rejection().empty()) {
    result.defect = "right as written, cannot run optimized: " + escape(pair.b.name) + ": " + optimized.rejection();
    return;
  }
  settle(pair, reference, floors, optimized);
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    for (std::size_t s = 0; s < optimized.outputs()[i].figures.size() && result.defect.empty(); ++s) {
      const SampleMetrics& metrics = optimized.outputs()[i].figures[s];
      if (metrics.outcome != Outcome::different || is_error_of_the_file(metrics, written.outputs()[i].figures[s])) continue;
      const auto layer = erring_node(pair, pair.b, reference, s, Mode::optimized);
      if (!layer) {
        result.remarks.push_back(place_of(pair, reference, i, s) + ": optimized execution is " + scientific(metrics.max_error) +
                                 " of the range away" + kChoice);
        return;
      }
      result.defect =
          escape(pair.b.name) + " is right as written, but not optimized: " + place_of(pair, reference, i, s) + ": " + metrics.reason +
          "; node " + quote(layer->node) + " (" + escape(layer->op_type) + ") alone: " +
          (layer->bound > 0 && layer->finite ? scientific(layer->error) + ", floor " + scientific(layer->floor.max) : layer->reason);
    }
  }
}

/// Remarks on elements that are NaN in both: they are equal and show nothing of b's computation.
void note_nan_in_both(VerifyResult& result) {
  for (const OutputComparison& output : result.outputs) {
    int64_t both = 0, elements = 0;
    for (const SampleMetrics& metrics : output.samples) both += metrics.non_finite.nan_both, elements += metrics.sums.elements;
    if (both == 0) continue;
    result.remarks.push_back("output " + quote(output.name) + ": " + format_count(both) + " of " + counted(elements, "element") +
                             (both == 1 ? " is" : " are") + " NaN in both");
  }
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

/// Sets the verdict from interface and outputs.
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

/// Remarks on inputs within the ranges of b's quantizers: such samples cannot show that a range is too small.
void note_held_inputs(const Pair& pair, const std::map<std::string, Bounds>& ranges, VerifyResult& result) {
  const auto bound = [](double value) { return exact_number(static_cast<double>(static_cast<float>(value))); };
  for (const auto& [name, range] : ranges) {
    if (pair.options->inputs.contains(name)) continue;
    result.remarks.push_back("input " + quote(name) + ": samples are between " + bound(range.lowest) + " and " + bound(range.highest) +
                             ", the range of B's quantizer (--input gives your own)");
  }
}

/// Whether the proof leaves only elements of floating-point constants open, each of which differs by at most `largest`, relatively.
bool is_proved_but_for_constants(const Pair& pair, const ProofResult& proof, double largest) {
  using Kind = Unexplained::Kind;
  const Graph& b = pair.b.model->graph();
  return std::ranges::all_of(proof.unexplained, [&](const Unexplained& entry) {
    const bool is_tensor = entry.kind == Kind::weight || entry.kind == Kind::bias || entry.kind == Kind::tensor;
    const Value* const value = is_tensor && !entry.in_first && entry.values > 0 ? b.find(entry.name) : nullptr;
    return value != nullptr && is_measured(Constants().type_of(*value)) && entry.largest <= largest;
  });
}

/// Number of samples if the proof leaves something open. For constants that nearly agree, the samples whose nodes are compared one by one
/// suffice: more would repeat the same steps. If constants differ more, the loss over all samples is of interest.
int samples_for(const Pair& pair, const ProofResult& proof) {
  if (is_proved_but_for_constants(pair, proof, rules::kRoundedConstant)) return rules::kSamplesOfProved;
  const bool is_f32 = pair.narrow == DataType::undefined && !pair.quantized;
  const bool has_nodes = is_f32 && !pair.options->outputs_only;
  return has_nodes && is_proved_but_for_constants(pair, proof, rules::kNearConstant) ? rules::kLayerSamples : rules::kSamples;
}

/// Number of samples to begin with: without --samples, all files of a folder, if one is given.
int planned_samples(const Pair& pair, const InputMaker& inputs, const VerifyResult& result) {
  if (inputs.is_always_the_same()) return 1;
  const int files = inputs.given().in_folders(), wanted = pair.options->samples;
  if (files > 0 && wanted > files) {
    fail(ErrorKind::usage, "--samples " + std::to_string(wanted) + ": " +
                               escape(inputs.given().paths(0).begin()->second.parent_path().string()) + " has " + counted(files, "file"));
  }
  if (wanted > 0) return wanted;
  if (files > 0) return files;
  return result.proof ? samples_for(pair, *result.proof) : rules::kSamples;
}

/// Runs b as written, which is authoritative. For a proved pair, the optimized run alone is enough if it agrees.
std::unique_ptr<Candidate> run_candidate(const Pair& pair, const Reference& reference, Floors& floors, VerifyResult& result) {
  const auto run = [&](Mode mode) {
    auto candidate = std::make_unique<Candidate>(pair, reference, floors, mode);
    candidate->run(reference.samples().size());
    settle(pair, reference, floors, *candidate);
    result.seconds_b += candidate->seconds();
    return candidate;
  };
  const bool by_tolerance = pair.options->rtol || pair.options->atol;
  if (pair.proved && !by_tolerance) {
    auto optimized = run(Mode::optimized);
    if (optimized->agrees_wholly()) return optimized;
  }
  return run(Mode::as_written);
}

void execute(Pair& pair, VerifyResult& result) {
  const LibraryInfo library = onednn_info();
  result.onednn = library.version;
  result.isa = library.isa;
  list_outputs(pair, result);
  note_random_nodes(pair, result);
  const std::string coarser = find_coarser(pair, result);
  const Graph &a = pair.a.model->graph(), &b = pair.b.model->graph();
  InputLimits limits{pair.narrow != DataType::undefined || pair.quantized, {}, true};
  if (pair.quantized) {
    limits.ranges = ranges_of_inputs(b);
    note_held_inputs(pair, limits.ranges, result);
  }
  InputMaker inputs(a, *pair.options, pair.proved ? nullptr : &b, limits, bound_dims(a, b, *pair.options));

  if (const std::string empty = inputs.ports().empty_input(); !empty.empty()) result.remarks.push_back(empty);
  for (const std::string& remark : inputs.given().remarks()) result.remarks.push_back(remark);
  const int samples = planned_samples(pair, inputs, result);
  inputs.prepare(samples);
  Reference reference(pair, inputs);
  reference.run(samples);
  result.inputs = reference.tried();
  if (reference.samples().empty()) return report_rejection(pair, reference, result);
  if (!pair.options->save_data.empty()) save_samples(pair, reference);

  Floors floors(pair, reference);
  floors.measure();
  if (!pair.proved) floors.join_reference(0, 1);
  add_milder_samples(pair, reference, floors, result);
  result.inputs = reference.tried();
  result.samples = static_cast<int>(reference.samples().size());

  const auto run = run_candidate(pair, reference, floors, result);
  Candidate& candidate = *run;
  take_figures(pair, reference, candidate, result);
  if (is_different(result) || !floors.are_healthy()) reference.repeat();
  report_repeatability(pair, reference, result);
  explain_suspicions(pair, reference, floors, result);
  if (is_different(result) && candidate.rejection().empty() && acquit_choices(pair, reference, candidate, result)) {
    take_figures(pair, reference, candidate, result);
  }

  if (is_different(result)) {
    name_wrong_nodes(pair, reference, candidate, result);
  } else {
    const bool vouched = judge_unexplained(pair, reference, result);
    if (!pair.options->outputs_only) {
      judge_hidden(pair, reference, result);
      judge_rounded(pair, result);
      judge_diluted(pair, result);
      judge_edges(pair, reference, result);
      judge_unreached(pair, reference, result);
      judge_unentered(pair, reference, result);
      judge_unsampled(pair, reference, result);
      judge_untried(pair, reference, result);
    }
    doubt_ill_conditioned(vouched || pair.proved, result);
    if (vouched) trust_nodes(reference, result);
    const bool may_fuse_masks = !pair.proved && inputs.makes_padding();
    if (may_fuse_masks && !is_different(result)) note_masks_with_holes(pair, inputs, reference, floors, candidate, result);
    const auto is_remark = [](const InterfaceDifference& difference) { return difference.remark; };
    if (candidate.mode() == Mode::as_written && !is_different(result) && std::ranges::all_of(result.interface, is_remark)) {
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
  const Stopwatch watch;
  Steps steps(options.progress);
  VerifyResult result = describe_run(a, b, options);
  read_files(a, b, options, result);
  Pair pair{std::move(a), std::move(b), &options, std::move(open), &steps};
  pair.proved = result.proof && result.proof->proved;
  if (is_decided(pair.a, options, result)) {
    check_inputs(pair.a, options);
  } else {
    execute(pair, result);
  }
  conclude(pair, result);
  result.seconds = watch.seconds();
  return result;
}

VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  // Without payloads: one Session at a time reads weights.
  Side side_a = load_side(a, options.load, options.images_last);
  Side side_b = load_side(b, options.load, options.images_last);
  return compare_models(std::move(side_a), std::move(side_b), options);
}

}  // namespace relayout
