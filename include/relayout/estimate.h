#pragma once

#include <optional>

namespace relayout {

struct Interval {
  double low = 0, high = 0;
};

/// A median of repeated measurements with its 95 % interval, from order statistics; none from fewer than six measurements.
struct Estimate {
  double median = 0;
  std::optional<Interval> interval;
};

}  // namespace relayout
