#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace relayout {

struct Interval {
  double low = 0, high = 0;
};

/// The median of repeated measurements and its 95 % interval from order statistics. Fewer than six measurements give no interval.
struct Estimate {
  double median = 0;
  std::optional<Interval> interval;
};

/// The ratio b / a of two quantities measured independently. Its interval spans the extremes of both intervals, so that its confidence is
/// at least 95 %. No interval if `a` or `b` has none.
[[nodiscard]] Estimate ratio_of(const Estimate& a, const Estimate& b) noexcept;

/// Classification of a ratio of times by its interval: entirely below 1 (`faster`) or above 1 (`slower`), around 1 and within
/// [1 / 1.1, 1.1] (`same`), or too wide for either (`inconclusive`); `unknown` without an interval.
enum class TimeClass : uint8_t { faster, slower, same, inconclusive, unknown };
[[nodiscard]] std::string_view to_string(TimeClass kind) noexcept;
[[nodiscard]] TimeClass judge_time(const Estimate& ratio) noexcept;
/// Whether the class is `faster` or `slower`.
[[nodiscard]] inline bool is_difference(TimeClass kind) noexcept {
  return kind == TimeClass::faster || kind == TimeClass::slower;
}

enum class SlowdownVerdict : uint8_t { within, slower, inconclusive };
[[nodiscard]] std::string_view to_string(SlowdownVerdict verdict) noexcept;
/// Whether b is slower than a by more than `limit` (0.05: five percent): `slower` when the whole interval is above 1 + limit, `within` when
/// none of it is; otherwise, and without an interval, `inconclusive`.
[[nodiscard]] SlowdownVerdict judge_slowdown(const Estimate& ratio, double limit) noexcept;

}  // namespace relayout
