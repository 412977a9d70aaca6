// Second looks at a candidate's figures: firmer floors for what is barely above its bound, an explanation for values that are as good as
// decided the other way, and the candidate in double precision where the files are proved to compute the same.
#include "verify/settle.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/positions.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/candidate.h"
#include "verify/error_bounds.h"
#include "verify/floors.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/rules.h"
#include "verify/ties.h"

namespace relayout {
namespace {

bool differs(const SampleMetrics& metrics) {
  return metrics.outcome == Outcome::different;
}

bool has_unequal_nonfinite(const SampleMetrics& metrics) {
  return metrics.non_finite.unequal() > 0;
}

class Settlement {
 public:
  Settlement(const Pair& pair, const Reference& reference, Floors& floors, Candidate& candidate)
      : pair_(pair), reference_(reference), floors_(floors), candidate_(candidate) {}

  void firm_up();
  void explain_flipped();
  void acquit_own_rounding();

 private:
  [[nodiscard]] int64_t elements_of(std::size_t output, std::size_t sample) const {
    return std::max<int64_t>(reference_.outputs().yardstick(output, sample).count(), 1);
  }
  [[nodiscard]] bool is_beyond_few_floors() const;
  [[nodiscard]] bool is_near_bound(std::size_t output, std::size_t sample) const;
  /// Elements of the smallest output that lies near its bound; 0 where none does.
  [[nodiscard]] int64_t fewest_near_bound() const;
  /// Holds the figures against the floors as they are now.
  void decide_again();
  void explain_flipped(std::size_t output);

  const Pair& pair_;
  const Reference& reference_;
  Floors& floors_;
  Candidate& candidate_;
};

bool Settlement::is_beyond_few_floors() const {
  const auto is_beyond = [](const SampleMetrics& metrics) {
    return metrics.bound.max > 0 && (differs(metrics) || !(metrics.ratio <= rules::kNearFloors));
  };
  return std::ranges::any_of(candidate_.outputs(),
                             [&](const CandidateOutput& output) { return std::ranges::any_of(output.figures, is_beyond); });
}

bool Settlement::is_near_bound(std::size_t output, std::size_t sample) const {
  const SampleMetrics& metrics = candidate_.outputs()[output].figures[sample];
  const bool above = metrics.max_error > metrics.bound.max || metrics.rms_error > metrics.bound.rms;
  if (!differs(metrics) || !above || !(metrics.bound.max > 0) || has_unequal_nonfinite(metrics)) return false;
  const bool few = elements_of(output, sample) * floors_.draws() < rules::kFirmElements;
  const double near = few ? rules::kNearBoundOfFew : rules::kNearBound;
  return metrics.max_error < near * metrics.bound.max && metrics.rms_error < near * metrics.bound.rms;
}

int64_t Settlement::fewest_near_bound() const {
  int64_t fewest = 0;
  for (std::size_t i = 0; i < candidate_.outputs().size(); ++i) {
    for (std::size_t s = 0; s < candidate_.outputs()[i].figures.size(); ++s) {
      if (!is_near_bound(i, s)) continue;
      fewest = fewest == 0 ? elements_of(i, s) : std::min(fewest, elements_of(i, s));
    }
  }
  return fewest;
}

void Settlement::decide_again() {
  for (std::size_t i = 0; i < candidate_.outputs().size(); ++i) {
    CandidateOutput& output = candidate_.outputs()[i];
    const DataType type = pair_.type_of_floor(reference_.outputs().summary(i).type());
    for (std::size_t s = 0; s < output.figures.size(); ++s) {
      SampleMetrics& metrics = output.figures[s];
      metrics.reference_run = floors_.has_reference(s);
      if (metrics.bound.max > 0) decide(metrics, type, floors_.of(i, s));
    }
    if (output.place && std::ranges::none_of(output.figures, differs)) output.hint.clear();
  }
}

void Settlement::firm_up() {
  if (is_beyond_few_floors() && floors_.complete()) decide_again();
  const int64_t fewest = fewest_near_bound();
  if (fewest == 0) return;
  floors_.join_reference(0, candidate_.samples());
  floors_.firm_up(fewest);
  decide_again();
}

void Settlement::explain_flipped() {
  for (std::size_t i = 0; i < candidate_.outputs().size(); ++i) explain_flipped(i);
}

void Settlement::explain_flipped(std::size_t output) {
  const Flipped::BySample flipped = candidate_.flipped().take(output);
  const auto decider = flipped.empty() ? std::nullopt : decider_of(*pair_.a.model->graph().outputs()[output]);
  if (!decider) return;
  for (const auto& [s, stored] : flipped) {
    const auto inputs = [this, sample = s] { return reference_.inputs_of(sample); };
    const ExecuteOptions options = pair_.execute_options(Mode::as_written);
    const auto operands = decider_operands(pair_.a, *decider, inputs, options, rules::kNoiseDraws, pair_.grain);
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

/// Where the files are proved to compute the same, and the candidate in double precision agrees, a figure near its bound is the
/// candidate's own rounding: its sums may be taken in another order than the original's.
void Settlement::acquit_own_rounding() {
  const auto is_near = [](const SampleMetrics& metrics) {
    return !has_unequal_nonfinite(metrics) && metrics.bound.max > 0 && metrics.ratio <= rules::kReferenceFactor &&
           metrics.rms_error <= rules::kReferenceFactor * metrics.floor.rms;
  };
  std::vector<SampleMetrics*> open;
  for (CandidateOutput& output : candidate_.outputs()) {
    for (SampleMetrics& metrics : output.figures) {
      if (!differs(metrics)) continue;
      if (!is_near(metrics)) return;
      open.push_back(&metrics);
    }
  }
  const auto is_small = [](const Sample& sample) { return sample.macs <= rules::kReferenceMacs; };
  if (open.empty() || !std::ranges::all_of(reference_.samples(), is_small)) return;
  Candidate exact(pair_, reference_, floors_, Mode::reference);
  exact.run(reference_.samples().size());
  if (!exact.agrees_wholly()) return;
  for (SampleMetrics* const metrics : open) {
    metrics->outcome = Outcome::same;
    metrics->reason.clear();
  }
  for (CandidateOutput& output : candidate_.outputs()) output.hint.clear();
}

}  // namespace

void settle(const Pair& pair, const Reference& reference, Floors& floors, Candidate& candidate) {
  Settlement settlement(pair, reference, floors, candidate);
  settlement.firm_up();
  settlement.explain_flipped();
  if (pair.proved) settlement.acquit_own_rounding();
}

}  // namespace relayout
