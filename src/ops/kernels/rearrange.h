#pragma once

#include "ops/op_call.h"
#include "relayout/tensor.h"

namespace relayout {

/// Input and result of DepthToSpace or SpaceToDepth under common dims: moving one into the other is a copy of elements.
struct BlockViews {
  Tensor from, to;
};

[[nodiscard]] BlockViews block_views(const OpCall& call, const Tensor& x, const Tensor& out);

}  // namespace relayout
