#pragma once

#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {

/// Sets the bytes that a plan uses.
void fill_memory(Profile& profile, const PlanInfo& plan);

}  // namespace relayout
