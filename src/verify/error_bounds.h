#pragma once

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/distance.h"
#include "verify/yardstick.h"

namespace relayout {

/// Error of two correct evaluations of the original.
using Floor = ErrorLimits;
/// One rounding of a sample's values: no floor is below.
[[nodiscard]] Floor least_floor(DataType type, const Yardstick& sample);
/// A distance in the units of ErrorLimits.
[[nodiscard]] Floor relative(const Distance& apart, const Yardstick& sample);
void widen(Floor& floor, const Floor& other);
/// Whether a floor is so large that a sample which stays within it shows little: see rules::kIllConditioned.
[[nodiscard]] bool is_ill_conditioned(DataType type, const Floor& floor);
/// Sets bounds, ratio and outcome (`same` or `different`, with reason) from the metrics: both the largest error and the RMS count.
void decide(SampleMetrics& metrics, DataType type, const Floor& floor);

}  // namespace relayout
