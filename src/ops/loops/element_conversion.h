#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "relayout/types.h"

namespace relayout {

/// Converts `count` neighbouring elements between two of the types that C++ computes in and bool, with the results of load() and store().
/// Integers wrap into narrower ones and round to nearest as floats, floats truncate and saturate (NaN becomes 0), anything but 0 is true.
/// Returns false and writes nothing for other types.
bool convert_run(DataType from_type, const std::byte* from, DataType to_type, std::byte* to, int64_t count);

/// Floating point to integer: truncates, saturates, NaN becomes 0.
template <class Integer, class Real>
[[gnu::always_inline]] inline Integer truncate(Real value) {
  constexpr auto kLow = static_cast<Real>(std::numeric_limits<Integer>::min());
  // The largest integer may round up to a power of two, which no longer fits.
  constexpr Integer kHalf = std::numeric_limits<Integer>::max() / 2 + 1;
  constexpr auto kHigh = static_cast<Real>(kHalf) * 2;
  const Real below = value < kHigh ? value : 0;  // NaN too
  const auto whole = static_cast<Integer>(below > kLow ? below : kLow);
  return value >= kHigh ? std::numeric_limits<Integer>::max() : whole;
}

}  // namespace relayout
