// Memory in a profile: the peak, which is the most bytes of activations alive at one step (exec/lower/lowering.cpp counts them), and its
// node; arena, packed weights, scratchpad.
#include "profile/peak_memory.h"

#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {

void fill_memory(Profile& profile, const PlanInfo& plan) {
  profile.arena_bytes = plan.arena_bytes;
  profile.packed_bytes = plan.packed_bytes;
  profile.scratchpad_bytes = plan.scratchpad_bytes;
  for (const StepInfo& step : plan.steps) {
    if (step.live_bytes <= profile.peak_bytes) continue;
    profile.peak_bytes = step.live_bytes;
    profile.peak_node = step.node;
  }
}

}  // namespace relayout
