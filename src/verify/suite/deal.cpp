// `--shard`: which cases of a suite belong to part N of M, in turn, or by `--durations` the longest first to the part with the least time.
// Only whole microseconds and the order of names decide, so that machines agree without communication.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/positions.h"
#include "relayout/suite.h"
#include "verify/suite/expected_times.h"

namespace relayout {
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

}  // namespace relayout
