#pragma once

#include "profile/trace.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {

/// Scales the rows so that they add up to `total_us`.
void scale_rows(Profile& profile, double total_us);

/// Computes latency, rows, sums and traced runs of a profile from the steps of a plan and their times. At least one run was recorded.
void fill_profile(Profile& profile, const PlanInfo& plan, Recorder& recorder);

}  // namespace relayout
