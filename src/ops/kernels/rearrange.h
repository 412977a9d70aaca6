#pragma once

#include "ops/op_call.h"
#include "relayout/tensor.h"

namespace relayout {

/// Input and result of DepthToSpace or SpaceToDepth with common dims: copying one to the other element by element is the operator.
struct BlockViews {
  Tensor from, to;
};

[[nodiscard]] BlockViews block_views(const OpCall& call, const Tensor& x, const Tensor& out);

}  // namespace relayout
