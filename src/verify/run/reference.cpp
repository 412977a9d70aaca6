// Runs A as written over samples of sizes that it accepts, and keeps its outputs in a temporary file, against which everything is measured.
#include "verify/run/reference.h"

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "layout/graph_shapes.h"
#include "model/float_elements.h"
#include "model/walk.h"
#include "ops/branches.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/op.h"
#include "passes/precision/magnitudes.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/reference_output.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {

// How many samples are planned.
namespace {

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
  if (is_proved_but_for_constants(pair, proof, thresholds::kRoundedConstantDifference)) return thresholds::kSamplesOfProved;
  const bool is_f32 = pair.narrow == DataType::undefined && !pair.quantized;
  const bool has_nodes = is_f32 && !pair.options->outputs_only;
  return has_nodes && is_proved_but_for_constants(pair, proof, thresholds::kNearConstant) ? thresholds::kLayerSamples
                                                                                          : thresholds::kSamples;
}

}  // namespace

int planned_samples(const Pair& pair, const InputMaker& inputs, const VerifyResult& result) {
  if (inputs.is_always_the_same()) return 1;
  const int files = inputs.given().in_folders(), wanted = pair.options->samples;
  if (files > 0 && wanted > files) {
    fail(ErrorKind::usage, "--samples " + std::to_string(wanted) + ": " +
                               escape(inputs.given().paths(0).begin()->second.parent_path().string()) + " has " + counted(files, "file"));
  }
  if (wanted > 0) return wanted;
  if (files > 0) return files;
  const int samples = result.proof ? samples_for(pair, *result.proof) : thresholds::kSamples;
  return samples == thresholds::kSamplesOfProved ? samples
                                                 : std::max(samples, std::min(inputs.samples_for_words(), thresholds::kMostSamples));
}

std::size_t samples_of_optimized(const Reference& reference) {
  const std::vector<Sample>& samples = reference.samples();
  const auto has_first_size = [&](const Sample& sample) { return sample.assignment.shapes == samples.front().assignment.shapes; };
  return std::ranges::all_of(samples, has_first_size) ? 1 : samples.size();
}

namespace {

/// Whether an output of two values is a sign of saturation: not downstream of a cast (perhaps from bool), OneHot, EyeLike or Sign, in any
/// graph that gives it.
bool may_saturate(const Value& output) {
  constexpr int kMaxSteps = 32;
  const Value* value = &output;
  for (int step = 0; value != nullptr && value->producer() != nullptr && step < kMaxSteps; ++step) {
    const Node& node = *value->producer();
    const Traits traits = traits_of(node);
    if (traits.has(Trait::casts) || node.is("OneHot") || node.is("EyeLike") || node.is("Sign")) return false;
    if (!node.subgraphs().empty()) {
      const std::size_t at = as_size(value->output_index()) + outputs_before_results(node);
      return std::ranges::any_of(node.subgraphs(),
                                 [&](const auto& graph) { return at >= graph->outputs().size() || may_saturate(*graph->outputs()[at]); });
    }
    const bool is_largest = traits.has(Trait::pools) && traits.has(Trait::exact);
    value = traits.moves_input(0) || is_largest ? node.input(0) : nullptr;
  }
  return true;
}

/// Number of samples with different sizes.
int all_samples(const Pair& pair, const InputMaker& inputs) {
  if (inputs.is_always_the_same()) return 1;
  return pair.options->samples > 0 ? pair.options->samples : thresholds::kSamples;
}

}  // namespace

ReferenceOutputs::ReferenceOutputs(const Side& original) {
  const auto values = original.model->graph().outputs();
  const bool is_fixed = original.model->graph().inputs().empty();
  for (std::size_t i = 0; i < original.outputs.size(); ++i) {
    const Port& port = original.outputs[i];
    const bool is_empty = port.kind == Datum::Kind::tensor && port.has_shape && std::ranges::find(port.dims, 0) != port.dims.end();
    all_.push_back({ReferenceOutput(port.name, {may_saturate(*values[i]), is_empty, is_fixed}), {}, {}});
  }
}

void ReferenceOutputs::add(const Outputs& outputs) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    all_[i].summary.add(outputs[i]);
    all_[i].yardsticks.emplace_back().add(outputs[i]);
    all_[i].stored.push_back(spill_.write(outputs[i]));
  }
}

