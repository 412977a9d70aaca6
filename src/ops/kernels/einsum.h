#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/call.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// An Einsum of two operands as `batch` products of a rows × depth by a depth × columns matrix.
struct EinsumProduct {
  TensorDesc left, right;  ///< views of the operands as [batch…, rows…, depth…] and [batch…, depth…, columns…]
  int64_t batch = 1, rows = 1, depth = 1, columns = 1;
  Dims made;                        ///< [batch…, rows…, columns…]
  std::vector<std::size_t> output;  ///< per dim of the output: its index in `made`
};

/// Nothing for an elementwise product, and where one operand has sums of its own.
[[nodiscard]] std::optional<EinsumProduct> einsum_product(const OpCall& call, const TensorDesc& a, const TensorDesc& b);

}  // namespace relayout
