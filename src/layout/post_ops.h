#pragma once

#include "layout/layout_graph.h"

namespace relayout::layout {

/// Whether a node that is the only reader of `value`, the result of a convolution or of an operator fused with it, runs as a part of that
/// convolution: a BatchNormalization right after it (`is_first`), functions of one variable, and sums with a tensor of the same size. The
/// executor has further conditions (exec/lower/fuse.h) and may run some of them separately: they cost little then, and have the
/// convolution's order.
[[nodiscard]] bool fuses(const LayoutGraph& graph, const LayoutNode& node, LayoutValueId value, bool is_first);

}  // namespace relayout::layout