NarrowReach::NarrowReach(const Pair& pair) {
  if (!is_narrow(pair.grain)) return;
  limit_ = passes::overflow_of(pair.grain);
  OpSignatures signatures;
  const ElementTypes types(pair.b.model->graph(), signatures);
  for_each_node(*pair.b.model, [&](const Node& node) {
    for (const Value* const output : node.outputs()) {
      if (output != nullptr && types.of(*output) == pair.grain) held_.insert(output->name());
    }
  });
}

void NarrowReach::reset() {
  farthest_ = 0;
  name_.clear();
}

void NarrowReach::note(const Node& node, const std::vector<Datum>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Value* const value = node.output(i);
    if (value == nullptr || !is_scalable(outputs[i].tensor.type()) || !held_.contains(value->name())) continue;
    const Tensor tensor = contiguous(outputs[i].tensor);
    const auto size = as_size(tensor.element_count()) * memory_size(tensor.type());
    const double reached = largest_magnitude(tensor.type(), {tensor.bytes(), size});
    if (reached <= farthest_) continue;
    farthest_ = reached;
    name_ = value->name();
  }
}

std::string NarrowReach::beyond() const {
  return farthest_ < limit_ ? std::string() : quote(name_) + " reaches " + scientific(farthest_);
}

FreeDims::Assignment SizeSearch::find(const FreeDims& dims, int sample, const Trial& runs) {
  FreeDims::Assignment sizes;
  bool found = false;
  using Odd = FreeDims::Odd;
  const bool is_odd = sample % 2 == 1;
  const auto offer = [&](bool uneven, Odd odd, bool keeps_batch = false) {
    const FreeDims::Place place{sample, samples_, attempt_, uneven, odd, keeps_batch};
    FreeDims::Assignment offered = dims.assign(place);
    const bool may_run = !has_found_ || odd == Odd::alike || dims.fits(place);
    if (!sizes.shapes.empty() && (offered.shapes == sizes.shapes || !may_run)) return;
    sizes = std::move(offered);
    found = runs(sizes);
    if (!found) return;
    takes_uneven_ = uneven;
    odd_ = odd;
  };
  do {
    offer(takes_uneven_, odd_);
    if (!found && takes_uneven_ && is_odd) offer(takes_uneven_ = false, odd_);
    if (!found && !has_found_ && is_odd) offer(false, Odd::alike);
  } while (!found && !has_found_ && ++attempt_ < dims.attempts());
  for (const Odd odd : {Odd::doubled, Odd::alike}) {
    if (!found && has_found_ && is_odd && odd > odd_) offer(false, odd);
  }
  if (!found && has_found_) offer(false, odd_, true);
  if (!found && !has_found_) attempt_ = 0;
  has_found_ = has_found_ || found;
  return sizes;
}

Reference::Reference(const Pair& pair, const InputMaker& inputs)
    : pair_(&pair),
      inputs_(&inputs),
      waits_to_repeat_(random_nodes(pair.a.model->graph()).empty()),
      sizes_(all_samples(pair, inputs)),
      outputs_(pair.a),
      reach_(pair) {}

const Inputs& Reference::inputs_of(std::size_t sample) const {
  if (made_for_ != sample) {
    const Sample& of = samples_[sample];
    made_for_.reset();
    made_ = inputs_->make(of.assignment, {of.number, of.deviation, of.decides});
    made_for_ = sample;
  }
  return made_;
}

void Reference::compare_again(Session& session, const Outputs& first) {
  waits_to_repeat_ = false;
  const Session::Run again = session.run(inputs_of(0));
  for (std::size_t i = 0; i < first.size() && unrepeatable_.empty(); ++i) {
    if (!again.rejected.empty() || !bit_equal(first[i], again.outputs.at(i))) unrepeatable_ = pair_->a.outputs[i].name;
  }
}

void Reference::repeat() {
  if (!waits_to_repeat_ || samples_.empty()) return;
  const Stopwatch watch;
  pair_->steps->expect(1);
  pair_->steps->next("reference");
  Outputs first;
  for (std::size_t i = 0; i < outputs_.count(); ++i) first.push_back(outputs_.value(i, 0));
  compare_again(*pair_->open(pair_->a, pair_->execute_options(Mode::as_written)), first);
  seconds_ += watch.seconds();
}

