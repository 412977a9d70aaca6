#pragma once

#include <cstdint>

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/error_bounds.h"
#include "verify/rules.h"

namespace relayout {

/// Whether a floor is that of a healthy network.
[[nodiscard]] bool is_healthy(DataType type, const Floor& floor);

/// Whether floors get all draws of a full floor before any figure is compared with them. `proved`: the files alone prove the pair.
/// `healthy`: every floor is that of a healthy network.
[[nodiscard]] bool begins_with_full_floor(bool proved, bool healthy);

/// Whether the first draws do not decide about a figure.
[[nodiscard]] bool needs_full_floor(const SampleMetrics& metrics);

/// Whether a figure is so little above its bound that more draws may still show that the difference is rounding. `seen`: the number of
/// elements in all draws together; with few, the floor may be far too low.
[[nodiscard]] bool is_near_bound(const SampleMetrics& metrics, int64_t seen = rules::kFirmElements);

/// Draws of a firm floor, for figures near their bound: more than of a full floor, and as many as an output of `elements` elements needs.
[[nodiscard]] int firm_draws(int64_t elements);

/// Draws of the floor to which stored outputs (`--data`) are compared.
[[nodiscard]] int stored_draws(bool quantized);

}  // namespace relayout
