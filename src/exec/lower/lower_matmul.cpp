// Lowers products of matrices to oneDNN, with the nodes that are fused downstream.

#include "exec/kernels/kernel.h"
#include "exec/lower/fuse.h"
#include "exec/lower/group.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "model/node.h"
#include "ops/kernels/matmul.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// An operand of a batch of products as [batch…, rows, columns] of `rank` dims; a vector is a matrix of one row, or of one column.
Place with_rank(const Place& place, bool vector_is_column, std::size_t rank) {
  TensorDesc desc = place.desc;
  if (desc.dims.size() == 1 && vector_is_column) {
    desc.dims.push_back(1);
    desc.strides.push_back(1);
  }
  desc.dims.insert(desc.dims.begin(), rank - desc.dims.size(), 1);
  desc.strides.insert(desc.strides.begin(), rank - desc.strides.size(), 1);
  return view_of(place, std::move(desc), 0);
}

/// The addend of a Gemm as a bias over the columns, when it is one.
std::optional<Place> column_bias(Lowering& lowering, ValueId value, int64_t columns) {
  const Dims& dims = lowering.info(value).dims;
  if (element_count(dims) != columns || dims.empty() || dims.back() != columns) return std::nullopt;
  return lowering.places.dense(value, Order::contiguous);
}

/// Removes the first stage where it adds one number to each column, and returns its operand.
std::optional<Place> take_bias(Lowering& lowering, std::vector<Stage>& stages, int64_t columns) {
  if (stages.empty() || !stages.front().is_binary || stages.front().binary != BinaryFunction::add) return std::nullopt;
  const ValueId added = stages.front().value;
  auto bias = added == ValueId::none ? std::nullopt : column_bias(lowering, added, columns);
  if (bias) stages.erase(stages.begin());
  return bias;
}

}  // namespace

bool lower_gemm(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const Attributes& attributes = node.call.attributes;
  if (node.call.opset < 7 || attributes.real("alpha", 1.0F) != 1.0F || !are_floats(lowering, node)) return false;
  auto stages = rest_of(lowering, group);
  if (!stages) return false;

  MatrixProduct product;
  const Dims& dims = lowering.info(node.outputs[0]).dims;
  product.source = lowering.places.of(node.inputs[0]);
  if (attributes.integer("transA", 0) != 0) product.source.desc = swap_last(product.source.desc);
  const bool swap = attributes.integer("transB", 0) != 0;
  product.constant = lowering.to_pack(node.inputs[1]);
  if (product.constant != nullptr) {
    product.weights.desc = ordered(DataType::float32, lowering.info(node.inputs[1]).dims, Order::contiguous);
  } else {
    product.weights = lowering.places.of(node.inputs[1]);
  }
  if (swap) product.weights.desc = swap_last(product.weights.desc);

  if (const ValueId added = node.input(2); added != ValueId::none) {
    const float beta = attributes.real("beta", 1.0F);
    if (beta == 1.0F) product.bias = column_bias(lowering, added, dims[1]);
    if (!product.bias) {
      if (beta != 1.0F) return false;
      Stage stage;
      stage.is_binary = true;
      stage.value = added;
      stages->insert(stages->begin(), stage);
      if (!are_own(*stages)) return false;
    }
  }
  product.destination = lowering.steps.new_place(ordered(DataType::float32, dims, Order::contiguous));
  return emit_with_stages(lowering, group, product, product.destination, *stages, swap);
}

bool lower_matmul(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const Dims &a = lowering.info(node.inputs[0]).dims, &b = lowering.info(node.inputs[1]).dims, &out = lowering.info(node.outputs[0]).dims;
  if (a.empty() || b.empty() || a.size() > 8 || b.size() > 8 || !are_floats(lowering, node)) return false;
  auto stages = rest_of(lowering, group);
  if (!stages) return false;

  MatrixProduct product;
  const Place destination = lowering.steps.new_place(ordered(DataType::float32, out, Order::contiguous));
  const int64_t columns = b.size() == 1 ? 1 : b.back();
  if (b.size() <= 2) {
    // One matrix for all: the rows of all batches are one long matrix.
    const Dims flat{element_count(a) / a.back(), a.back()};
    product.source = as_matrices(
        lowering, a.size() > 2 ? lowering.places.dense(node.inputs[0], Order::contiguous) : lowering.places.of(node.inputs[0]), flat);
    product.destination = view_of(destination, ordered(DataType::float32, {flat[0], columns}, Order::contiguous), 0);
    product.constant = lowering.to_pack(node.inputs[1]);
    product.weights.desc = ordered(DataType::float32, {a.back(), columns}, Order::contiguous);
    if (product.constant == nullptr) product.weights = with_rank(lowering.places.of(node.inputs[1]), true, 2);
    product.bias = take_bias(lowering, *stages, columns);
  } else {
    const Place left = lowering.places.of(node.inputs[0]), right = lowering.places.of(node.inputs[1]);
    const std::size_t rank = std::max(a.size(), b.size());
    product.source = with_rank(left, false, rank);
    product.weights = with_rank(right, true, rank);
    Dims dims = out;
    if (a.size() == 1) dims.insert(dims.end() - 1, 1);
    product.destination = view_of(destination, ordered(DataType::float32, dims, Order::contiguous), 0);
  }
  return emit_with_stages(lowering, group, std::move(product), destination, *stages);
}

// Einsum.

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
