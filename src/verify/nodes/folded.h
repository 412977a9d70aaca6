#pragma once

#include <memory>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

/// A copy of the original with its BatchNormalizations folded, where a quantized model has none left: quantizers fold before they round, so
/// that their grids are those of folded weights. nullptr where there is nothing to fold, or the original was changed since it was read.
[[nodiscard]] std::unique_ptr<Model> with_batch_norms_folded(const Model& original, const Graph& quantized);

}  // namespace relayout
