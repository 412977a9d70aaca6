#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare.h"
#include "verify/layers.h"
#include "verify/noise.h"
#include "verify/port.h"
#include "verify/save_data.h"
#include "verify/session.h"
#include "verify/verification.h"

namespace relayout {
namespace {

/// The double-precision reference runs plain loops: beyond this many multiply-accumulates per sample it takes too long.
constexpr int64_t kReferenceMacs = 2'000'000'000;
/// As written and reference should agree (research: neither exceeds the noise of moved weights by more than 3): beyond this the executor
/// may be wrong, and its error must not pass for a floor.
constexpr double kReferenceFactor = 50, kReferenceMinimum = 5e4;
/// The same for a node alone, whose error nothing behind it has enlarged.
constexpr double kAloneMinimum = 50;

/// Of the same operands, two correct evaluations may choose differently.
bool may_choose(const Node& node) {
  return find_kernel(node) == nullptr || has_trait(node, Trait::chooses);
}

/// A node's double-precision result that is farther from the one as written than rounding explains.
bool errs_alone(const LayerResult& layer) {
  if (layer.bound == 0) return layer.outcome == Outcome::different;  // of another structure, or of a type that has no rounding
  const double least = kAloneMinimum * dtype_minimum(layer.type);
  return layer.error > std::max(kReferenceFactor * layer.floor, least) || layer.rms > std::max(kReferenceFactor * layer.floor_rms, least);
}

}  // namespace

void Verification::run_reference(int first) {
  const auto start = Clock::now();
  const auto session = open_(a_, execute_options(Mode::as_written));
  for (int number = first; number < planned_samples_; ++number) {
    progress("reference");
    Sample sample{number, {}, 0};
    Session::Run run;
    // The first sample finds sizes that the model takes; the others keep to them.
    do {
      sample.assignment = inputs_->dims().assign(number, planned_samples_, attempt_);
      run = session->run(inputs_of(sample));
    } while (!run.rejected.empty() && samples_.empty() && ++attempt_ < inputs_->dims().attempts());
    if (samples_.empty() && !run.rejected.empty()) attempt_ = 0;
    result_.inputs.push_back({number, sample.assignment.shapes, sample.assignment.dims, run.rejected});
    if (!run.rejected.empty()) {
      if (number == 0) first_rejection_ = run.rejected;
      continue;
    }
    sample.macs = session->macs();
    if (samples_.empty()) check_repeatable(*session, sample, run.outputs);
    for (Tracked& tracked : tracked_) {
      const Datum& value = run.outputs.at(tracked.index_a);
      tracked.reference.add(value);
      tracked.yardsticks.emplace_back().add(value);
      tracked.stored.push_back(spill_.write(value));
    }
    samples_.push_back(std::move(sample));
  }
  if (samples_.empty()) report_rejection();
  result_.samples = static_cast<int>(samples_.size());
  result_.seconds_a += seconds_since(start);
}

void Verification::save_samples() {
  std::vector<std::string> input_names, output_names;
  for (const Port& port : required_inputs(a_.model->graph())) input_names.push_back(port.name);
  for (const Port& port : a_.outputs) output_names.push_back(port.name);
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const Inputs made = inputs_of(samples_[s]);
    std::vector<Datum> inputs, outputs;
    for (const std::string& name : input_names) inputs.push_back(made.at(name));
    for (const Tracked& tracked : tracked_) outputs.push_back(spill_.read(tracked.stored[s]));
    save_data_set(options_->save_data, samples_[s].number, inputs, outputs, input_names, output_names);
  }
}

void Verification::report_rejection() {
  const std::string why = escape(a_.name) + ": " + first_rejection_;
  if (inputs_->any_from_files()) fail(ErrorKind::invalid, why);
  const auto guessed = inputs_->dims().guessed();
  if (!guessed.empty()) {
    fail(ErrorKind::usage, "no size for dimension " + quote(guessed.front()) + " was found that the model takes; " + why,
         "--dim NAME=… or --shape INPUT=… gives it");
  }
  result_.outcome = Outcome::inconclusive;
  result_.reason = "the reference cannot run: " + why;
}

void Verification::check_repeatable(Session& session, const Sample& sample, const Outputs& first) {
  const Session::Run again = session.run(inputs_of(sample));
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (again.rejected.empty() && bit_equal(first[i], again.outputs.at(i))) continue;
    const auto random = random_nodes(a_.model->graph());
    const std::string what = "output " + quote(a_.outputs[i].name) + " of " + escape(a_.name) + " differs between two runs";
    if (random.empty()) {
      result_.defect = "not deterministic: " + what;
    } else {
      result_.remarks.push_back(what + ", as its random nodes explain");
    }
    return;
  }
}

