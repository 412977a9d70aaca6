#pragma once

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/distance.h"
#include "verify/run/reference_output.h"

namespace relayout {

/// Half an ULP of 1 in this type, the largest relative error of one rounding.
[[nodiscard]] double unit_roundoff(DataType type) noexcept;
/// The type of the larger unit roundoff; the first if both are equal.
[[nodiscard]] DataType coarser(DataType a, DataType b) noexcept;
/// The type whose rounding the bounds of a value allow: its own, or `grain` if the value is measured and that is coarser.
[[nodiscard]] DataType type_of_floor(DataType type, DataType grain) noexcept;
/// Floating-point types of 16 bits and fewer.
[[nodiscard]] bool is_narrow(DataType type) noexcept;
/// The least bound of a type, relative to the range of a sample: thresholds::kLeastBound…
[[nodiscard]] double dtype_minimum(DataType type) noexcept;

/// Difference between two correct evaluations of the original.
using Floor = ErrorLimits;
/// The floor of one rounding of a sample's values: no floor is lower.
[[nodiscard]] Floor least_floor(DataType type, const Yardstick& sample);
/// A distance in the units of ErrorLimits.
[[nodiscard]] Floor relative(const Distance& apart, const Yardstick& sample);
void widen(Floor& floor, const Floor& other);
/// Whether a floor is so large that agreement within it shows little: see thresholds::kIllConditionedFloor.
[[nodiscard]] bool is_ill_conditioned(DataType type, const Floor& floor);
/// Sets floor, bounds, ratio and outcome (`same` or `different`, with reason) from the errors: both the largest and the RMS error count.
void judge_numbers(SampleMetrics& metrics, DataType type, const Floor& floor);

namespace thresholds {

/// Draws of a full floor, and draws to begin with. A figure within kNearFloors times a healthy floor needs no more than kFirstDraws, as
/// floors only grow with draws; all others get the rest before they are judged.
inline constexpr int kNoiseDraws = 3, kFirstDraws = 1;
inline constexpr double kNearFloors = 2;
/// A figure above its bound by a factor below kNearBound gets kMoreDraws more before it counts as different: where few elements carry the
/// error (a saturated output), three draws may all miss them.
inline constexpr int kMoreDraws = 6;
inline constexpr double kNearBound = 10;
/// The largest of n normal deviates is a firm estimate of the spread from about 96 deviates on: its 5 % quantile is above twice the
/// standard deviation, so that kFloorFactor × the floor covers 10 standard deviations. Outputs of fewer elements get draws until elements ×
/// draws reach this. Figures above their bound by a factor below kNearBoundOfFew wait for them.
inline constexpr int64_t kFirmElements = 96;
inline constexpr double kNearBoundOfFew = 1000;

/// Highest floor of a healthy network, in least bounds of its type (1e-5 in f32). A higher floor may result from runs that are not
/// repeatable.
inline constexpr double kHealthyFloor = 50;

}  // namespace thresholds

/// Whether a floor is that of a healthy network. Others get a full floor before any figure is compared with them, unless the files alone
/// prove the pair.
[[nodiscard]] bool is_healthy(DataType type, const Floor& floor);

/// Whether the first draws do not decide about a figure.
[[nodiscard]] bool needs_full_floor(const SampleMetrics& metrics);

/// Whether a figure is so little above its bound that more draws may still show that the difference is rounding. `seen`: the number of
/// elements in all draws together; with few, the floor may be far too low.
[[nodiscard]] bool is_near_bound(const SampleMetrics& metrics, int64_t seen = thresholds::kFirmElements);

/// Draws of a firm floor, for figures near their bound: more than of a full floor, and as many as an output of `elements` elements needs.
[[nodiscard]] int firm_draws(int64_t elements);

/// Draws of the floor to which stored outputs (`--data`) are compared.
[[nodiscard]] int stored_draws(bool quantized);

}  // namespace relayout
