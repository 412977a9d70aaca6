#pragma once

#include "relayout/layout.h"

namespace relayout::layout {

/// Fills in the sums and shares of a report, and of its regions, from its tensors, operators and reorders.
void add_up(LayoutReport& report);

}  // namespace relayout::layout
