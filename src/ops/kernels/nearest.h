#pragma once

#include <cstdint>
#include <vector>

#include "ops/op_call.h"
#include "relayout/tensor.h"

namespace relayout {

/// out[i, j, …] = x[positions[0][i], positions[1][j], …]: nearest neighbours, borders that repeat. One list per dim, as long as out's.
void pick_elements(const OpCall& call, const Tensor& x, const std::vector<std::vector<int64_t>>& positions, const Tensor& out);

}  // namespace relayout
