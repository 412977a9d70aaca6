// Runs B, pairs its outputs with A's, and judges their errors, relative to the range of each sample, by its floors.
#include "verify/run/candidate.h"

#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/inputs/port.h"
#include "verify/interface.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/floors.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"
#include "verify/run/ties.h"

namespace relayout {

Candidate::Candidate(const Pair& pair, const Reference& reference, const Floors& floors, Mode mode)
    : pair_(&pair), reference_(&reference), floors_(&floors), mode_(mode), flipped_(pair.a.outputs.size()) {
  for (const Port& port : pair.a.outputs) {
    const auto found = std::ranges::find(pair.b.outputs, port.name, &Port::name);
    const bool there = found != pair.b.outputs.end();
    outputs_.push_back({there ? std::optional(as_size(found - pair.b.outputs.begin())) : std::nullopt, {}, {}, {}});
  }
}

void Candidate::run(std::size_t count) {
  const Stopwatch watch;
  const std::size_t last = std::min(count, reference_->samples().size());
  pair_->steps->expect(static_cast<int64_t>(last - samples_));
  const auto session = pair_->open(pair_->b, pair_->execute_options(mode_));
  for (; samples_ < last && rejection_.empty(); ++samples_) {
    pair_->steps->next(mode_ == Mode::optimized ? "candidate, optimized" : "candidate");
    const Session::Run run = session->run(reference_->inputs_of(samples_));
    if (!run.rejected.empty()) {
      const Sample& sample = reference_->samples()[samples_];
      rejection_ = run.rejected + " (sample " + std::to_string(sample.number);
      for (const auto& [name, value] : sample.assignment.dims) rejection_ += ", " + escape(name) + " = " + std::to_string(value);
      rejection_ += ")";
      break;
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].place) compare(i, samples_, run.outputs.at(*outputs_[i].place));
    }
    if (samples_ == 0) look_for_renames(run.outputs);
  }
  seconds_ += watch.seconds();
}

void Candidate::compare(std::size_t output, std::size_t sample, const Datum& candidate) {
  const Datum reference = reference_->outputs().value(output, sample);
  SampleMetrics metrics = metrics_of(output, sample, reference, candidate);
  if (!metrics.other_structure) flipped_.keep_if_flipped(output, sample, reference, candidate);
  if (metrics.outcome == Outcome::different && outputs_[output].hint.empty()) {
    outputs_[output].hint = hint(reference, candidate, metrics.bound.max * reference_->outputs().yardstick(output, sample).range());
  }
  check_declared(output, reference, candidate);
  outputs_[output].figures.push_back(std::move(metrics));
}

SampleMetrics Candidate::metrics_of(std::size_t output, std::size_t sample, const Datum& reference, const Datum& candidate) const {
  SampleMetrics metrics;
  const std::string structural = structural_difference(reference, candidate);
  if (structural.empty()) metrics = measure(reference, candidate, reference_->outputs().yardstick(output, sample));
  metrics.sample = reference_->samples()[sample].number;
  if (!structural.empty()) {
    metrics.other_structure = true;
    metrics.outcome = Outcome::different;
    metrics.reason = structural;
    return metrics;
  }
  metrics.reference_run = floors_->has_reference(sample);
  // A fused Relu or Clip may turn a NaN computed inside the node into 0 (documented; as-written execution is authoritative). A value that
  // overflows between two nodes may not overflow inside a fused one.
  if (mode_ == Mode::optimized) {
    metrics.non_finite.nan_a = 0;
    metrics.non_finite.infinite -= metrics.non_finite.infinite_a;
  } else if (pair_->options->rtol || pair_->options->atol) {
    metrics.beyond_tolerance = count_beyond(reference, candidate, pair_->options->rtol.value_or(0), pair_->options->atol.value_or(0));
  }
  judge_numbers(metrics, pair_->type_of_floor(reference_->outputs().summary(output).type()), floors_->of(output, sample));
  return metrics;
}

