#pragma once

#include <cstdint>

#include "relayout/datum.h"
#include "relayout/verify.h"
#include "verify/run/yardstick.h"

namespace relayout {

/// The metrics of one output over one sample that need no floor. The structures must be equal.
[[nodiscard]] SampleMetrics measure(const Datum& a, const Datum& b, const Yardstick& yardstick);
/// Number of differing elements in tensors of types that are compared exactly. The structures must be equal.
[[nodiscard]] int64_t count_mismatches(const Datum& a, const Datum& b);

}  // namespace relayout
