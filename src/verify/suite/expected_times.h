#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relayout/suite.h"

namespace relayout {

/// Expected microseconds of each case, at least 1; the median of the known for cases that `durations` does not know.
[[nodiscard]] std::vector<int64_t> expected_times(const std::vector<std::string>& names, const CaseDurations& durations);

}  // namespace relayout