void Flipped::keep_if_flipped(std::size_t output, std::size_t sample, const Datum& reference, const Datum& candidate) {
  if (candidate.kind != Datum::Kind::tensor || reference.kind != Datum::Kind::tensor || !candidate.tensor || !reference.tensor) return;
  const DataType type = reference.tensor.type();
  const bool exact = (kNumericTypes | kBooleanTypes).has(type) && !is_measured(type);
  if (exact && candidate.tensor.type() == type && !bit_equal(reference, candidate))
    outputs_[output].emplace(sample, spill_.write(candidate));
}

bool Candidate::agrees_wholly() const {
  const auto agrees = [this](const CandidateOutput& output) {
    const auto i = as_size(&output - outputs_.data());
    if (!output.place || !output.contradiction.empty()) return false;
    for (std::size_t s = 0; s < output.figures.size(); ++s) {
      const SampleMetrics& metrics = output.figures[s];
      const ReferenceOutputs& references = reference_->outputs();
      const bool is_finite = !is_measured(references.summary(i).type()) || references.yardstick(i, s).count() == metrics.sums.elements;
      if (metrics.outcome != Outcome::same || !is_finite) return false;
    }
    return true;
  };
  return rejection_.empty() && std::ranges::all_of(outputs_, agrees);
}

bool Candidate::agrees() const {
  const auto is_declared = [](const CandidateOutput& output) { return output.contradiction.empty(); };
  return rejection_.empty() && !first_different() && std::ranges::all_of(outputs_, is_declared);
}

std::optional<std::size_t> Candidate::first_different() const {
  std::optional<std::size_t> first;
  for (const CandidateOutput& output : outputs_) {
    const auto found = std::ranges::find(output.figures, Outcome::different, &SampleMetrics::outcome);
    if (found == output.figures.end()) continue;
    const auto s = as_size(found - output.figures.begin());
    first = first ? std::min(*first, s) : s;
  }
  return first;
}

void Candidate::check_declared(std::size_t output, const Datum& reference, const Datum& candidate) {
  if (!outputs_[output].contradiction.empty() || contradicts(pair_->a.outputs[output], reference)) return;
  const Port& port = pair_->b.outputs[*outputs_[output].place];
  if (contradicts(port, candidate)) outputs_[output].contradiction = "declared " + type_text(port) + ", yields " + describe(candidate);
}

/// Looks for changed or exchanged names in the first sample, if outputs are few: reported, never matched silently.
void Candidate::look_for_renames(const Outputs& outputs) {
  constexpr std::size_t kMost = 16;
  if (outputs_.size() > kMost || outputs.size() > kMost) return;
  const std::string name_b = escape(pair_->b.name);
  const auto agree = [&](std::size_t i, const Datum& candidate) {
    return metrics_of(i, 0, reference_->outputs().value(i, 0), candidate).outcome == Outcome::same;
  };
  const auto differs = [&](std::size_t i) { return outputs_[i].place && outputs_[i].figures.front().outcome == Outcome::different; };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    for (std::size_t k = 0; !outputs_[i].place && k < outputs.size() && outputs_[i].hint.empty(); ++k) {
      const bool taken = std::ranges::find(outputs_, std::optional(k), &CandidateOutput::place) != outputs_.end();
      if (taken || !agree(i, outputs[k])) continue;
      outputs_[i].hint = name_b + " has " + quote(pair_->b.outputs[k].name) + ", and its values agree under this renaming";
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (!differs(i) || !differs(k) || !agree(i, outputs[*outputs_[k].place]) || !agree(k, outputs[*outputs_[i].place])) continue;
      for (const auto& [one, other] : {std::pair{i, k}, std::pair{k, i}}) {
        outputs_[one].hint = "its values agree with those of " + quote(pair_->a.outputs[other].name) + ": the two are exchanged";
      }
    }
  }
}

namespace {

bool differs(const SampleMetrics& metrics) {
  return metrics.outcome == Outcome::different;
}

/// Decides a candidate's figures again where they are in doubt.
class Settlement {
 public:
  Settlement(const Pair& pair, const Reference& reference, Floors& floors, Candidate& candidate)
      : pair_(pair), reference_(reference), floors_(floors), candidate_(candidate) {}