void Reference::run(int count, double deviation) {
  const Stopwatch watch;
  pair_->steps->expect(count);
  ExecuteOptions options = pair_->execute_options(Mode::as_written);
  if (reach_.is_watching()) options.observe = [this](const Node& node, const std::vector<Datum>& made) { reach_.note(node, made); };
  const auto session = pair_->open(pair_->a, std::move(options));
  for (int i = 0; i < count; ++i) {
    pair_->steps->next("reference");
    run_next(*session, deviation);
  }
  seconds_ += watch.seconds();
}

FreeDims::Assignment Reference::try_next(Session& session, SizeSearch& search, SampleKind kind, Session::Run& run) {
  return search.find(inputs_->dims(kind.number), kind.number, [&](const FreeDims::Assignment& offered) {
    made_for_.reset();
    made_ = inputs_->make(offered, kind);
    run = session.run(made_);
    return run.rejected.empty();
  });
}

FreeDims::Assignment Reference::try_ways(Session& session, SampleKind& kind, Session::Run& run) {
  FreeDims::Assignment sizes = try_next(session, sizes_, kind, run);
  const auto is_refused = [&] { return !run.rejected.empty(); };
  const auto search_apart = [&] {
    SizeSearch apart(all_samples(*pair_, *inputs_));
    if (is_refused() && !samples_.empty()) sizes = try_next(session, apart, kind, run);
  };
  if (!is_refused() || inputs_->samples_for_words() == 0) return sizes;
  search_apart();
  if (!is_refused() || kind.decides) return sizes;
  kind.decides = true;
  sizes = try_next(session, sizes_, kind, run);
  search_apart();
  decides_ = !is_refused();
  return sizes;
}

std::string Reference::keep_within_reach(Session& session, const FreeDims::Assignment& sizes, SampleKind& kind, Session::Run& run) {
  std::string beyond = reach_.beyond();
  if (samples_.empty() || kind.deviation > 0 || !run.rejected.empty() || beyond.empty() || !inputs_->can_be_milder()) return {};
  for (const double deviation : thresholds::kHeldDeviations) {
    reach_.reset();
    const SampleKind smaller{kind.number, deviation, kind.decides};
    Inputs made = inputs_->make(sizes, smaller);
    Session::Run again = session.run(made);
    if (!again.rejected.empty() || !reach_.beyond().empty()) continue;
    kind = smaller;
    made_ = std::move(made);
    run = std::move(again);
    return beyond;
  }
  return {};
}

void Reference::run_next(Session& session, double deviation) {
  reach_.reset();
  SampleKind kind{static_cast<int>(tried_.size()), deviation, decides_};
  Session::Run run;
  FreeDims::Assignment sizes = try_ways(session, kind, run);
  std::string beyond = keep_within_reach(session, sizes, kind, run);
  tried_.push_back(
      {kind.number, sizes.shapes, sizes.dims, inputs_->given().paths(kind.number), kind.deviation, std::move(beyond), run.rejected});
  if (!run.rejected.empty()) return;
  made_for_ = samples_.size();
  samples_.push_back({kind.number, kind.deviation, kind.decides, std::move(sizes), session.macs()});
  if (samples_.size() == 1 && !waits_to_repeat_) compare_again(session, run.outputs);
  outputs_.add(run.outputs);
}

// What it means that A refuses every sample.
VerifyFindings find_refusal(const Pair& pair, const Reference& reference) {
  const std::string why = escape(pair.a.name) + ": " + reference.tried().front().rejected;
  if (!reference.inputs().given().empty()) fail(ErrorKind::invalid, why);
  reference.inputs().refuse_guesses(reference.tried().front().rejected);
  // No input can be right for dims that contradict each other as declared.
  const layout::Shapes shapes(pair.a.model->graph());
  if (!shapes.misfit().empty() && shapes.assumed().empty()) fail(ErrorKind::invalid, why, reference.inputs().ports().empty_input());
  const layout::Shapes requested(pair.a.model->graph(), {pair.options->dims, pair.options->shapes});
  if (!requested.misfit().empty() && requested.assumed().empty()) fail(ErrorKind::usage, why + ", at the sizes of --dim and --shape");
  const std::string option = reference.inputs().input_option();
  const bool may_fit = shapes.misfit().empty() && !option.empty();
  return {{.name = kReferenceCannotRun,
           .text = "the reference cannot run: " + why + (may_fit ? " (" + option + " gives contents that it takes)" : "")}};
}

}  // namespace relayout
