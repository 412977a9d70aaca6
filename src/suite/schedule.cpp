// Deals the cases of a suite to parts, the longest first, and estimates the time that remains. Only whole microseconds and the order of
// names decide, so that machines agree without communication.
#include <cmath>
#include <numeric>

#include "base/positions.h"
#include "suite/suite.h"

namespace relayout {

std::vector<int64_t> expected_times(const std::vector<std::string>& names, const CaseDurations& durations) {
  constexpr double kMost = 1e9;  // seconds: sums over thousands of cases stay within 64 bits
  constexpr int64_t kLeast = 1;  // cases without any time are distributed too, instead of all into one part
  std::vector<int64_t> times(names.size(), 0), known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = durations.find(names[i]);
    if (found == durations.end()) continue;
    times[i] = std::max<int64_t>(std::llround(std::clamp(found->second, 0.0, kMost) * 1e6), kLeast);
    known.push_back(times[i]);
  }
  std::ranges::sort(known);
  std::ranges::replace(times, int64_t{0}, known.empty() ? kLeast : known[(known.size() - 1) / 2]);
  return times;
}

// Parts of a suite.
namespace {

using Indices = std::vector<std::size_t>;

/// Indices, longest time first; of equal times by name.
Indices longest_first(const std::vector<int64_t>& times) {
  Indices order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return times[a] > times[b]; });
  return order;
}

}  // namespace

Indices deal(const std::vector<std::string>& names, const Shard& shard, const CaseDurations& durations) {
  const auto parts = as_size(shard.total), own = as_size(shard.index - 1);
  Indices out;
  if (durations.empty()) {
    for (std::size_t i = own; i < names.size(); i += parts) out.push_back(i);
    return out;
  }
  const std::vector<int64_t> times = expected_times(names, durations);
  // If there are more parts than cases, those without cases need no place.
  std::vector<int64_t> loads(std::min(parts, names.size()), 0);
  for (const std::size_t i : longest_first(times)) {
    const auto lightest = std::ranges::min_element(loads);
    *lightest += times[i];
    if (as_size(lightest - loads.begin()) == own) out.push_back(i);
  }
  return out;
}

// Time that remains.
TimeLeft::TimeLeft(const std::vector<std::string>& names, const CaseDurations& durations) {
  const std::vector<int64_t> expected = expected_times(names, durations);
  for (std::size_t i = 0; i < names.size(); ++i) {
    times_[names[i]] = expected[i];
    left_ += static_cast<double>(expected[i]);
  }
}

int64_t TimeLeft::take(const std::string& name) {
  const auto found = times_.find(name);
  const int64_t time = found == times_.end() ? 0 : found->second;
  if (found != times_.end()) times_.erase(found);
  left_ -= static_cast<double>(time);
  return time;
}

void TimeLeft::add(const std::string& name) {
  done_ += static_cast<double>(take(name));
}

void TimeLeft::drop(const std::string& name) {
  (void)take(name);
}

std::optional<double> TimeLeft::seconds() const {
  constexpr double kEnough = 0.02;  // share of the work that is enough for a pace
  if (done_ <= 0 || done_ < kEnough * (done_ + left_)) return std::nullopt;
  return watch_.seconds() * left_ / done_;
}

}  // namespace relayout