void Verification::measure_floors(std::size_t first) {
  const auto start = Clock::now();
  for (Tracked& tracked : tracked_) {
    for (std::size_t s = first; s < samples_.size(); ++s) {
      tracked.floors.push_back(least_floor(type_of_floor(tracked.reference.type()), tracked.yardsticks[s], tracked.yardstick(s)));
    }
  }
  draw_noise(first, 0, kNoiseDraws);
  reference_runs_.resize(samples_.size(), false);
  const auto is_small = [](const Sample& sample) { return sample.macs <= kReferenceMacs; };
  if (std::any_of(samples_.begin() + static_cast<std::ptrdiff_t>(first), samples_.end(), is_small))
    widen_floors(first, execute_options(Mode::reference), "reference in double precision", /*is_reference=*/true);
  explain_references();
  result_.reference_run = std::ranges::all_of(reference_runs_, [](bool ran) { return ran; });
  for (Tracked& tracked : tracked_) pool_floors(tracked);
  result_.seconds_floor += seconds_since(start);
}

void Verification::draw_noise(std::size_t first, int first_draw, int count) {
  const WeightNoise noise(a_.model->graph());
  for (int draw = first_draw; draw < first_draw + count; ++draw) {
    ExecuteOptions options = execute_options(Mode::as_written);
    options.edit_constant = noise.draw(options_->seed, draw, grain_);
    widen_floors(first, std::move(options), "noise floor", /*is_reference=*/false);
  }
}

void Verification::pool_floors(Tracked& tracked) {
  const auto count = [](const Yardstick& sample) { return sample.count(); };
  if (tracked.yardsticks.empty() || std::ranges::max(tracked.yardsticks, {}, count).count() >= kFewElements) return;
  Floor relative;
  for (std::size_t s = 0; s < tracked.floors.size(); ++s) {
    const double magnitude = tracked.yardsticks[s].largest();
    if (magnitude == 0) continue;
    relative.max = std::max(relative.max, tracked.floors[s].max / magnitude);
    relative.rms = std::max(relative.rms, tracked.floors[s].rms / magnitude);
  }
  for (std::size_t s = 0; s < tracked.floors.size(); ++s) {
    const double magnitude = tracked.yardsticks[s].largest();
    tracked.floors[s] = {std::max(tracked.floors[s].max, relative.max * magnitude),
                         std::max(tracked.floors[s].rms, relative.rms * magnitude)};
  }
}

void Verification::widen_floors(std::size_t first, ExecuteOptions options, std::string_view what, bool is_reference) {
  const auto session = open_(a_, std::move(options));
  for (std::size_t s = first; s < samples_.size(); ++s) {
    progress(what);
    if (is_reference && samples_[s].macs > kReferenceMacs) continue;
    const Session::Run run = session->run(inputs_of(samples_[s]));
    if (!run.rejected.empty()) continue;
    if (is_reference) reference_runs_[s] = true;
    for (Tracked& tracked : tracked_) {
      const Datum reference = spill_.read(tracked.stored[s]);
      const Datum& other = run.outputs.at(tracked.index_a);
      // Another number of boxes or so: this run says nothing of the distance.
      if (!structural_difference(reference, other).empty()) continue;
      const Distance apart = distance(reference, other);
      const Floor floor{apart.max_abs / tracked.yardstick(s).range(), apart.rms / tracked.yardstick(s).sigma()};
      if (is_reference) check_reference(tracked, s, floor);
      tracked.floors[s].max = std::max(tracked.floors[s].max, floor.max);
      tracked.floors[s].rms = std::max(tracked.floors[s].rms, floor.rms);
    }
  }
}

void Verification::check_reference(const Tracked& tracked, std::size_t s, const Floor& floor) {
  const double most = std::max(kReferenceFactor * tracked.floors[s].max, kReferenceMinimum * dtype_minimum(tracked.reference.type()));
  if (floor.max <= most || (!suspicions_.empty() && suspicions_.back().sample == s)) return;
  suspicions_.push_back({tracked.reference.name(), s, floor.max});
}

void Verification::explain_references() {
  const std::vector<Suspicion> suspicions = std::exchange(suspicions_, {});
  const auto tie = std::ranges::find_if_not(suspicions, [this](const Suspicion& suspicion) { return is_defect(suspicion); });
  if (!result_.defect.empty() || tie == suspicions.end()) return;
  result_.remarks.push_back("output " + quote(tie->output) + ", sample " + std::to_string(samples_[tie->sample].number) +
                            ": double precision lies " + short_number(tie->error) +
                            " of the range away, though no node alone differs: a choice among nearly equal numbers falls either way");
}

bool Verification::is_defect(const Suspicion& suspicion) {
  const auto layer = erring_node(a_, samples_[suspicion.sample], Mode::reference);
  if (!layer) return false;
  set_defect("as written and double-precision reference disagree on output " + quote(suspicion.output) + " of " + escape(a_.name) + " by " +
             short_number(suspicion.error) + " of its range, and node " + quote(layer->node) + " (" + escape(layer->op_type) +
             ") alone by " + (layer->bound > 0 ? short_number(layer->error) : layer->reason) + ", more than any rounding explains");
  return true;
}

std::optional<LayerResult> Verification::erring_node(const Side& side, const Sample& sample, Mode mode) {
  LayerComparison nodes(side, side, *options_, DataType::undefined, [this] { progress("node by node"); }, open_);
  for (LayerResult& layer : nodes.run_alone([&] { return inputs_of(sample); }, sample.number, mode)) {
    if (!may_choose(*side.model->graph().find(layer.tensor)->producer()) && errs_alone(layer)) return std::move(layer);
  }
  return std::nullopt;
}

}  // namespace relayout
