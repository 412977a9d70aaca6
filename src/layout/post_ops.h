#pragma once

#include <string_view>

#include "layout/layout_graph.h"

namespace relayout {

/// Whether oneDNN applies an operator of one variable to a convolution's result before it is stored. Not Exp, which turns NaN into
/// infinity there, and not Gelu, which turns infinity into NaN.
[[nodiscard]] bool is_post_op(std::string_view op_type);

/// Whether a node that alone reads the result `value` of a convolution, or of what is fused with it, runs as a part of that convolution:
/// a BatchNormalization directly behind (`is_first`), functions of one variable, and sums with a tensor of the same size. The executor
/// looks closer (exec/lower/fuse.h) and may run some of them on their own: they cost little then, and have the convolution's order.
[[nodiscard]] bool fuses(const LayoutGraph& graph, const LayoutNode& node, LayoutValueId value, bool is_first);

}  // namespace relayout
