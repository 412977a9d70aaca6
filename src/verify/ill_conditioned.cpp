// Ill-conditioned samples, whose outputs rounding alone moves far, may show a difference, but not that there is none: replaced by samples
// of smaller inputs; the verdict is inconclusive where all are ill-conditioned.
#include "verify/ill_conditioned.h"

#include <algorithm>
#include <string>

#include "base/numbers.h"
#include "relayout/verify.h"
#include "verify/floors.h"
#include "verify/measured_types.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/rules.h"

namespace relayout {

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

void doubt_ill_conditioned(const Pair& pair, bool vouched, VerifyResult& result) {
  for (OutputComparison& output : result.outputs) {
    const auto is_ill = [](const SampleMetrics& metrics) { return metrics.ill_conditioned; };
    if (pair.options->accept.is_given() && is_narrow(pair.type_of_floor(output.type))) continue;
    if (vouched || pair.proved || output.outcome != Outcome::same || output.samples.empty() || !std::ranges::all_of(output.samples, is_ill))
      continue;
    output.outcome = Outcome::inconclusive;
    output.reason = "ill-conditioned: the floor is " + scientific(output.floor) + " of the range in every sample";
  }
}

void doubt_wide_floors(const Pair& pair, VerifyResult& result) {
  if (pair.proved || pair.options->accept.is_given()) return;
  const double most = kFloorFactor * rules::kWidestFloorNarrow;
  for (OutputComparison& output : result.outputs) {
    if (output.outcome != Outcome::same || output.samples.empty() || !is_narrow(pair.type_of_floor(output.type))) continue;
    const auto is_wide = [&](const SampleMetrics& metrics) {
      return metrics.floor.max > rules::kWidestFloorNarrow && metrics.max_error > most;
    };
    if (!std::ranges::all_of(output.samples, is_wide)) continue;
    const auto least = std::ranges::min_element(output.samples, {}, &SampleMetrics::max_error);
    output.outcome = Outcome::inconclusive;
    output.reason = "an error/range of " + scientific(least->max_error) + " is within rounding only because the floor is " +
                    scientific(least->floor.max) + " of the range (--accept error=… judges it)";
  }
}

}  // namespace relayout
