#pragma once

#include <vector>

#include "layout/connections.h"
#include "layout/layout_plan.h"

namespace relayout::layout {

/// Views with gaps, or in another order than the planned one, with a reader that needs them dense. Each is copied once.
[[nodiscard]] std::vector<LayoutValueId> find_packs(const LayoutGraph& graph, const Connections& connections, const LayoutPlan& plan);

}  // namespace relayout::layout
