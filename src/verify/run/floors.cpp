// Measures how far two correct evaluations of A may differ, by runs with perturbed weights and in double precision.
#include "verify/run/floors.h"

#include "base/numbers.h"
#include "base/times.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/pair.h"
#include "verify/rules.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"

namespace relayout {

Floors::Floors(const Pair& pair, const Reference& reference)
    : pair_(&pair), reference_(&reference), noise_(pair.a.model->graph()), floors_(reference.outputs().count()) {}

void Floors::measure() {
  const Stopwatch watch;
  const std::size_t first = joined_.size(), last = reference_->samples().size();
  if (first == last) return;
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    const DataType type = pair_->type_of_floor(reference_->outputs().summary(i).type());
    for (std::size_t s = first; s < last; ++s) floors_[i].push_back(least_floor(type, reference_->outputs().yardstick(i, s)));
  }
  joined_.resize(last, false);
  draws_ = std::max(draws_, rules::kFirstDraws);
  draw(first, 0, draws_);
  seconds_ += watch.seconds();
  if (!pair_->proved && !are_healthy()) (void)complete();
}

bool Floors::complete() {
  if (draws_ >= rules::kNoiseDraws) return false;
  const Stopwatch watch;
  draw(0, draws_, rules::kNoiseDraws - draws_);
  draws_ = rules::kNoiseDraws;
  seconds_ += watch.seconds();
  return true;
}

void Floors::firm_up(int64_t fewest_elements) {
  const Stopwatch watch;
  const int wanted = firm_draws(fewest_elements);
  if (wanted > draws_) draw(0, draws_, wanted - draws_);
  draws_ = std::max(draws_, wanted);
  seconds_ += watch.seconds();
}

void Floors::draw(std::size_t first, int first_draw, int count) {
  const std::size_t last = reference_->samples().size();
  pair_->steps->expect(static_cast<int64_t>(last - first) * count);
  for (int number = first_draw; number < first_draw + count; ++number) {
    ExecuteOptions options = pair_->execute_options(Mode::as_written);
    noise_.apply(options, number, pair_->grain);
    const auto session = pair_->open(pair_->a, std::move(options));
    for (std::size_t s = first; s < last; ++s) {
      pair_->steps->next("noise floor");
      widen_by(*session, noise_.inputs(reference_->inputs_of(s), pair_->options->seed, number, pair_->grain), s, /*is_reference=*/false);
    }
  }
}

void Floors::join_reference(std::size_t first, std::size_t last) {
  const Stopwatch watch;
  std::vector<std::size_t> wanted;
  for (std::size_t s = first; s < last; ++s) {
    if (!joined_[s] && reference_->samples()[s].macs <= rules::kReferenceMacs) wanted.push_back(s);
  }
  if (wanted.empty()) return;
  pair_->steps->expect(static_cast<int64_t>(wanted.size()));
  const auto session = pair_->open(pair_->a, pair_->execute_options(Mode::reference));
  for (const std::size_t s : wanted) {
    pair_->steps->next("reference in double precision");
    widen_by(*session, reference_->inputs_of(s), s, /*is_reference=*/true);
  }
  seconds_ += watch.seconds();
}

void Floors::widen_by(Session& session, const Inputs& inputs, std::size_t sample, bool is_reference) {
  const Session::Run run = session.run(inputs);
  if (!run.rejected.empty()) return;
  if (is_reference) joined_[sample] = true;
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    const Datum reference = reference_->outputs().value(i, sample);
    // Other dims (another number of boxes, for example): this run has no distance.
    if (!structural_difference(reference, run.outputs[i]).empty()) continue;
    const Floor apart = relative(distance(reference, run.outputs[i]), reference_->outputs().yardstick(i, sample));
    if (is_reference) suspect(i, sample, apart);
    widen(floors_[i][sample], apart);
  }
}

void Floors::suspect(std::size_t output, std::size_t sample, const Floor& apart) {
  const double least = rules::kReferenceLeastBounds * dtype_minimum(reference_->outputs().summary(output).type());
  if (apart.max <= std::max(rules::kReferenceFloors * floors_[output][sample].max, least)) return;
  if (suspicions_.empty() || suspicions_.back().sample != sample) suspicions_.push_back({output, sample, apart.max});
}

bool Floors::is_ill_conditioned(std::size_t output, std::size_t sample) const {
  return relayout::is_ill_conditioned(pair_->type_of_floor(reference_->outputs().summary(output).type()), floors_[output][sample]);
}

bool Floors::are_healthy() const {
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    const DataType type = pair_->type_of_floor(reference_->outputs().summary(i).type());
    if (!std::ranges::all_of(floors_[i], [&](const Floor& floor) { return is_healthy(type, floor); })) return false;
  }
  return true;
}

int Floors::well_conditioned() const {
  const int all = static_cast<int>(joined_.size());
  int fewest = all;
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    int count = 0;
    for (std::size_t s = 0; s < joined_.size(); ++s) count += is_ill_conditioned(i, s) ? 0 : 1;
    fewest = std::min(fewest, count);
  }
  return fewest;
}

// Samples of smaller inputs, where rounding alone moves the outputs far.
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

}  // namespace relayout
