#pragma once

#include <vector>

#include "layout/connections.h"
#include "layout/layout_graph.h"

namespace relayout::layout {

/// The convolutions that take post-ops, the last first: of several that end in one Add, the last takes it, as in the executor.
[[nodiscard]] std::vector<LayoutNodeId> fusing_convolutions(const LayoutGraph& graph);
/// The node that reads `value`, the result of a convolution (`is_first`) or of a post-op of it, if it runs as a part of that convolution:
/// the only reader, a BatchNormalization right after the convolution, a function of one variable, or a sum with a tensor of the same size.
/// The executor has further conditions (exec/lower/post_op_choice.h) and may run some of them separately: they cost little then, and have
/// the convolution's order.
[[nodiscard]] LayoutNodeId post_op_of(const LayoutGraph& graph, const Connections& connections, LayoutValueId value, bool is_first);

}  // namespace relayout::layout
