#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare.h"
#include "verify/hints.h"
#include "verify/judge.h"
#include "verify/port.h"
#include "verify/session.h"
#include "verify/ties.h"
#include "verify/verification.h"

namespace relayout {
namespace {

/// Where few elements carry the error (a saturated output), three draws may all miss them: a sample that exceeds its bound by less than
/// tenfold gets more before it is called different.
constexpr int kMoreDraws = 6;
constexpr double kNearBound = 10;

}  // namespace

void Verification::run_candidate(Mode mode, std::size_t first) {
  const auto start = Clock::now();
  const bool optimized = mode == Mode::optimized;
  const auto session = open_(b_, execute_options(mode));
  optimized_.assign(tracked_.size(), {});
  for (Tracked& tracked : tracked_) tracked.flipped.clear();
  for (std::size_t s = first; s < samples_.size(); ++s) {
    progress(optimized ? "candidate, optimized" : "candidate");
    const Session::Run run = session->run(inputs_of(samples_[s]));
    if (!run.rejected.empty()) {
      reject_candidate(samples_[s], run.rejected, optimized);
      break;
    }
    for (std::size_t i = 0; i < tracked_.size(); ++i) {
      if (!tracked_[i].index_b) continue;
      const Datum reference = spill_.read(tracked_[i].stored[s]);
      const Datum& candidate = run.outputs.at(*tracked_[i].index_b);
      keep_flipped(tracked_[i], s, reference, candidate);
      if (optimized) {
        optimized_[i].push_back(metrics_of(tracked_[i], s, reference, candidate, /*optimized=*/true));
      } else {
        compare_sample(i, s, reference, candidate);
      }
    }
    if (!optimized) look_for_renames(s, run.outputs);
  }
  result_.seconds_b += seconds_since(start);
}

namespace {

/// Whether a result that jumps stands between the graph's inputs and a value.
bool depends_on_choice(const Value& output) {
  std::vector<const Value*> open = {&output};
  std::unordered_set<const Node*> seen;
  while (!open.empty()) {
    const Node* const node = open.back()->producer();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (find_kernel(*node) == nullptr || has_trait(*node, Trait::jumps)) return true;
    for (const Value* const input : node->inputs()) {
      if (input != nullptr) open.push_back(input);
    }
  }
  return false;
}

}  // namespace

void Verification::keep_flipped(Tracked& tracked, std::size_t s, const Datum& reference, const Datum& candidate) {
  const bool exact = candidate.kind == Datum::Kind::tensor && reference.kind == Datum::Kind::tensor && candidate.tensor &&
                     kNumericTypes.has(tracked.reference.type()) && !is_measured(tracked.reference.type());
  if (exact && candidate.tensor.type() == tracked.reference.type() && !bit_equal(reference, candidate)) {
    tracked.flipped.emplace(s, spill_.write(candidate));
  }
}

void Verification::explain_flipped(std::size_t i, Mode mode) {
  Tracked& tracked = tracked_[i];
  if (tracked.flipped.empty()) return;
  const auto decider = decider_of(*a_.model->graph().outputs()[tracked.index_a]);
  if (!decider) return;
  for (const auto& [s, stored] : tracked.flipped) {
    const Sample& sample = samples_[s];
    const auto inputs = [&] { return inputs_of(sample); };
    const auto operands = decider_operands(a_, *decider, inputs, execute_options(Mode::as_written), kNoiseDraws, grain_);
    const TieVerdict verdict = explain_ties(*decider, operands, spill_.read(tracked.stored[s]).tensor, spill_.read(stored).tensor);
    for (SampleMetrics& metrics : figures(i, mode)) {
      if (metrics.sample != sample.number) continue;
      if (verdict.explained) {
        metrics.outcome = Outcome::same;
        metrics.ties = verdict.ties;
        metrics.reason = verdict.text;
      } else if (!verdict.text.empty()) {
        metrics.reason += ", which no tie explains: " + verdict.text;
      }
    }
  }
}

std::vector<SampleMetrics>& Verification::figures(std::size_t i, Mode mode) {
  return mode == Mode::optimized ? optimized_[i] : result_.outputs[i].samples;
}

bool Verification::is_near_bound(const SampleMetrics& metrics) {
  const bool above = metrics.max_error > metrics.bound_max || metrics.rms_error > metrics.bound_rms;
  const bool by_numbers = above && metrics.bound_max > 0 && metrics.nan_a + metrics.nan_b + metrics.infinite_mismatches == 0;
  return metrics.outcome == Outcome::different && by_numbers && metrics.max_error < kNearBound * metrics.bound_max &&
         metrics.rms_error < kNearBound * metrics.bound_rms;
}

void Verification::settle(Mode mode) {
  bool near = false;
  for (std::size_t i = 0; i < tracked_.size(); ++i) near = near || std::ranges::any_of(figures(i, mode), is_near_bound);
  if (near && refined_ < samples_.size()) {
    const auto start = Clock::now();
    draw_noise(refined_, kNoiseDraws, kMoreDraws);
    refined_ = samples_.size();
    for (Tracked& tracked : tracked_) pool_floors(tracked);
    result_.seconds_floor += seconds_since(start);
  }
  const bool varied = !inputs_->all_from_files() && !a_.model->graph().inputs().empty();
  for (std::size_t i = 0; i < tracked_.size(); ++i) {
    explain_flipped(i, mode);
    for (SampleMetrics& metrics : figures(i, mode)) {
      if (near && is_near_bound(metrics)) decide_again(tracked_[i], metrics);
      if (mode == Mode::optimized && metrics.outcome == Outcome::different) report_optimized(i, metrics);
    }
    if (mode != Mode::optimized) sum_up(result_.outputs[i], tracked_[i].reference, varied);
  }
}

void Verification::decide_again(const Tracked& tracked, SampleMetrics& metrics) {
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    if (samples_[s].number == metrics.sample) decide(metrics, type_of_floor(tracked.reference.type()), tracked.floors[s]);
  }
}

