// Medians, quantiles (by nearest rank), 95 % intervals of medians (of six values or more), and ratios of times with their intervals:
// computes all estimates in profiles. Order statistics suit any distribution. Means and minima of run times do not, as time slices of
// other processes fall into some runs and not into others.
#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "relayout/estimate.h"

namespace relayout {
namespace {

constexpr double kTail = 0.025;           ///< probability on either side of a 95 % interval
constexpr double kNormalTail = 1.959964;  ///< quantile of the normal distribution at 1 − kTail
constexpr std::size_t kExact = 1000;      ///< sums probabilities of at most so many values: 2^-n of more is no double

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t n = sorted.size();
  if (n == 0) return 0;
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/// The largest k with P(Binomial(n, 1/2) < k) ≤ kTail; 0 when there is none.
std::size_t rank_of_lower_end(std::size_t n) {
  const auto count = static_cast<double>(n);
  if (n > kExact) return static_cast<std::size_t>(std::floor((count - kNormalTail * std::sqrt(count)) / 2));
  double probability = std::pow(0.5, count), below = 0;
  std::size_t k = 0;
  while (below + probability <= kTail) {
    below += probability;
    probability *= (count - static_cast<double>(k)) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

}  // namespace

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return median_of_sorted(values);
}

double quantile(std::span<const double> sorted, double p) {
  const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

std::optional<Interval> median_interval(std::span<const double> sorted) {
  const std::size_t rank = rank_of_lower_end(sorted.size());
  if (rank == 0) return std::nullopt;
  return Interval{sorted[rank - 1], sorted[sorted.size() - rank]};
}

Estimate estimate(std::vector<double> values) {
  std::ranges::sort(values);
  return {median_of_sorted(values), median_interval(values)};
}

Estimate estimate_ratio(const std::vector<std::vector<double>>& rounds) {
  std::vector<double> logarithms;
  for (const std::vector<double>& round : rounds) {
    std::vector<double> of_round;
    for (const double ratio : round) of_round.push_back(std::log(ratio));
    if (!of_round.empty()) logarithms.push_back(median_of(std::move(of_round)));
  }
  Estimate out = estimate(std::move(logarithms));
  out.median = std::exp(out.median);
  if (out.interval) out.interval = Interval{std::exp(out.interval->low), std::exp(out.interval->high)};
  return out;
}

Estimate ratio_of(const Estimate& a, const Estimate& b) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto quotient = [](double over, double under) { return under > 0 ? over / under : over > 0 ? kInfinity : 1; };
  Estimate out{quotient(b.median, a.median), std::nullopt};
  if (a.interval && b.interval) {
    out.interval = Interval{quotient(b.interval->low, a.interval->high), quotient(b.interval->high, a.interval->low)};
  }
  return out;
}

}  // namespace relayout