  void firm_up() {
    if (is_beyond_few_floors() && floors_.complete()) decide_again();
    const int64_t fewest = fewest_near_bound();
    if (fewest == 0) return;
    floors_.join_reference(0, candidate_.samples());
    floors_.firm_up(fewest);
    decide_again();
  }

  void explain_flipped(std::size_t output) {
    const Flipped::BySample flipped = candidate_.flipped().take(output);
    const Node* const decider = flipped.empty() ? nullptr : decider_of(*pair_.a.model->graph().outputs()[output]);
    if (!decider) return;
    for (const auto& [s, stored] : flipped) {
      const auto inputs = [this, sample = s] { return reference_.inputs_of(sample); };
      const auto operands = decider_operands(pair_, *decider, inputs, thresholds::kNoiseDraws);
      const Tensor candidate = candidate_.flipped().read(stored);
      const TieVerdict verdict = explain_ties(*decider, operands, reference_.outputs().value(output, s).tensor, candidate);
      SampleMetrics& metrics = candidate_.outputs()[output].figures[s];
      if (verdict.explained) {
        metrics.outcome = Outcome::same;
        metrics.ties = verdict.ties;
        metrics.reason = verdict.text;
      } else if (!verdict.text.empty()) {
        metrics.reason += ", which no tie explains: " + verdict.text;
      }
    }
  }

 private:
  [[nodiscard]] int64_t elements_of(std::size_t output, std::size_t sample) const {
    return std::max<int64_t>(reference_.outputs().yardstick(output, sample).count(), 1);
  }

  bool is_beyond_few_floors() const {
    const auto is_beyond = [](const SampleMetrics& metrics) { return metrics.bound.max > 0 && needs_full_floor(metrics); };
    return std::ranges::any_of(candidate_.outputs(),
                               [&](const CandidateOutput& output) { return std::ranges::any_of(output.figures, is_beyond); });
  }

  bool is_near_bound(std::size_t output, std::size_t sample) const {
    const SampleMetrics& metrics = candidate_.outputs()[output].figures[sample];
    const bool above = metrics.max_error > metrics.bound.max || metrics.rms_error > metrics.bound.rms;
    return differs(metrics) && above && relayout::is_near_bound(metrics, elements_of(output, sample) * floors_.draws());
  }

  /// Elements of the smallest output slightly above its bound; 0: none.
  int64_t fewest_near_bound() const {
    int64_t fewest = 0;
    for (std::size_t i = 0; i < candidate_.outputs().size(); ++i) {
      for (std::size_t s = 0; s < candidate_.outputs()[i].figures.size(); ++s) {
        if (!is_near_bound(i, s)) continue;
        fewest = fewest == 0 ? elements_of(i, s) : std::min(fewest, elements_of(i, s));
      }
    }
    return fewest;
  }

  /// Compares the figures with the current floors.
  void decide_again() {
    for (std::size_t i = 0; i < candidate_.outputs().size(); ++i) {
      CandidateOutput& output = candidate_.outputs()[i];
      const DataType type = pair_.type_of_floor(reference_.outputs().summary(i).type());
      for (std::size_t s = 0; s < output.figures.size(); ++s) {
        SampleMetrics& metrics = output.figures[s];
        metrics.reference_run = floors_.has_reference(s);
        if (metrics.bound.max > 0) judge_numbers(metrics, type, floors_.of(i, s));
      }
      if (output.place && std::ranges::none_of(output.figures, differs)) output.hint.clear();
    }
  }

  const Pair& pair_;
  const Reference& reference_;
  Floors& floors_;
  Candidate& candidate_;
};

}  // namespace

void settle(const Pair& pair, const Reference& reference, Floors& floors, Candidate& candidate) {
  Settlement settlement(pair, reference, floors, candidate);
  settlement.firm_up();
  for (std::size_t i = 0; i < candidate.outputs().size(); ++i) settlement.explain_flipped(i);
}

}  // namespace relayout
