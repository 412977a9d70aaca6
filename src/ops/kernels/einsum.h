#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/op_call.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// An Einsum of two operands as `batch` products of a rows × depth by a depth × columns matrix.
struct EinsumProduct {
  TensorDesc left, right;  ///< the operands' own elements as [batch…, rows…, depth…] and [batch…, depth…, columns…]
  int64_t batch = 1, rows = 1, depth = 1, columns = 1;
  Dims made;                        ///< [batch…, rows…, columns…]
  std::vector<std::size_t> output;  ///< per dim of the output: which of `made`
};

/// Nothing where the operands are only multiplied element by element, or one of them is summed on its own.
[[nodiscard]] std::optional<EinsumProduct> einsum_product(const OpCall& call, const TensorDesc& a, const TensorDesc& b);

}  // namespace relayout
