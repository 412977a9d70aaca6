#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "layout/shapes.h"
#include "relayout/graph.h"

namespace relayout {

/// Multiply-accumulates of the convolutions, Gemms, MatMuls and recurrent operators of one run. Nothing when a shape that is needed depends
/// on more than shape arithmetic, or the operands of some node do not fit.
[[nodiscard]] std::optional<int64_t> count_macs(const Graph& graph, Shapes& shapes);
/// Operators of the graph that add up products, themselves or in graphs and functions that they run, and that count_macs leaves out: how
/// many of each, as "domain:Op".
[[nodiscard]] std::map<std::string, int64_t> operators_without_macs(const Graph& graph, Shapes& shapes);

}  // namespace relayout
