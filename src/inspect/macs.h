#pragma once

#include <cstdint>
#include <optional>

#include "relayout/graph.h"

namespace relayout {

/// Multiply-accumulates of the convolutions, Gemms and MatMuls of one run, a free dimension of an input taken as 1. Nothing when a
/// shape that is needed depends on more than shape arithmetic, or the operands of some node do not fit.
[[nodiscard]] std::optional<int64_t> count_macs(const Graph& graph);

}  // namespace relayout
