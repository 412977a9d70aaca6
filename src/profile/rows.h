#pragma once

#include "profile/recorder.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {

/// Computes latency, rows, sums and traced runs of a profile from the steps of a plan and their times. At least one run was recorded.
void fill_profile(Profile& profile, const PlanInfo& plan, Recorder& recorder);

}  // namespace relayout
