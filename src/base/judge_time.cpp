// Whether two times are the same (within 10 %), faster, slower or inconclusive, by the interval of their ratio, and whether a slowdown is
// beyond a limit (`--fail-on-slowdown`).
#include <array>
#include <cstddef>
#include <string_view>

#include "relayout/estimate.h"

namespace relayout {
namespace {

constexpr double kSame = 1.1;  ///< the ratio of two equal times, each known to 5 %, may be this far from 1

}  // namespace

std::string_view to_string(TimeClass kind) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"faster", "slower", "same", "inconclusive", "unknown"});
  return kNames[static_cast<std::size_t>(kind)];
}

TimeClass judge_time(const Estimate& ratio) noexcept {
  if (!ratio.interval) return TimeClass::unknown;
  const auto [low, high] = *ratio.interval;
  if (high < 1) return TimeClass::faster;
  if (low > 1) return TimeClass::slower;
  return low >= 1 / kSame && high <= kSame ? TimeClass::same : TimeClass::inconclusive;
}

std::string_view to_string(SlowdownVerdict verdict) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"within", "slower", "inconclusive"});
  return kNames[static_cast<std::size_t>(verdict)];
}

SlowdownVerdict judge_slowdown(const Estimate& ratio, double limit) noexcept {
  if (!ratio.interval) return SlowdownVerdict::inconclusive;
  if (ratio.interval->low > 1 + limit) return SlowdownVerdict::slower;
  return ratio.interval->high <= 1 + limit ? SlowdownVerdict::within : SlowdownVerdict::inconclusive;
}

}  // namespace relayout
