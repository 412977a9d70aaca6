#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/constant_store.h"
#include "exec/kernel.h"
#include "exec/lower.h"
#include "exec/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "exec/stages.h"
#include "layout/axis_order.h"
#include "model/attributes.h"
#include "ops/einsum.h"
#include "ops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

bool is_float_tensor(const Lowering& lowering, int value) {
  return value >= 0 && lowering.is_tensor(value) && lowering.info(value).type == DataType::float32;
}

/// A product the library is asked for, and where its operands are.
struct Product {
  Place source, weights, destination;  ///< descs as the library is to see them
  std::optional<Place> bias;           ///< over the columns
  KnownConstant* constant = nullptr;   ///< packed in place of `weights`
};

double nanoseconds_of(const Product& product, int64_t macs) {
  const double bytes = static_cast<double>(element_count(product.weights.desc.dims)) * 4;
  return std::max(static_cast<double>(macs) / 40, bytes / 10);
}

/// A view of a constant's bytes as the library is to see them: its own strides under other dims.
TensorDesc swap_last(TensorDesc desc) {
  const std::size_t last = desc.dims.size() - 1;
  std::swap(desc.dims[last], desc.dims[last - 1]);
  std::swap(desc.strides[last], desc.strides[last - 1]);
  return desc;
}

/// The same with strides of dims of size 1 that say nothing else than where an outer dim would go on. Left as views happen to have
/// them, the library's matmul takes a batch dim of stride 1 for the innermost one and reads elsewhere (3.7.2, AVX-512).
TensorDesc with_plain_strides(TensorDesc desc) {
  int64_t extent = 1;
  for (std::size_t i = 0; i < desc.dims.size(); ++i) {
    if (desc.dims[i] > 1) extent = std::max(extent, desc.dims[i] * desc.strides[i]);
  }
  for (std::size_t i = 0; i + 2 < desc.dims.size(); ++i) {
    if (desc.dims[i] == 1) desc.strides[i] = extent;
  }
  return desc;
}

bool emit_product(Lowering& lowering, Product product, bool swap_constant) {
  const Dims& dims = product.destination.desc.dims;
  const int64_t depth = product.source.desc.dims.back();
  const int64_t macs = element_count(dims) * depth;
  const int threads = lowering.use_threads(nanoseconds_of(product, macs));
  product.source.desc = with_plain_strides(product.source.desc);
  product.weights.desc = with_plain_strides(product.weights.desc);
  Matmul spec{product.source.desc,      product.weights.desc,        product.destination.desc,
              product.bias.has_value(), product.constant != nullptr, {}};
  MadePrimitive made = lowering.library().make(spec);
  if (!made.primitive) return false;
  Place weights = product.weights;
  if (product.constant != nullptr) {
    KnownConstant& constant = *product.constant;
    const WeightsFormat& format = *made.primitive->weights_format();
    const auto pack = [&](std::byte* target) {
      const Tensor tensor = lowering.store().read(constant);
      lowering.library().set_threads(lowering.settings().threads);
      format.pack(swap_constant ? swap_last(tensor.desc()) : tensor.desc(), tensor.bytes(), target);
    };
    const std::string key = lowering.store().key_of(constant) + (swap_constant ? "swapped" : "") + format.key();
    lowering.count_packed(format.bytes());
    weights = lowering.fixed_place(lowering.store().share(key, format.bytes(), pack).memory, format.bytes());
  }
  std::vector<Place> places{product.source, weights};
  std::vector<std::pair<Argument, int>> roles{{Argument::source, 0}, {Argument::weights, 0}};
  if (product.bias) {
    places.push_back(*product.bias);
    roles.emplace_back(Argument::bias, 0);
  }
  places.push_back(product.destination);
  roles.emplace_back(Argument::destination, 0);
  lowering.emit(make_primitive_kernel(std::move(made.primitive), std::move(roles)), places, threads);
  lowering.count_macs(macs);
  return true;
}

