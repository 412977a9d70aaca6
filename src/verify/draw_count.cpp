// Number of draws of a noise floor (1, 3 or 9): when the first one is enough, when a full floor is needed (healthy floors, figures near
// them), how many more figures near their bound and outputs of few elements get.
#include "verify/draw_count.h"

#include <algorithm>
#include <cstdint>

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/error_bounds.h"
#include "verify/measured_types.h"

namespace relayout {

bool is_healthy(DataType type, const Floor& floor) {
  return floor.max <= rules::kHealthyFloor * dtype_minimum(type);
}

bool needs_full_floor(const SampleMetrics& metrics) {
  return metrics.outcome == Outcome::different || !(metrics.ratio <= rules::kNearFloors);
}

bool is_near_bound(const SampleMetrics& metrics, int64_t seen) {
  const double near = seen < rules::kFirmElements ? rules::kNearBoundOfFew : rules::kNearBound;
  return metrics.non_finite.unequal() == 0 && metrics.max_error < near * metrics.bound.max && metrics.rms_error < near * metrics.bound.rms;
}

int firm_draws(int64_t elements) {
  const int64_t firm = (rules::kFirmElements + elements - 1) / std::max<int64_t>(elements, 1);
  return static_cast<int>(std::max<int64_t>(rules::kNoiseDraws + rules::kMoreDraws, std::min(firm, rules::kFirmElements)));
}

int stored_draws(bool quantized) {
  return rules::kNoiseDraws + (quantized ? rules::kMoreDraws : 0);
}

}  // namespace relayout
