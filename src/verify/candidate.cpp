// Runs the model that is judged, in one mode, and measures its outputs against the reference: errors over the range of each sample, the
// bounds that the floors allow, and for exact outputs whether a choice between nearly equal numbers explains the difference.
#include "verify/candidate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "base/text.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare.h"
#include "verify/floors.h"
#include "verify/hints.h"
#include "verify/inputs/port.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/rules.h"
#include "verify/session.h"
#include "verify/ties.h"

namespace relayout {
namespace {

/// Whether a value contradicts what the file declares of it.
bool contradicts(const Port& port, const Datum& value) {
  if (port.kind != Datum::Kind::tensor || value.kind != Datum::Kind::tensor || !value.tensor) return port.kind != value.kind;
  if (port.type != DataType::undefined && port.type != value.tensor.type()) return true;
  if (!port.has_shape) return false;
  if (port.dims.size() != value.tensor.dims().size()) return true;
  for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
    if (port.dims[axis] >= 0 && port.dims[axis] != value.tensor.dims()[axis]) return true;
  }
  return false;
}

}  // namespace

Candidate::Candidate(const Pair& pair, const Reference& reference, Floors& floors, Mode mode)
    : pair_(&pair), reference_(&reference), floors_(&floors), mode_(mode) {
  for (const Port& port : pair.a.outputs) {
    const auto found = std::ranges::find(pair.b.outputs, port.name, &Port::name);
    const bool there = found != pair.b.outputs.end();
    places_.push_back(there ? std::optional(as_size(found - pair.b.outputs.begin())) : std::nullopt);
  }
  figures_.resize(places_.size());
  flipped_.resize(places_.size());
  hints_.resize(places_.size());
  contradictions_.resize(places_.size());
}

void Candidate::run() {
  const auto start = std::chrono::steady_clock::now();
  const std::size_t last = reference_->samples().size();
  pair_->steps->expect(static_cast<int64_t>(last - next_));
  const auto session = pair_->open(pair_->b, pair_->execute_options(mode_));
  for (; next_ < last && rejection_.empty(); ++next_) {
    pair_->steps->next(mode_ == Mode::optimized ? "candidate, optimized" : "candidate");
    const Session::Run run = session->run(reference_->inputs_of(next_));
    if (!run.rejected.empty()) {
      const Sample& sample = reference_->samples()[next_];
      rejection_ = run.rejected + " (sample " + std::to_string(sample.number);
      for (const auto& [name, value] : sample.assignment.dims) rejection_ += ", " + escape(name) + " = " + std::to_string(value);
      rejection_ += ")";
      break;
    }
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i]) compare(i, next_, run.outputs.at(*places_[i]));
    }
    if (next_ == 0) look_for_renames(run.outputs);
  }
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Candidate::compare(std::size_t output, std::size_t sample, const Datum& candidate) {
  const Datum reference = reference_->value(output, sample);
  keep_flipped(output, sample, reference, candidate);
  SampleMetrics metrics = metrics_of(output, sample, reference, candidate);
  if (metrics.outcome == Outcome::different && hints_[output].empty()) {
    hints_[output] = hint(reference, candidate, metrics.bound_max * reference_->yardstick(output, sample).range());
  }
  check_declared(output, reference, candidate);
  figures_[output].push_back(std::move(metrics));
}

SampleMetrics Candidate::metrics_of(std::size_t output, std::size_t sample, const Datum& reference, const Datum& candidate) const {
  SampleMetrics metrics;
  const std::string structural = structural_difference(reference, candidate);
  if (structural.empty()) metrics = measure(reference, candidate, reference_->yardstick(output, sample));
  metrics.sample = reference_->samples()[sample].number;
  if (!structural.empty()) {
    metrics.outcome = Outcome::different;
    metrics.reason = structural;
    return metrics;
  }
  metrics.reference_run = floors_->has_reference(sample);
  // A fused Relu or Clip may turn a NaN that arises inside the node into 0 (documented; as written is the authority), and what
  // overflows between two nodes need not when they are one.
  if (mode_ == Mode::optimized) {
    metrics.nan_a = 0;
    metrics.infinite_mismatches -= metrics.infinite_a;
  } else if (pair_->options->rtol || pair_->options->atol) {
    metrics.beyond_tolerance = count_beyond(reference, candidate, pair_->options->rtol.value_or(0), pair_->options->atol.value_or(0));
  }
  decide(metrics, pair_->type_of_floor(reference_->output(output).type()), floors_->of(output, sample));
  return metrics;
}

void Candidate::keep_flipped(std::size_t output, std::size_t sample, const Datum& reference, const Datum& candidate) {
  const DataType type = reference_->output(output).type();
  const bool exact = candidate.kind == Datum::Kind::tensor && reference.kind == Datum::Kind::tensor && candidate.tensor &&
                     kNumericTypes.has(type) && !is_measured(type);
  if (exact && candidate.tensor.type() == type && !bit_equal(reference, candidate)) {
    flipped_[output].emplace(sample, spill_.write(candidate));
  }
}

