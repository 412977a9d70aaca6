#pragma once

#include <cstdint>
#include <vector>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/tensor.h"

namespace relayout {

/// The axis that indices select from: its size and stride.
struct IndexedAxis {
  int64_t size = 0, stride = 0;
};

/// Position of an index that may be negative; an index out of range is rejected.
[[nodiscard]] inline int64_t checked_index(const OpCall& call, int64_t index, int64_t size) {
  if (index < -size || index >= size)
    reject(call, "index " + std::to_string(index) + " is out of range for a dim of " + std::to_string(size));
  return from_front(index, size);
}

/// out[…] = data[… with indices[…] along one axis …], over the dims of `out`. `data` and `index_strides` have strides for all of these
/// dims, 0 for dims that they lack; indices are i32 or i64.
void gather_along(const OpCall& call, const Tensor& out, const Operand& data, const Tensor& indices, const Dims& index_strides,
                  IndexedAxis along);

/// out = the elements at these positions along one axis.
void take(const OpCall& call, const Tensor& source, std::size_t axis, const std::vector<int64_t>& positions, const Tensor& out);
/// As take(), into new memory.
[[nodiscard]] Tensor taken(const OpCall& call, const Tensor& source, std::size_t axis, const std::vector<int64_t>& positions);

/// out[i, j, …] = x[positions[0][i], positions[1][j], …]: nearest neighbours, repeated borders. One list per dim, of out's size in that
/// dim.
void pick_elements(const OpCall& call, const Tensor& x, const std::vector<std::vector<int64_t>>& positions, const Tensor& out);

/// Input and result of DepthToSpace or SpaceToDepth with common dims: copying one to the other element by element is the operator.
struct BlockViews {
  Tensor from, to;
};

[[nodiscard]] BlockViews block_views(const OpCall& call, const Tensor& x, const Tensor& out);

}  // namespace relayout
