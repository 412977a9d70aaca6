#pragma once

#include <functional>
#include <string>

#include "relayout/graph.h"

namespace relayout {

/// The name of the real numbers that `integers`, a result of `node`, represent; empty where none is known.
using RealName = std::function<std::string(const Node& node, const Value& integers)>;

/// Rewrites operators that compute with quantized numbers (QLinearConv, QGemm, QLinearAdd, …) as DequantizeLinear, the operator itself and
/// QuantizeLinear, from opset 13 on. Nodes keep their names; real numbers get the names from `real_name` that are free.
void write_real_form(Graph& graph, const RealName& real_name);
/// Whether a graph has an operator that write_real_form() rewrites.
[[nodiscard]] bool has_real_form(const Graph& graph);

}  // namespace relayout
