#pragma once

#include "verify/nodes/fed_runs.h"
#include "verify/nodes/layer_task.h"
#include "verify/nodes/layers.h"

namespace relayout {

/// Acquits layers whose only differences are quantized integers on a neighbouring step, where the operand is so close to the boundary of
/// the two steps that upstream rounding within the same layer may carry it across, or where a computes the same from operands rounded to
/// the 16 bits in which b holds them. Counts those elements as flips.
void explain_steps(const LayerTask& task, const FedRuns& runs, Layers& layers);

}  // namespace relayout
