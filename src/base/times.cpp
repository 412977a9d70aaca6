// Reads clocks, and estimates and compares times.
#include "base/times.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "relayout/estimate.h"

namespace relayout {

// Clocks. Those of the system are read without <chrono>: that header includes all of std::format, which every file would instantiate.
namespace {

constexpr int64_t kPerSecond = 1'000'000'000;

int64_t read(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * kPerSecond + time.tv_nsec;
}

}  // namespace

int64_t steady_nanoseconds() noexcept {
  return read(CLOCK_MONOTONIC);
}

int64_t processor_nanoseconds() noexcept {
  return read(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t thread_nanoseconds() noexcept {
  return read(CLOCK_THREAD_CPUTIME_ID);
}

double Stopwatch::seconds() const noexcept {
  return static_cast<double>(nanoseconds()) / double{kPerSecond};
}

// Estimates. Order statistics suit any distribution. Means and minima of run times do not, as time slices of other processes fall into some
// runs and not into others.
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

// Verdicts on ratios of times.
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
