#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "relayout/suite.h"

namespace relayout {

/// Expected microseconds of each case, at least 1; the median of the known for cases that `durations` does not know.
[[nodiscard]] std::vector<int64_t> expected_times(const std::vector<std::string>& names, const CaseDurations& durations);

/// Estimates the remaining time of a suite: the expected time of the open cases, at the pace so far.
class TimeLeft {
 public:
  TimeLeft(const std::vector<std::string>& names, const CaseDurations& durations);
  /// Notes that a case has ended.
  void add(const std::string& name);
  /// Notes a case that is done without having run, which says nothing about the pace.
  void drop(const std::string& name);
  /// nullopt until enough is done for a pace.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  int64_t take(const std::string& name);

  Stopwatch watch_;
  std::map<std::string, int64_t> times_;  ///< of cases that are not done
  double done_ = 0, left_ = 0;
};

}  // namespace relayout
