// Lowers Einsum equations of two f32 operands that are one matrix product to that product, with the result as a view of it.
#include <cstddef>

#include "exec/kernels/kernel.h"
#include "exec/lower/group.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/lower/matrix_product.h"
#include "exec/lower/order.h"
#include "exec/lower/step_writer.h"
#include "exec/program.h"
#include "ops/kernels/einsum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

bool lower_einsum(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (node.inputs.size() != 2 || !are_floats(lowering, node)) return false;
  const Place a = lowering.places.of(node.inputs[0]), b = lowering.places.of(node.inputs[1]);
  const auto einsum = einsum_product(node.call, a.desc, b.desc);
  if (!einsum) return false;

  MatrixProduct product;
  product.source = as_matrices(lowering, view_of(a, einsum->left, 0), {einsum->batch, einsum->rows, einsum->depth});
  product.weights = as_matrices(lowering, view_of(b, einsum->right, 0), {einsum->batch, einsum->depth, einsum->columns});
  const Place made = lowering.steps.new_place(ordered(DataType::float32, einsum->made, Order::contiguous));
  const Dims matrices{einsum->batch, einsum->rows, einsum->columns};
  product.destination = view_of(made, ordered(DataType::float32, matrices, Order::contiguous), 0);
  if (!emit_product(lowering, product)) return false;

  TensorDesc view{DataType::float32, {}, {}};
  for (const std::size_t from : einsum->output) {
    view.dims.push_back(made.desc.dims[from]);
    view.strides.push_back(made.desc.strides[from]);
  }
  define_view(lowering, node, view_of(made, view, 0));
  return true;
}

}  // namespace relayout::exec
