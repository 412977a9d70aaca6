// Verifies that two files compute the same: reads, proves, runs, looks for what runs do not show, and decides.
#include "relayout/verify.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
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
#include "verify/coarser_work.h"
#include "verify/compare_models.h"
#include "verify/decide.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
#include "verify/interface.h"
#include "verify/pair.h"
#include "verify/quantized/quantization_losses.h"
#include "verify/remarks.h"
#include "verify/run/candidate.h"
#include "verify/run/floors.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"

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

/// Compares the interfaces and proves what the files show. From here on both models are known to be valid.
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

/// Why nothing has to run, or nothing can; nothing otherwise.
VerifyFindings find_decided(const Side& a, const VerifyOptions& options, const VerifyResult& measured) {
  const bool cannot_run = !measured.unsupported_a.empty() || !measured.unsupported_b.empty();
  if (measured.identical && (cannot_run || !options.run_identical)) {
    check_declared_types(*a.model);  // models that run are checked when they are planned
    return {{.severity = Severity::agreement, .text = "identical files (sha256 " + sha256_of(*origin_of(*a.model).file) + ")"}};
  }
  if (a.model->graph().outputs().empty()) {
    return {{.name = "no-outputs", .text = escape(a.name) + " has no outputs: there is nothing to compare"}};
  }
  if (cannot_run && measured.proof && measured.proof->proved) {
    return {{.severity = Severity::agreement, .text = "proved from the files; nodes that cannot run: nothing was executed"}};
  }
  if (cannot_run) return {{.name = "cannot-run", .text = "nodes that cannot run: nothing was executed"}};
  if (inputs_fit(measured.interface)) return {};
  const std::string why = "B cannot be given A's inputs" + misfits_of(measured.interface) + ": nothing was run";
  return {{.severity = Severity::difference, .name = "unfit-inputs", .text = why}};
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

/// Copies the candidate's figures, and finds what they contradict.
VerifyFindings take_figures(const Pair& pair, const Reference& reference, const Candidate& candidate, VerifyResult& measured) {
  VerifyFindings out;
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    const CandidateOutput& found = candidate.outputs()[i];
    OutputComparison& output = measured.outputs[i];
    output.type = reference.outputs().summary(i).type();
    output.dims = reference.outputs().summary(i).dims();
    output.samples = found.figures;
    output.hint = found.hint;
    if (found.contradiction.empty()) continue;
    out.push_back({.severity = Severity::difference, .name = "contradicts-declaration", .text = found.contradiction, .output = i});
  }
  if (candidate.rejection().empty()) return out;
  const std::string why = escape(pair.b.name) + ": " + candidate.rejection();
  out.push_back({.severity = Severity::difference, .name = "rejected", .text = "the reference runs, the candidate does not: " + why});
  return out;
}

InputMaker make_inputs(const Pair& pair, VerifyResult& measured) {
  const Graph &a = pair.a.model->graph(), &b = pair.b.model->graph();
  InputLimits limits{pair.narrow != DataType::undefined || pair.quantized, {}, true};
  if (pair.quantized) {
    limits.ranges = ranges_of_inputs(b);
    note_held_inputs(pair, limits.ranges, measured);
  }
  InputMaker inputs(a, *pair.options, pair.proved ? nullptr : &b, limits, bound_dims(a, b, *pair.options));
  if (const std::string empty = inputs.ports().empty_input(); !empty.empty()) measured.remarks.push_back(empty);
  for (const std::string& remark : inputs.given().remarks()) measured.remarks.push_back(remark);
  return inputs;
}

void add(VerifyFindings& to, VerifyFindings from) {
  std::ranges::move(from, std::back_inserter(to));
}

/// Runs the reference, its floors and the candidate, and looks for what they do not show. The figures stand in the result.
VerifyFindings run_and_look(Pair& pair, std::span<const Rule> rules, VerifyResult& measured) {
  const LibraryInfo library = onednn_info();
  measured.onednn = library.version;
  measured.isa = library.isa;
  list_outputs(pair, measured);
  note_random_nodes(pair, measured);
  VerifyFindings findings = find_coarser(pair, measured);
  InputMaker inputs = make_inputs(pair, measured);
  const int samples = planned_samples(pair, inputs, measured);
  inputs.prepare(samples);

  Reference reference(pair, inputs);
  reference.run(samples);
  measured.inputs = reference.tried();
  if (reference.samples().empty()) {
    add(findings, find_refusal(pair, reference));
    return findings;
  }
  if (!pair.options->save_data.empty()) save_samples(pair, reference);
  excuse_wrong_declarations(pair.a, pair.b, [&](std::size_t output) { return reference.outputs().value(output, 0); }, measured);
  Floors floors(pair, reference);
  floors.measure();
  if (!pair.proved) floors.join_reference(0, 1);
  add_milder_samples(pair, reference, floors, measured);
  measured.inputs = reference.tried();
  measured.samples = static_cast<int>(reference.samples().size());

  const auto candidate = run_candidate(pair, reference, floors, measured);
  add(findings, take_figures(pair, reference, *candidate, measured));
  if (!candidate->agrees() || !floors.are_healthy()) reference.repeat();

  Evidence evidence(pair, reference, floors, *candidate, measured);
  add(findings, find_unrepeatable_outputs(evidence));
  add(findings, find_reference_difference(evidence));
  add(findings, evidence.acquittals());
  if (!evidence.outputs_differ()) add(findings, look(rules, evidence));
  evidence.report(measured);
  add(findings, find_nan_in_both(measured));
  const bool by_node = pair.quantized && !pair.options->outputs_only && candidate->rejection().empty();
  if (by_node) measured.losses = measure_quantization(pair, reference);
  measured.reference_run = floors.has_reference(0);
  measured.draws = floors.draws();
  measured.seconds_a = reference.seconds();
  measured.seconds_floor = floors.seconds();
  return findings;
}

VerifyResult verify_by_proof(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  VerifyResult measured;
  measured.a = a.string();
  measured.b = b.string();
  const auto model_a = Model::load(a, options.load), model_b = Model::load(b, options.load);
  measured.proof = prove(*model_a, *model_b, {.digests = options.digests, .threads = options.threads});
  const VerifyFinding finding = measured.proof->proved
                                    ? VerifyFinding{.severity = Severity::agreement, .text = "proved from the files alone, nothing was run"}
                                    : VerifyFinding{.name = "not-run", .text = "not proved, and nothing was run"};
  return decide(std::move(measured), {finding}, options);
}

}  // namespace

VerifyResult compare_models(Side a, Side b, const VerifyOptions& options, OpenSession open, std::span<const Rule> rules) {
  const Stopwatch watch;
  Steps steps(options.progress);
  VerifyResult measured = describe_run(a, b, options);
  read_files(a, b, options, measured);
  Pair pair{std::move(a), std::move(b), &options, std::move(open), &steps};
  pair.proved = measured.proof && measured.proof->proved;
  VerifyFindings findings = find_decided(pair.a, options, measured);
  if (findings.empty()) {
    findings = run_and_look(pair, rules, measured);
  } else {
    check_inputs(pair.a, options);
  }
  VerifyResult result = decide(std::move(measured), findings, options);
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
