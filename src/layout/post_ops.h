#pragma once

#include "layout/layout_graph.h"

namespace relayout::layout {

/// Whether a node that alone reads the result `value` of a convolution, or of what is fused with it, runs as a part of that convolution:
/// a BatchNormalization directly behind (`is_first`), functions of one variable, and sums with a tensor of the same size. The executor
/// looks closer (exec/lower/fuse.h) and may run some of them on their own: they cost little then, and have the convolution's order.
[[nodiscard]] bool fuses(const LayoutGraph& graph, const LayoutNode& node, LayoutValueId value, bool is_first);

}  // namespace relayout::layout
