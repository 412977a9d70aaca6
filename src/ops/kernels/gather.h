#pragma once

#include "ops/loops/strided.h"
#include "ops/operands.h"

namespace relayout {

/// The axis that indices select from: its size and stride.
struct IndexedAxis {
  int64_t size = 0, stride = 0;
};

/// Position of an index that may be negative; out of range is rejected.
[[nodiscard]] inline int64_t checked_index(const OpCall& call, int64_t index, int64_t size) {
  if (index < -size || index >= size)
    reject(call, "index " + std::to_string(index) + " is out of range for a dim of " + std::to_string(size));
  return index < 0 ? index + size : index;
}

/// out[…] = data[… with indices[…] along one axis …], over the dims of `out`. `data` and `index_strides` stand over the same dims and
/// do not move where they have no such dim; indices are i32 or i64.
void gather_along(const OpCall& call, const Tensor& out, const Operand& data, const Tensor& indices, const Dims& index_strides,
                  IndexedAxis along);

/// out = the elements at these positions along one axis.
void take(const OpCall& call, const Tensor& source, std::size_t axis, const std::vector<int64_t>& positions, const Tensor& out);
/// The same in new memory.
[[nodiscard]] Tensor taken(const OpCall& call, const Tensor& source, std::size_t axis, const std::vector<int64_t>& positions);

}  // namespace relayout
