#pragma once

#include <vector>

#include "profile/recorder.h"
#include "relayout/profile.h"

namespace relayout {

/// Computes the times of whole runs. At least one was recorded.
void fill_latency(Latency& latency, const Recorder& recorder);

/// The average number of working processors if no thread of the rows' steps ever waited.
[[nodiscard]] double expected_cpus(const std::vector<ProfileRow>& rows);

}  // namespace relayout
