// Estimate of a suite's remaining time, from expected times of open cases and the pace so far, once 2 % of the work is done.
#include "verify/suite/time_left.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/suite.h"
#include "verify/suite/expected_times.h"

namespace relayout {

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
