#pragma once

#include <optional>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/lower/lowering.h"
#include "exec/lower/stages.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A matrix product requested from the library, and the places of its operands. Dims are [batch…, rows, columns], of one rank.
struct MatrixProduct {
  Place source, weights;              ///< of any strides; they repeat along dims of the batch that are 1
  Place destination;                  ///< contiguous
  std::optional<Place> bias;          ///< over the columns
  KnownConstant* constant = nullptr;  ///< packed in place of `weights`
  std::vector<PostOp> post_ops = {};  ///< functions of one operand
};

/// False when the library has no such product; `swap_constant`: the constant's own elements are [columns, rows].
[[nodiscard]] bool emit_product(Lowering& lowering, MatrixProduct product, bool swap_constant = false);

/// A tensor under other dims of the same elements in row-major order; copied where strides cannot express them.
[[nodiscard]] Place as_matrices(Lowering& lowering, const Place& place, const Dims& dims);
/// The same elements with the last two dims swapped.
[[nodiscard]] TensorDesc swap_last(TensorDesc desc);

/// Whether the inputs and the first output of a node are f32 tensors with elements.
[[nodiscard]] bool are_floats(Lowering& lowering, const ProgramNode& node);

/// Emits the product with a group's stages and defines the group's output; false when the library has no such product. `destination` is the
/// product's destination under the dims of the output.
[[nodiscard]] bool emit_with_stages(Lowering& lowering, const Group& group, MatrixProduct product, const Place& destination,
                                    const std::vector<Stage>& stages, bool swap_constant = false);
/// Emits stages over the product in place and defines the group's output.
void finish(Lowering& lowering, const Group& group, const Place& destination, const std::vector<Stage>& stages);
/// Stages of the nodes downstream of a group's anchor, if the chain kernel computes them all.
[[nodiscard]] std::optional<std::vector<Stage>> rest_of(Lowering& lowering, const Group& group);

}  // namespace relayout::exec
