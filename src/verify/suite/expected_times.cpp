// Expected time of each case for `--shard` and the remaining time, from the report of `--durations`; unknown cases get the median.
#include "verify/suite/expected_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "relayout/suite.h"

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

}  // namespace relayout
