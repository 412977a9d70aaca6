#pragma once

#include <cstdint>
#include <optional>

#include "layout/shapes.h"
#include "relayout/graph.h"

namespace relayout {

/// Multiply-accumulates of the convolutions, Gemms and MatMuls of one run. Nothing when a shape that is needed depends on more than shape
/// arithmetic, or the operands of some node do not fit.
[[nodiscard]] std::optional<int64_t> count_macs(const Graph& graph, Shapes& shapes);

}  // namespace relayout
