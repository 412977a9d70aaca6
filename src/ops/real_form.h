#pragma once

#include <functional>
#include <string>

#include "relayout/graph.h"

namespace relayout {

/// The name of the real numbers that `integers`, a result of `node`, stand for; empty where none is known.
using RealName = std::function<std::string(const Node& node, const Value& integers)>;

/// Writes operators that compute with quantized numbers (QLinearConv, QGemm, QLinearAdd, …) as DequantizeLinear, the operator itself and
/// QuantizeLinear, from opset 13 on. Nodes keep their names, real numbers get the names that are given if they are free.
void write_real_form(Graph& graph, const RealName& real_name);
/// Whether a graph has such an operator.
[[nodiscard]] bool has_real_form(const Graph& graph);

}  // namespace relayout
