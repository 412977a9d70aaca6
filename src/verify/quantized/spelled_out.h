#pragma once

#include <memory>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

/// A copy of a model in which operators on quantized numbers (QLinearConv, QGemm, QLinearAdd, …) are written as DequantizeLinear, the
/// operator itself and QuantizeLinear, so that the real numbers in between can be observed. Nodes keep their names. Values get the names of
/// the original's values that they represent, where names identify those. nullptr where the model has no such operator, an opset without
/// QuantizeLinear's axis, was changed since it was read, or could not run in this form.
[[nodiscard]] std::unique_ptr<Model> with_quantization_spelled_out(const Model& model, const Graph& original);

/// A copy of the original with its BatchNormalizations folded, where a quantized model has none left: quantizers fold before they round, so
/// that their grids are those of folded weights. nullptr where there is nothing to fold, or the original was changed since it was read.
[[nodiscard]] std::unique_ptr<Model> with_batch_norms_folded(const Model& original, const Graph& quantized);

}  // namespace relayout