void Verification::report_optimized(std::size_t i, const SampleMetrics& metrics) {
  if (is_error_of_the_file(i, metrics) || !result_.defect.empty()) return;
  const std::string where = "output " + quote(result_.outputs[i].name) + ", sample " + std::to_string(metrics.sample);
  const auto sample = std::ranges::find(samples_, metrics.sample, &Sample::number);
  const bool may_jump = depends_on_choice(*b_.model->graph().outputs()[*tracked_[i].index_b]);
  if (may_jump && sample != samples_.end() && !erring_node(b_, *sample, Mode::optimized)) {
    result_.remarks.push_back(where + ": optimized execution lies " + short_number(metrics.max_error) +
                              " of the range away, though no node alone differs: a choice among nearly equal numbers falls either way");
    return;
  }
  set_defect(escape(b_.name) + " is right as written, but not optimized: " + where + ": " + metrics.reason);
}

bool Verification::is_error_of_the_file(std::size_t i, const SampleMetrics& optimized) const {
  if (optimized.nan_b > 0 || optimized.infinite_mismatches > 0 || !(optimized.bound_max > 0)) return false;
  for (const SampleMetrics& written : result_.outputs[i].samples) {
    if (written.sample != optimized.sample) continue;
    return optimized.max_error <= optimized.bound_max + written.max_error && optimized.rms_error <= optimized.bound_rms + written.rms_error;
  }
  return false;
}

void Verification::reject_candidate(const Sample& sample, const std::string& why, bool optimized) {
  std::string where = " (sample " + std::to_string(sample.number);
  for (const auto& [name, value] : sample.assignment.dims) where += ", " + escape(name) + " = " + std::to_string(value);
  const std::string what = escape(b_.name) + ": " + why + where + ")";
  if (optimized) {
    set_defect("right as written, cannot run optimized: " + what);
  } else {
    result_.outcome = Outcome::different;
    result_.reason = "the reference runs, the candidate does not: " + what;
  }
}

SampleMetrics Verification::metrics_of(const Tracked& tracked, std::size_t s, const Datum& reference, const Datum& candidate,
                                       bool optimized) const {
  SampleMetrics metrics;
  const std::string structural = structural_difference(reference, candidate);
  metrics.sample = samples_[s].number;
  if (!structural.empty()) {
    metrics.outcome = Outcome::different;
    metrics.reason = structural;
    return metrics;
  }
  metrics = measure(reference, candidate, tracked.yardstick(s));
  metrics.sample = samples_[s].number;
  metrics.reference_run = reference_runs_[s];
  // A fused Relu or Clip may turn a NaN that arises inside the node into 0 (documented; as written is the authority), and what
  // overflows between two nodes need not when they are one.
  if (optimized) {
    metrics.nan_a = 0;
    metrics.infinite_mismatches -= metrics.infinite_a;
  }
  const bool asked = options_->rtol || options_->atol;
  if (asked && !optimized)
    metrics.beyond_tolerance = count_beyond(reference, candidate, options_->rtol.value_or(0), options_->atol.value_or(0));
  decide(metrics, type_of_floor(tracked.reference.type()), tracked.floors[s]);
  return metrics;
}

void Verification::compare_sample(std::size_t i, std::size_t s, const Datum& reference, const Datum& candidate) {
  SampleMetrics metrics = metrics_of(tracked_[i], s, reference, candidate, /*optimized=*/false);
  OutputComparison& output = result_.outputs[i];
  if (metrics.outcome == Outcome::different && output.hint.empty()) {
    output.hint = hint(reference, candidate, metrics.bound_max * tracked_[i].yardstick(s).range());
  }
  check_declared(i, reference, candidate);
  output.samples.push_back(std::move(metrics));
}

void Verification::check_declared(std::size_t i, const Datum& reference, const Datum& candidate) {
  if (contradicts(a_.outputs[tracked_[i].index_a], reference)) return;
  const Port& port = b_.outputs[*tracked_[i].index_b];
  OutputComparison& output = result_.outputs[i];
  if (!contradicts(port, candidate) || output.outcome == Outcome::different) return;
  output.outcome = Outcome::different;
  output.reason = "declared " + type_text(port) + ", yields " + describe(candidate);
}

bool Verification::contradicts(const Port& port, const Datum& value) {
  if (port.kind != Datum::Kind::tensor || value.kind != Datum::Kind::tensor || !value.tensor) return port.kind != value.kind;
  if (port.type != DataType::undefined && port.type != value.tensor.type()) return true;
  if (!port.has_shape) return false;
  if (port.dims.size() != value.tensor.dims().size()) return true;
  for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
    if (port.dims[axis] >= 0 && port.dims[axis] != value.tensor.dims()[axis]) return true;
  }
  return false;
}

}  // namespace relayout