/// The last two dims are a matrix the library reads as it stands: one of them dense, the other at a stride of at least its length.
bool is_matrix(const TensorDesc& desc) {
  const std::size_t last = desc.dims.size() - 1;
  const int64_t row = desc.strides[last - 1], column = desc.strides[last];
  const bool rows_dense = (column == 1 || desc.dims[last] == 1) && row >= desc.dims[last];
  const bool columns_dense = (row == 1 || desc.dims[last - 1] == 1) && column >= desc.dims[last - 1];
  if (!rows_dense && !columns_dense) return false;
  return std::ranges::all_of(desc.strides, [](int64_t stride) { return stride > 0; });
}

/// An operand of rank 2 and more as a matrix the library can read; copied when it is not.
Place matrix_place(Lowering& lowering, int value) {
  const Place as_it_lies = lowering.place(value);
  return is_matrix(as_it_lies.desc) ? as_it_lies : lowering.dense(value, Order::contiguous);
}

/// The same matrices under `rank` dims.
Place with_rank(Lowering& lowering, const Place& place, std::size_t rank) {
  TensorDesc desc = place.desc;
  const int64_t outer = desc.dims.empty() ? 1 : desc.dims.front() * desc.strides.front();
  while (desc.dims.size() < rank) {
    desc.dims.insert(desc.dims.begin(), 1);
    desc.strides.insert(desc.strides.begin(), std::max<int64_t>(outer, 1));
  }
  return lowering.view_of(place, std::move(desc), 0);
}

bool all_there(Lowering& lowering, const ProgramNode& node) {
  for (const int input : node.inputs) {
    if (input >= 0 && (!is_float_tensor(lowering, input) || element_count(lowering.info(input).dims) == 0)) return false;
  }
  return element_count(lowering.info(node.outputs[0]).dims) != 0;
}

/// What Gemm adds, as a bias over the columns, when it is one.
std::optional<Place> column_bias(Lowering& lowering, int value, int64_t columns) {
  const Dims& dims = lowering.info(value).dims;
  if (element_count(dims) != columns || dims.empty() || dims.back() != columns) return std::nullopt;
  return lowering.dense(value, Order::contiguous);
}

/// Stages of the nodes behind the anchor.
std::optional<std::vector<Stage>> rest_of(Lowering& lowering, const Group& group) {
  std::vector<Stage> out;
  for (std::size_t i = 1; i < group.nodes.size(); ++i) {
    const auto stages = stages_of(lowering.stage_context(), *group.nodes[i], group.nodes[i - 1]->output(0));
    if (!stages) return std::nullopt;
    out.insert(out.end(), stages->begin(), stages->end());
  }
  return are_own(out) ? std::optional(out) : std::nullopt;
}

/// Stages over the product in place, and the group's output.
void finish(Lowering& lowering, const Group& group, const Place& destination, const std::vector<Stage>& stages) {
  if (!stages.empty()) emit_stages(lowering, destination, destination, stages);
  lowering.define(group.output(), destination);
}

}  // namespace

