#pragma once

#include <vector>

#include "layout/connections.h"
#include "layout/layout_plan.h"

namespace relayout::layout {

/// Values that are views with gaps, or of another order than their own, and have a reader that needs them dense: each is copied once.
[[nodiscard]] std::vector<LayoutValueId> find_packs(const LayoutGraph& graph, const Connections& connections, const LayoutPlan& plan);

}  // namespace relayout::layout
