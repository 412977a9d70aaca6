#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "relayout/estimate.h"

namespace relayout {

inline constexpr double kNanosecondsPerMicrosecond = 1000;

/// Nanoseconds on a monotonic clock of unspecified origin.
[[nodiscard]] int64_t steady_nanoseconds() noexcept;
/// Nanoseconds that all threads of this process have spent on processors.
[[nodiscard]] int64_t processor_nanoseconds() noexcept;
/// Nanoseconds that the calling thread has spent on processors.
[[nodiscard]] int64_t thread_nanoseconds() noexcept;

/// Measures a duration.
class Stopwatch {
 public:
  [[nodiscard]] int64_t nanoseconds() const noexcept { return steady_nanoseconds() - begin_; }
  [[nodiscard]] double seconds() const noexcept;

 private:
  int64_t begin_ = steady_nanoseconds();
};

/// The middle value, or the mean of the two middle values; 0 when there are none.
[[nodiscard]] double median_of(std::vector<double> values);
/// The least value that at least a share `p` of all values does not exceed (nearest rank). `sorted` is ascending and not empty.
[[nodiscard]] double quantile(std::span<const double> sorted, double p);
/// An interval that contains the median of the values' distribution with a probability of at least 95 %, whatever that distribution: from
/// the k-th least to the k-th largest value, for the largest k with P(Binomial(n, 1/2) < k) ≤ 2.5 %. Nothing for fewer than six values.
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> sorted);
/// Median and interval.
[[nodiscard]] Estimate estimate(std::vector<double> values);

/// The median over rounds of each round's median of log(b / a), converted back to a ratio, with its interval over rounds. Each round is a
/// list of ratios b / a.
[[nodiscard]] Estimate estimate_ratio(const std::vector<std::vector<double>>& rounds);

}  // namespace relayout
