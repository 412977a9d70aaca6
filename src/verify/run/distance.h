#pragma once

#include <cstdint>

#include "relayout/datum.h"

namespace relayout {

struct Distance {
  double max_abs = 0, rms = 0;  ///< largest and RMS difference over the elements that are finite in both
  int64_t apart = 0;            ///< elements that are not finite in one or both, except NaN in both and equal infinities
};
[[nodiscard]] Distance distance(const Datum& a, const Datum& b);
/// Number of elements with |a − b| > atol + rtol · |a|. Elements that are not finite count unless they are NaN in both or equal infinities.
[[nodiscard]] int64_t count_beyond(const Datum& a, const Datum& b, double rtol, double atol);

}  // namespace relayout