bool lower_gemm(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const Attributes& attributes = node.call.attributes;
  if (node.call.opset < 7 || attributes.real("alpha", 1.0F) != 1.0F || !all_there(lowering, node)) return false;
  auto stages = rest_of(lowering, group);
  if (!stages) return false;

  Product product;
  const Dims& dims = lowering.info(node.outputs[0]).dims;
  product.source = matrix_place(lowering, node.inputs[0]);
  if (attributes.integer("transA", 0) != 0) product.source.desc = swap_last(product.source.desc);
  const bool swap = attributes.integer("transB", 0) != 0;
  product.constant = lowering.constant(node.inputs[1]);
  if (product.constant != nullptr) {
    product.weights.desc = ordered(DataType::float32, lowering.info(node.inputs[1]).dims, Order::contiguous);
  } else {
    product.weights = matrix_place(lowering, node.inputs[1]);
  }
  if (swap) product.weights.desc = swap_last(product.weights.desc);

  if (const int added = node.input(2); added >= 0) {
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
  product.destination = lowering.new_place(ordered(DataType::float32, dims, Order::contiguous));
  if (!emit_product(lowering, product, swap)) return false;
  finish(lowering, group, product.destination, *stages);
  return true;
}

bool lower_matmul(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const Dims &a = lowering.info(node.inputs[0]).dims, &b = lowering.info(node.inputs[1]).dims, &out = lowering.info(node.outputs[0]).dims;
  if (a.size() < 2 || b.size() < 2 || a.size() > 8 || b.size() > 8 || !all_there(lowering, node)) return false;
  const auto stages = rest_of(lowering, group);
  if (!stages) return false;

  Product product;
  product.constant = lowering.constant(node.inputs[1]);
  const Place destination = lowering.new_place(ordered(DataType::float32, out, Order::contiguous));
  if (b.size() == 2) {
    // One matrix for all: the rows of all batches are one long matrix.
    const Place source = a.size() == 2 ? matrix_place(lowering, node.inputs[0]) : lowering.dense(node.inputs[0], Order::contiguous);
    const Dims flat{element_count(a) / a.back(), a.back()};
    product.source = a.size() == 2 ? source : lowering.view_of(source, ordered(DataType::float32, flat, Order::contiguous), 0);
    product.destination = lowering.view_of(destination, ordered(DataType::float32, {flat[0], b[1]}, Order::contiguous), 0);
    product.weights.desc = ordered(DataType::float32, b, Order::contiguous);
    if (product.constant == nullptr) product.weights = matrix_place(lowering, node.inputs[1]);
  } else {
    product.constant = nullptr;
    product.source = with_rank(lowering, matrix_place(lowering, node.inputs[0]), out.size());
    product.weights = with_rank(lowering, matrix_place(lowering, node.inputs[1]), out.size());
    product.destination = destination;
  }
  if (!emit_product(lowering, product, false)) return false;
  finish(lowering, group, destination, *stages);
  return true;
}

namespace {

/// A place under the dims of a batch of matrices that the library reads as they stand; copied where strides cannot say it.
Place as_matrices(Lowering& lowering, const Place& place, const Dims& dims) {
  if (const auto strides = reshape_strides(place.desc, dims)) {
    TensorDesc desc{place.desc.type, dims, *strides};
    if (is_matrix(desc)) return lowering.view_of(place, std::move(desc), 0);
  }
  const Place dense = lowering.new_place(ordered(place.desc.type, place.desc.dims, Order::contiguous));
  lowering.copy(place, dense, Lowering::Copy::inside);
  return lowering.view_of(dense, ordered(place.desc.type, dims, Order::contiguous), 0);
}

}  // namespace

bool lower_einsum(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (node.inputs.size() != 2 || !all_there(lowering, node)) return false;
  const Place a = lowering.place(node.inputs[0]), b = lowering.place(node.inputs[1]);
  const auto einsum = einsum_product(node.call, a.desc, b.desc);
  if (!einsum) return false;

  Product product;
  product.source = as_matrices(lowering, lowering.view_of(a, einsum->left, 0), {einsum->batch, einsum->rows, einsum->depth});
  product.weights = as_matrices(lowering, lowering.view_of(b, einsum->right, 0), {einsum->batch, einsum->depth, einsum->columns});
  const Place made = lowering.new_place(ordered(DataType::float32, einsum->made, Order::contiguous));
  const Dims matrices{einsum->batch, einsum->rows, einsum->columns};
  product.destination = lowering.view_of(made, ordered(DataType::float32, matrices, Order::contiguous), 0);
  if (!emit_product(lowering, product, false)) return false;

  TensorDesc view{DataType::float32, {}, {}};
  for (const std::size_t from : einsum->output) {
    view.dims.push_back(made.desc.dims[from]);
    view.strides.push_back(made.desc.strides[from]);
  }
  const auto planned = lowering.made(node, 0);
  const bool is_right =
      planned ? order_of_strides(view.dims, view.strides) == planned : lowering.optimized() || is_ordered(view, Order::contiguous);
  Place result = lowering.view_of(made, view, 0);
  if (!is_right) {
    result = lowering.new_place(lowering.result_desc(node, 0, Order::contiguous));
    lowering.copy(lowering.view_of(made, view, 0), result, Lowering::Copy::inside);
  }
  lowering.define(node.outputs[0], result);
  return true;
}

}  // namespace relayout
