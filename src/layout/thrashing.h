#pragma once

#include <string>

#include "layout/layout_plan.h"
#include "relayout/layout.h"

namespace relayout::layout {

/// The reason why a plan reorders too much inside the graph ("channel thrashing"); empty: it does not.
[[nodiscard]] std::string thrash_reason(const LayoutReport& report, const LayoutPlan& plan);

}  // namespace relayout::layout
