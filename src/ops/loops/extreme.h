// Loop for the largest or smallest of many numbers, with NaN if any is NaN, for reductions.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/vectorize.h"

namespace relayout {

/// The first of `total` and the values in the order `better`; NaN if any of them is NaN.
template <class T, class Better>
RELAYOUT_VECTORIZE static T extreme_of(const T* values, int64_t count, T total, Better better) {
  using Flag = std::conditional_t<sizeof(T) == sizeof(int64_t), int64_t, int32_t>;
  constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));
  T lanes[kLanes];
  Flag strange[kLanes] = {};
  std::fill_n(lanes, kLanes, total);
  const auto take = [&](int64_t lane, T value) {
    if constexpr (std::is_floating_point_v<T>) strange[lane] |= static_cast<Flag>(value != value);
    lanes[lane] = better(value, lanes[lane]) ? value : lanes[lane];
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    RELAYOUT_KEEP_LOOP
    for (int64_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  }
  if (i > 0 && i < count) {  // reading some twice changes nothing
    RELAYOUT_KEEP_LOOP
    for (int64_t lane = 0; lane < kLanes; ++lane) take(lane, values[count - kLanes + lane]);
    i = count;
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) take(lane, values[i]);
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    RELAYOUT_KEEP_LOOP
    for (int64_t lane = 0; lane < width; ++lane) {
      strange[lane] |= strange[lane + width];
      lanes[lane] = better(lanes[lane + width], lanes[lane]) ? lanes[lane + width] : lanes[lane];
    }
  }
  if constexpr (std::is_floating_point_v<T>) return strange[0] != 0 || total != total ? std::numeric_limits<T>::quiet_NaN() : lanes[0];
  return lanes[0];
}

}  // namespace relayout
