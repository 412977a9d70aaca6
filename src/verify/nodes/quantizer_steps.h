#pragma once

#include "verify/nodes/fed_runs.h"
#include "verify/nodes/layer_task.h"
#include "verify/nodes/layers.h"

namespace relayout {

/// Acquits integers of quantizers that fall to the neighbouring step where what is rounded lies as near the boundary between the two as
/// rounding upstream of it, within the same node, may move it. Counts them; any other difference stays.
void explain_steps(const LayerTask& task, const FedRuns& runs, Layers& layers);

}  // namespace relayout
