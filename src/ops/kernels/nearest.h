#pragma once

#include <cstdint>
#include <vector>

#include "ops/op_call.h"
#include "relayout/tensor.h"

namespace relayout {

/// out[i, j, …] = x[positions[0][i], positions[1][j], …]: nearest neighbours, repeated borders. One list per dim, of out's size in that
/// dim.
void pick_elements(const OpCall& call, const Tensor& x, const std::vector<std::vector<int64_t>>& positions, const Tensor& out);

}  // namespace relayout
