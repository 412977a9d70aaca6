#pragma once

#include <optional>
#include <span>
#include <vector>

#include "relayout/estimate.h"

namespace relayout {

/// The middle of the values, or the mean of the two in the middle; 0 of none.
[[nodiscard]] double median_of(std::vector<double> values);
/// The least value that at least the part `p` of all values does not exceed (nearest rank). `sorted` ascends and is not empty.
[[nodiscard]] double quantile(std::span<const double> sorted, double p);
/// An interval that holds the median of what the values are drawn from with a probability of 95 % or more, whatever their distribution:
/// from the k-th least to the k-th largest value, k the largest number with P(Binomial(n, 1/2) < k) ≤ 2.5 %. Nothing of fewer than six.
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> sorted);
/// Both.
[[nodiscard]] Estimate estimate(std::vector<double> values);

/// The median over rounds of each round's median of log(b / a), back as a ratio, with its interval over rounds. Each round is a list of
/// ratios b / a.
[[nodiscard]] Estimate estimate_ratio(const std::vector<std::vector<double>>& rounds);

}  // namespace relayout