void Candidate::explain_flipped(std::size_t output) {
  if (flipped_[output].empty()) return;
  const auto decider = decider_of(*pair_->a.model->graph().outputs()[output]);
  if (!decider) return;
  for (const auto& [s, stored] : flipped_[output]) {
    const auto inputs = [&, sample = s] { return reference_->inputs_of(sample); };
    const ExecuteOptions options = pair_->execute_options(Mode::as_written);
    const auto operands = decider_operands(pair_->a, *decider, inputs, options, rules::kNoiseDraws, pair_->grain);
    const TieVerdict verdict = explain_ties(*decider, operands, reference_->value(output, s).tensor, spill_.read(stored).tensor);
    SampleMetrics& metrics = figures_[output][s];
    if (verdict.explained) {
      metrics.outcome = Outcome::same;
      metrics.ties = verdict.ties;
      metrics.reason = verdict.text;
    } else if (!verdict.text.empty()) {
      metrics.reason += ", which no tie explains: " + verdict.text;
    }
  }
  flipped_[output].clear();
}

int64_t Candidate::elements_of(std::size_t output, std::size_t sample) const {
  return std::max<int64_t>(reference_->yardstick(output, sample).count(), 1);
}

bool Candidate::is_near_bound(std::size_t output, const SampleMetrics& metrics) const {
  const bool above = metrics.max_error > metrics.bound_max || metrics.rms_error > metrics.bound_rms;
  const bool by_numbers = above && metrics.bound_max > 0 && metrics.nan_a + metrics.nan_b + metrics.infinite_mismatches == 0;
  if (metrics.outcome != Outcome::different || !by_numbers) return false;
  const auto sample = as_size(&metrics - figures_[output].data());
  const bool few = elements_of(output, sample) * floors_->draws() < rules::kFirmElements;
  const double near = few ? rules::kNearBoundOfFew : rules::kNearBound;
  return metrics.max_error < near * metrics.bound_max && metrics.rms_error < near * metrics.bound_rms;
}

void Candidate::settle() {
  int64_t fewest = 0;
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    for (std::size_t s = 0; s < figures_[i].size(); ++s) {
      if (is_near_bound(i, figures_[i][s])) fewest = fewest == 0 ? elements_of(i, s) : std::min(fewest, elements_of(i, s));
    }
  }
  if (fewest > 0) {
    floors_->join_reference(0, next_);
    floors_->firm_up(fewest);
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      const DataType type = pair_->type_of_floor(reference_->output(i).type());
      for (std::size_t s = 0; s < figures_[i].size(); ++s) {
        SampleMetrics& metrics = figures_[i][s];
        metrics.reference_run = floors_->has_reference(s);
        if (metrics.bound_max > 0) decide(metrics, type, floors_->of(i, s));
      }
    }
  }
  for (std::size_t i = 0; i < figures_.size(); ++i) explain_flipped(i);
}

std::optional<std::size_t> Candidate::first_different() const {
  std::optional<std::size_t> first;
  for (const auto& samples : figures_) {
    const auto found = std::ranges::find(samples, Outcome::different, &SampleMetrics::outcome);
    if (found == samples.end()) continue;
    const auto s = as_size(found - samples.begin());
    first = first ? std::min(*first, s) : s;
  }
  return first;
}

void Candidate::check_declared(std::size_t output, const Datum& reference, const Datum& candidate) {
  if (!contradictions_[output].empty() || contradicts(pair_->a.outputs[output], reference)) return;
  const Port& port = pair_->b.outputs[*places_[output]];
  if (contradicts(port, candidate)) contradictions_[output] = "declared " + type_text(port) + ", yields " + describe(candidate);
}

bool Candidate::agree(std::size_t output, const Datum& candidate) const {
  return metrics_of(output, 0, reference_->value(output, 0), candidate).outcome == Outcome::same;
}

/// Names that were changed or exchanged: said, never matched silently. Looked for in the first sample, among few.
void Candidate::look_for_renames(const Outputs& outputs) {
  constexpr std::size_t kMost = 16;
  if (places_.size() > kMost || outputs.size() > kMost) return;
  const std::string name_b = escape(pair_->b.name);
  const auto differs = [&](std::size_t i) { return places_[i] && figures_[i].front().outcome == Outcome::different; };
  for (std::size_t i = 0; i < places_.size(); ++i) {
    for (std::size_t k = 0; !places_[i] && k < outputs.size() && hints_[i].empty(); ++k) {
      const bool taken = std::ranges::find(places_, std::optional(k)) != places_.end();
      if (taken || !agree(i, outputs[k])) continue;
      hints_[i] = name_b + " has " + quote(pair_->b.outputs[k].name) + ", and its values agree under this renaming";
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (!differs(i) || !differs(k) || !agree(i, outputs[*places_[k]]) || !agree(k, outputs[*places_[i]])) continue;
      for (const auto& [one, other] : {std::pair{i, k}, std::pair{k, i}}) {
        hints_[one] = "its values agree with those of " + quote(pair_->a.outputs[other].name) + ": the two are exchanged";
      }
    }
  }
}

}  // namespace relayout
