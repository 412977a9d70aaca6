#pragma once

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/distance.h"
#include "verify/yardstick.h"

namespace relayout {

/// Difference between two correct evaluations of the original.
using Floor = ErrorLimits;
/// The floor of one rounding of a sample's values: no floor is lower.
[[nodiscard]] Floor least_floor(DataType type, const Yardstick& sample);
/// A distance in the units of ErrorLimits.
[[nodiscard]] Floor relative(const Distance& apart, const Yardstick& sample);
void widen(Floor& floor, const Floor& other);
/// Whether a floor is so large that agreement within it shows little: see rules::kIllConditioned.
[[nodiscard]] bool is_ill_conditioned(DataType type, const Floor& floor);
/// Sets floor, bounds, ratio and outcome (`same` or `different`, with reason) from the errors: both the largest and the RMS error count.
void decide(SampleMetrics& metrics, DataType type, const Floor& floor);

}  // namespace relayout
