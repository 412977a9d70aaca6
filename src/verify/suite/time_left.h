#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "relayout/suite.h"

namespace relayout {

/// How long the rest of a suite will take: what is left of the time expected of all cases, at the pace so far.
class TimeLeft {
 public:
  /// Microseconds that each case is expected to take; of one that `durations` does not know, the median of the known.
  [[nodiscard]] static std::vector<int64_t> times(const std::vector<std::string>& names, const CaseDurations& durations);

  TimeLeft(const std::vector<std::string>& names, const CaseDurations& durations);
  /// A case has ended.
  void add(const std::string& name);
  /// A case is done without having run, which says nothing about the pace.
  void drop(const std::string& name);
  /// Nothing before there is a pace to speak of.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  int64_t take(const std::string& name);

  Stopwatch watch_;
  std::map<std::string, int64_t> times_;  ///< of those that are not done
  double done_ = 0, left_ = 0;
};

}  // namespace relayout
