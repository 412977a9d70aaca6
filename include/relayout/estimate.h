#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace relayout {

struct Interval {
  double low = 0, high = 0;
};

/// A median of repeated measurements with its 95 % interval, from order statistics; none from fewer than six measurements.
struct Estimate {
  double median = 0;
  std::optional<Interval> interval;
};

/// The ratio b / a of two that were measured apart. Its interval spans the extremes of both: wider than 95 %, never narrower.
[[nodiscard]] Estimate ratio_of(const Estimate& a, const Estimate& b) noexcept;

/// What the interval of a ratio of times shows: the whole of it lies on one side of 1 (`faster`, `slower`), or it holds 1 and ends within a
/// tenth of it (`same`), or it is too wide for either (`inconclusive`); `unknown` without an interval.
enum class TimeClass : uint8_t { faster, slower, same, inconclusive, unknown };
[[nodiscard]] std::string_view to_string(TimeClass kind) noexcept;
[[nodiscard]] TimeClass judge_time(const Estimate& ratio) noexcept;
/// Whether it shows a difference.
[[nodiscard]] inline bool is_difference(TimeClass kind) noexcept {
  return kind == TimeClass::faster || kind == TimeClass::slower;
}

enum class SlowdownVerdict : uint8_t { within, slower, inconclusive };
[[nodiscard]] std::string_view to_string(SlowdownVerdict verdict) noexcept;
/// Whether b is slower than a by more than `limit` (0.05: five percent): the whole interval lies beyond it, or on this side of it; without
/// an interval nothing can be said.
[[nodiscard]] SlowdownVerdict judge_slowdown(const Estimate& ratio, double limit) noexcept;

}  // namespace relayout
