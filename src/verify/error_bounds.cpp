// The outcome of one output in one sample: the bound (the floor times kFloorFactor, or the type's least bound) and the reason (error/range,
// RMS/deviation, NaN, `--rtol`); marks ill-conditioned floors (what these show: ill_conditioned.cpp).
#include "verify/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "base/numbers.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/distance.h"
#include "verify/measured_types.h"
#include "verify/rules.h"
#include "verify/yardstick.h"

namespace relayout {
namespace {

/// Reason for a difference by elements that are not finite; empty: none.
std::string non_finite_reason(const SampleMetrics& metrics) {
  const auto elements = [](int64_t count, const char* what) { return counted(count, "element is ", "elements are ") + what; };
  std::string where =
      " (first " + to_string(metrics.worst.at) + ": " + exact_number(metrics.worst.b) + ", was " + exact_number(metrics.worst.a) + ")";
  if (metrics.non_finite.nan_b > 0) return elements(metrics.non_finite.nan_b, "NaN in B only") + where;
  if (metrics.non_finite.nan_a > 0) return elements(metrics.non_finite.nan_a, "NaN in A only") + where;
  if (metrics.non_finite.infinite > 0) return elements(metrics.non_finite.infinite, "infinite in one of both") + where;
  return {};
}

}  // namespace

Floor least_floor(DataType type, const Yardstick& sample) {
  const double unit = unit_roundoff(type);
  return {unit * sample.largest() / sample.range(), unit * sample.rms() / sample.sigma()};
}

Floor relative(const Distance& apart, const Yardstick& sample) {
  return {apart.max_abs / sample.range(), apart.rms / sample.sigma()};
}

void widen(Floor& floor, const Floor& other) {
  floor.max = std::max(floor.max, other.max);
  floor.rms = std::max(floor.rms, other.rms);
}

bool is_ill_conditioned(DataType type, const Floor& floor) {
  if (!is_measured(type)) return false;
  return floor.max > (is_narrow(type) ? rules::kIllConditionedNarrow : rules::kIllConditioned);
}

void decide(SampleMetrics& metrics, DataType type, const Floor& floor) {
  if (!is_measured(type)) {
    metrics.outcome = metrics.mismatches > 0 ? Outcome::different : Outcome::same;
    if (metrics.mismatches > 0) metrics.reason = counted(metrics.mismatches, "element differs, ", "elements differ, ") + metrics.reason;
    return;
  }
  const double minimum = dtype_minimum(type);
  metrics.floor = floor;
  metrics.ill_conditioned = is_ill_conditioned(type, floor);
  metrics.bound = {std::max(kFloorFactor * floor.max, minimum), std::max(kFloorFactor * floor.rms, minimum)};
  metrics.least_bound = minimum > kFloorFactor * floor.max;
  const auto bound_text = [&](double bound) {
    return scientific(bound) +
           (bound > minimum ? ", " + std::to_string(kFloorFactor) + " × floor" : ", the least bound of " + std::string(name_of(type)));
  };
  metrics.ratio = metrics.max_error == 0 ? 0 : metrics.max_error / floor.max;
  metrics.reason = non_finite_reason(metrics);
  if (metrics.reason.empty() && !(metrics.max_error <= metrics.bound.max)) {
    metrics.reason = "error/range " + scientific(metrics.max_error) + " is above " + bound_text(metrics.bound.max);
  }
  if (metrics.reason.empty() && !(metrics.rms_error <= metrics.bound.rms)) {
    metrics.reason = "RMS/deviation " + scientific(metrics.rms_error) + " is above " + bound_text(metrics.bound.rms);
  }
  if (metrics.reason.empty() && metrics.beyond_tolerance > 0) {
    metrics.reason = counted(metrics.beyond_tolerance, "element is", "elements are") + " beyond --rtol, --atol";
  }
  metrics.outcome = metrics.reason.empty() ? Outcome::same : Outcome::different;
}

}  // namespace relayout
