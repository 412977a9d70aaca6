#pragma once

#include <cstdint>

#include "relayout/datum.h"

namespace relayout {

struct Distance {
  double max_abs = 0, rms = 0;  ///< largest and RMS difference over the elements that are finite in both
  int64_t apart = 0;            ///< elements that are NaN or infinite in one of both, or infinite with two signs
};
[[nodiscard]] Distance distance(const Datum& a, const Datum& b);
/// Number of elements with |a − b| > atol + rtol · |a|, or of which only one is NaN or both are not the same infinity.
[[nodiscard]] int64_t count_beyond(const Datum& a, const Datum& b, double rtol, double atol);

}  // namespace relayout
