// The order of all stages of `verify A B`, outcomes without running (identical files, `--run-identical`, unsupported nodes, unfit inputs),
// `--io nhwc`, and what `--outputs-only` leaves out. It reads both files, proves as much as they show, and runs the reference, its noise
// floors, the candidate as written, nodes with unexplained differences, and the candidate optimized.
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

#include "base/machine.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/times.h"
#include "model/origin.h"
#include "ops/element_types.h"
#include "passes/pass.h"
#include "relayout/datum.h"
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
#include "verify/doubts/doubts.h"
#include "verify/executor_defects.h"
#include "verify/floors.h"
#include "verify/identical.h"
#include "verify/ill_conditioned.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
#include "verify/inputs/save_data.h"
#include "verify/interface.h"
#include "verify/judge.h"
#include "verify/masks_with_holes.h"
#include "verify/node_verdict.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/output_loss.h"
#include "verify/pair.h"
#include "verify/proof_verdict.h"
#include "verify/quantizer.h"
#include "verify/reference.h"
#include "verify/refused_inputs.h"
#include "verify/remarks.h"
#include "verify/sample_count.h"
#include "verify/session.h"

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

/// Whether nothing has to run; sets outcome and reason.
bool is_decided(const Side& a, const VerifyOptions& options, VerifyResult& result) {
  const bool cannot_run = !result.unsupported_a.empty() || !result.unsupported_b.empty();
  if (result.identical && (cannot_run || !options.run_identical)) {
    check_declared_types(*a.model);  // models that run are checked when they are planned
    result.reason = "identical files (sha256 " + sha256_of(*origin_of(*a.model).file) + ")";
  } else if (a.model->graph().outputs().empty()) {
    doubt(result, escape(a.name) + " has no outputs: there is nothing to compare");
  } else if (cannot_run && result.proof && result.proof->proved) {
    result.reason = "proved from the files; nodes that cannot run: nothing was executed";
  } else if (cannot_run) {
    doubt(result, "nodes that cannot run: nothing was executed");
  } else if (!inputs_fit(result.interface)) {
    result.reason = "B cannot be given A's inputs" + misfits_of(result.interface) + ": nothing was run";
  } else {
    return false;
  }
  return true;
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

void list_outputs(const Pair& pair, VerifyResult& result) {
  for (const Port& port : pair.a.outputs) {
    OutputComparison& output = result.outputs.emplace_back();
    output.name = port.name;
    output.type = tensor_port(port).type;
    output.shape = port.kind == Datum::Kind::tensor ? shape_text(port) : type_text(port);
  }
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
  excuse_wrong_declarations(pair.a, pair.b, [&](std::size_t output) { return reference.outputs().value(output, 0); }, result);

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
      EnteredGraphs entered(pair, reference);
      judge_unentered(pair, entered, result);
      judge_unsampled(pair, reference, entered, result);
      judge_untried(pair, reference, result);
      judge_doubts(pair, reference, result);
    }
    doubt_ill_conditioned(pair, vouched, result);
    if (vouched) trust_nodes(reference, result);
    doubt_wide_floors(pair, result);
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
  conclude(pair.b.name, result);
  if (options.strict) judge_strictly(result);
  result.seconds = watch.seconds();
  return result;
}

VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  if (options.proof_only) return verify_by_proof(a, b, options);
  // Without payloads: one Session at a time reads weights.
  Side side_a = load_side(a, options.load, options.images_last);
  Side side_b = load_side(b, options.load, options.images_last);
  return compare_models(std::move(side_a), std::move(side_b), options);
}

}  // namespace relayout
