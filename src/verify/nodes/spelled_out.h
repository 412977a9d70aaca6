#pragma once

#include <memory>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

/// A copy of a model in which operators that compute with quantized numbers (QLinearConv, QGemm, QLinearAdd, …) are written as
/// DequantizeLinear, the operator itself and QuantizeLinear, so that the real numbers in between can be seen. Nodes keep their names.
/// Values get the names of those of the original that they stand for, where the integers' names tell.
/// nullptr where the model has no such operator, was changed since it was read, or could not run so.
[[nodiscard]] std::unique_ptr<Model> with_quantization_spelled_out(const Model& model, const Graph& original);

}  // namespace relayout
