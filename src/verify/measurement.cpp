// Runs the reference, its floors and the candidate over the samples of a comparison.
#include "verify/measurement.h"

#include "base/numbers.h"
#include "base/text.h"
#include "ops/bounds.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/coarser_work.h"
#include "verify/finding.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
#include "verify/interface.h"
#include "verify/pair.h"
#include "verify/run/candidate.h"
#include "verify/run/floors.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

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
  out.push_back({.severity = Severity::difference, .name = kRejected, .text = "the reference runs, the candidate does not: " + why});
  return out;
}

/// Remarks on nodes that draw random numbers, whose seeds are pinned.
void note_random_nodes(const Pair& pair, VerifyResult& result) {
  const auto random_a = random_nodes(pair.a.model->graph()), random_b = random_nodes(pair.b.model->graph());
  const auto note = [&](const std::vector<std::string>& labels, const std::string& where, const std::string& then) {
    if (labels.empty()) return;
    result.remarks.push_back(counted(std::ssize(labels), "random node") + " in " + where + " (" + some_of(labels, 1, std::identity()) +
                             "): " + then);
  };
  constexpr const char* kPinned = "seeds are pinned by node name";
  if (random_a == random_b) return note(random_a, "both files", kPinned);
  note(random_a, pair.a.name, pair.a.name + " is not deterministic; " + kPinned);
  note(random_b, pair.b.name, pair.b.name + " is not deterministic; " + kPinned);
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

/// The maker of the inputs of all samples, limited to the ranges that quantizers of b hold.
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

}  // namespace

void list_outputs(const Pair& pair, VerifyResult& result) {
  for (const Port& port : pair.a.outputs) {
    OutputComparison& output = result.outputs.emplace_back();
    output.name = port.name;
    output.type = tensor_port(port).type;
    output.shape = port.kind == Datum::Kind::tensor ? shape_text(port) : type_text(port);
  }
}

Measurement::Measurement(Pair& pair, VerifyResult& measured)
    : findings_(find_coarser(pair, measured)), inputs_(make_inputs(pair, measured)), reference_(pair, inputs_) {
  note_random_nodes(pair, measured);
  const LibraryInfo library = onednn_info();
  measured.onednn = library.version;
  measured.isa = library.isa;
  const int samples = planned_samples(pair, inputs_, measured);
  inputs_.prepare(samples);
  reference_.run(samples);
  measured.inputs = reference_.tried();
  for (const SampleInputs& inputs : measured.inputs) {
    if (inputs.beyond.empty()) continue;
    measured.remarks.push_back("sample " + std::to_string(inputs.sample) + " has smaller inputs: at its usual ones " + inputs.beyond +
                               ", beyond " + std::string(name_of(pair.grain)));
  }
  if (has_samples()) {
    measure(pair, measured);
  } else {
    std::ranges::move(find_refusal(pair, reference_), std::back_inserter(findings_));
  }
}

void Measurement::measure(const Pair& pair, VerifyResult& measured) {
  if (!pair.options->save_data.empty()) save_samples(pair, reference_);
  excuse_wrong_declarations(pair.a, pair.b, [&](std::size_t output) { return reference_.outputs().value(output, 0); }, measured);
  floors_.emplace(pair, reference_);
  floors_->measure();
  if (!pair.proved) floors_->join_reference(0, 1);
  add_milder_samples(pair, reference_, *floors_, measured);
  measured.inputs = reference_.tried();
  measured.samples = static_cast<int>(reference_.samples().size());
  candidate_ = run_candidate(pair, reference_, *floors_, measured);
  std::ranges::move(take_figures(pair, reference_, *candidate_, measured), std::back_inserter(findings_));
  if (!candidate_->agrees() || !floors_->are_healthy()) reference_.repeat();
}

void Measurement::report(VerifyResult& result) const {
  result.reference_run = floors_->has_reference(0);
  result.draws = floors_->draws();
  result.seconds_a = reference_.seconds();
  result.seconds_floor = floors_->seconds();
}

}  // namespace relayout
