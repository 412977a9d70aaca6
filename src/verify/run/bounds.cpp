// Decides how large an error may be: the unit roundoff and least bound of types, floors, bounds, and how many draws they need.
#include "verify/run/bounds.h"

#include <cmath>

#include "base/numbers.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/distance.h"
#include "verify/run/reference_output.h"
#include "verify/thresholds.h"

namespace relayout {

// Types that are compared by error, and their rounding.
namespace {

/// The type whose precision counts: for a complex type, that of its parts.
DataType precision_type(DataType type) {
  if (type == DataType::complex64) return DataType::float32;
  if (type == DataType::complex128) return DataType::float64;
  return type;
}

}  // namespace

bool is_measured(DataType type) noexcept {
  switch (type) {
    case DataType::float32:
    case DataType::float64:
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::complex64:
    case DataType::complex128:
      return true;
    default:
      return false;
  }
}

double unit_roundoff(DataType type) noexcept {
  return is_measured(type) ? std::ldexp(0.5, -traits(precision_type(type)).fraction_bits) : 0;
}

DataType coarser(DataType a, DataType b) noexcept {
  return unit_roundoff(b) > unit_roundoff(a) ? b : a;
}

DataType type_of_floor(DataType type, DataType grain) noexcept {
  return is_measured(type) ? coarser(type, grain) : type;
}

bool is_narrow(DataType type) noexcept {
  return unit_roundoff(type) >= unit_roundoff(DataType::float16);
}

double dtype_minimum(DataType type) noexcept {
  switch (precision_type(type)) {
    case DataType::float64:
      return thresholds::kLeastBoundF64;
    case DataType::float32:
      return thresholds::kLeastBoundF32;
    case DataType::float16:
      return thresholds::kLeastBoundF16;
    case DataType::bfloat16:
      return thresholds::kLeastBoundBf16;
    default:
      return 2 * unit_roundoff(type);
  }
}

// Floors and bounds of a sample.
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
  // Numbers below the smallest normal one are rounded to its steps.
  constexpr double kSmallestNormalF16 = 0x1p-14;
  const double unit = unit_roundoff(type), least = type == DataType::float16 ? kSmallestNormalF16 : 0;
  return {unit * std::max(sample.largest(), least) / sample.range(), unit * std::max(sample.rms(), least) / sample.sigma()};
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
  return floor.max > (is_narrow(type) ? thresholds::kIllConditionedFloorNarrow : thresholds::kIllConditionedFloor);
}

void judge_numbers(SampleMetrics& metrics, DataType type, const Floor& floor) {
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

// How many draws a floor needs.
bool is_healthy(DataType type, const Floor& floor) {
  return floor.max <= thresholds::kHealthyFloor * dtype_minimum(type);
}

bool needs_full_floor(const SampleMetrics& metrics) {
  return metrics.outcome == Outcome::different || !(metrics.ratio <= thresholds::kNearFloors);
}

bool is_near_bound(const SampleMetrics& metrics, int64_t seen) {
  const double near = seen < thresholds::kFirmElements ? thresholds::kNearBoundOfFew : thresholds::kNearBound;
  return metrics.non_finite.unequal() == 0 && metrics.max_error < near * metrics.bound.max && metrics.rms_error < near * metrics.bound.rms;
}

int firm_draws(int64_t elements) {
  const int64_t firm = (thresholds::kFirmElements + elements - 1) / std::max<int64_t>(elements, 1);
  return static_cast<int>(std::max<int64_t>(thresholds::kNoiseDraws + thresholds::kMoreDraws, std::min(firm, thresholds::kFirmElements)));
}

int stored_draws(bool quantized) {
  return thresholds::kNoiseDraws + (quantized ? thresholds::kMoreDraws : 0);
}

// Remarks on bounds that leave the verdict alone.
bool has_unusual_ratio(const OutputComparison& output) noexcept {
  return output.ratio > thresholds::kUnusualRatio;
}

std::vector<std::string> remarks_on(const OutputComparison& output) {
  if (output.outcome != Outcome::same) return {};
  std::vector<std::string> out;
  const std::string bound = std::to_string(kFloorFactor) + " × floor";
  if (output.ratio > kFloorFactor && !output.least_bound) {
    out.push_back("above " + bound + " by B's own rounding");
  } else if (has_unusual_ratio(output) && output.least_bound) {
    out.push_back("within " + scientific(output.bound) + ", the least bound of " + std::string(name_of(output.type)) + ": " + bound +
                  " is less");
  } else if (has_unusual_ratio(output)) {
    out.push_back("within the bound of " + bound + ", but above what correct evaluations usually differ by");
  }
  if (output.floor > thresholds::kHighFloor) {
    out.push_back("the floor is " + fixed(100 * output.floor, 0) + " % of the range: correct evaluations may differ by this much here");
  }
  return out;
}

}  // namespace relayout
