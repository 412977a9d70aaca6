#pragma once

#include <cstdint>

#include "relayout/datum.h"
#include "relayout/verify.h"
#include "verify/yardstick.h"

namespace relayout {

/// Σ a · b / √(Σ a² · Σ b²); 1 where both are zero.
[[nodiscard]] double cosine(const LossSums& sums);
/// 10 · log10(Σ a² / Σ (a − b)²) in dB; infinite without a difference.
[[nodiscard]] double signal_to_noise(const LossSums& sums);

/// The metrics of one output over one sample that need no floor. The structures must be equal.
[[nodiscard]] SampleMetrics measure(const Datum& a, const Datum& b, const Yardstick& yardstick);
/// Number of differing elements in tensors of types that are compared exactly. The structures must be equal.
[[nodiscard]] int64_t count_mismatches(const Datum& a, const Datum& b);

}  // namespace relayout
