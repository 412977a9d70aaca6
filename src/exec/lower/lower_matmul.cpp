// Lowers products of matrices to oneDNN, with the nodes that are fused downstream.

#include "exec/constant_store.h"
#include "exec/kernels/kernel.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "model/node.h"
#include "ops/kernels/matmul.h"
#include "ops/loops/strided.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
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

/// Makes rows of the dims of the batch next to the matrices in which the right operand repeats, where the left one lies so.
void join_rows(MatrixProduct& product) {
  TensorDesc &source = product.source.desc, &weights = product.weights.desc, &destination = product.destination.desc;
  const std::size_t rows = weights.dims.size() - 2;
  std::size_t first = rows;
  while (first > 0 && weights.dims[first - 1] == 1) --first;
  const auto joined = [&](const TensorDesc& desc) {
    Dims dims = desc.dims;
    for (std::size_t i = first; i < rows; ++i) dims[rows] *= dims[i];
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.begin() + static_cast<std::ptrdiff_t>(rows));
    return dims;
  };
  const Dims dims = joined(source), made = joined(destination);
  const auto strides = reshape_strides(source, dims);
  if (!strides) return;
  source = {source.type, dims, *strides};
  destination = ordered(destination.type, made, Order::contiguous);
  for (Dims* of : {&weights.dims, &weights.strides}) {
    of->erase(of->begin() + static_cast<std::ptrdiff_t>(first), of->begin() + static_cast<std::ptrdiff_t>(rows));
  }
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
    const std::size_t rank = std::max(a.size(), b.size());
    product.source = with_rank(lowering.places.of(node.inputs[0]), false, rank);
    product.constant = lowering.to_pack(node.inputs[1]);
    product.weights.desc = ordered(DataType::float32, b, Order::contiguous);
    if (product.constant == nullptr) product.weights = lowering.places.of(node.inputs[1]);
    product.weights = with_rank(product.weights, true, rank);
    Dims dims = out;
    if (a.size() == 1) dims.insert(dims.end() - 1, 1);
    product.destination = view_of(destination, ordered(DataType::float32, dims, Order::contiguous), 0);
    join_rows(product);
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

// One product of oneDNN, with operands in layouts that it reads correctly.
namespace {

double nanoseconds_of(const MatrixProduct& product, int64_t macs) {
  const double bytes = static_cast<double>(element_count(product.weights.desc.dims)) * 4;
  return std::max(static_cast<double>(macs) / step_rates::kMacsPerNanosecond, bytes / step_rates::kStreamedBytesPerNanosecond);
}

/// A desc in which dims of size 1 have the strides of a dense tensor, since their strides carry no information. With the strides that views
/// happen to have there, the library's matmul mistakes the order of the dims and reads elsewhere (3.7.2, AVX-512).
TensorDesc with_plain_strides(TensorDesc desc) {
  int64_t extent = 1;  // of the inner dims
  for (std::size_t i = desc.dims.size(); i-- > 0;) {
    if (desc.dims[i] == 1) desc.strides[i] = extent;
    extent = std::max(extent, desc.dims[i] * desc.strides[i]);
  }
  return desc;
}

/// Whether the library's matmul is right with matrices of this layout (3.7.2 is not with every layout that it accepts). Matrices are stored
/// by rows or by columns, with the batch around them from the outermost dim to the innermost. There may be gaps after rows and matrices.
/// The second and further dims of the batch must begin where the next inner dim ends: of the batch's strides the library reads one and
/// counts the rest from it. Or the layout is that of heads, with the innermost dim of the batch between the vectors of a matrix (its tag
/// acbd). Then there are no gaps and no further dims, and operands do not repeat.
bool is_readable(const TensorDesc& desc, const TensorDesc& destination) {
  const std::size_t last = desc.dims.size() - 1;
  const bool by_rows = desc.strides[last] == 1;
  if (!by_rows && desc.strides[last - 1] != 1) return false;
  std::vector<std::size_t> order{by_rows ? last : last - 1, by_rows ? last - 1 : last};  // from the innermost dim outwards
  bool repeats = false;
  for (std::size_t i = last - 1; i-- > 0;) {
    order.push_back(i);
    repeats = repeats || desc.dims[i] != destination.dims[i];
  }
  constexpr std::size_t kMostDimsOfHeads = 4;
  const bool may_be_heads = desc.dims.size() <= kMostDimsOfHeads && !repeats;
  const bool heads = may_be_heads && order.size() > 2 && desc.strides[order[2]] < desc.strides[order[1]];
  if (heads) std::swap(order[1], order[2]);
  int64_t extent = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int64_t stride = desc.strides[order[i]];
    const bool exact = i > 2 || (heads && i > 0);
    if (stride < extent || (exact && stride != extent)) return false;
    extent = stride * desc.dims[order[i]];
  }
  return true;
}

Place dense_copy(Lowering& lowering, const Place& place) {
  Place dense = lowering.steps.new_place(ordered(place.desc.type, place.desc.dims, Order::contiguous));
  lowering.steps.copy(place, dense, StepKind::inside);
  return dense;
}

/// Drops the dims of the batch that are 1 in the result, and copies operands that the library would misread.
void prepare(Lowering& lowering, MatrixProduct& product) {
  const auto keep = [](TensorDesc& desc, const Dims& result) {
    TensorDesc kept{desc.type, {}, {}};
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (i + 2 < result.size() && result[i] == 1) continue;
      kept.dims.push_back(desc.dims[i]);
      kept.strides.push_back(desc.strides[i]);
    }
    desc = with_plain_strides(std::move(kept));
  };
  const Dims result = product.destination.desc.dims;
  for (Place* place : {&product.source, &product.weights, &product.destination}) keep(place->desc, result);
  for (Place* place : {&product.source, &product.weights}) {
    if (*place && !is_readable(place->desc, product.destination.desc)) *place = dense_copy(lowering, *place);
  }
}

}  // namespace

TensorDesc swap_last(TensorDesc desc) {
  const std::size_t last = desc.dims.size() - 1;
  std::swap(desc.dims[last], desc.dims[last - 1]);
  std::swap(desc.strides[last], desc.strides[last - 1]);
  return desc;
}

bool emit_product(Lowering& lowering, MatrixProduct product, bool swap_constant) {
  prepare(lowering, product);
  const Dims& dims = product.destination.desc.dims;
  const int64_t depth = product.source.desc.dims.back();
  const int64_t macs = element_count(dims) * depth;
  const int threads = lowering.steps.use_threads(nanoseconds_of(product, macs));
  Matmul spec{product.source.desc,      product.weights.desc,        product.destination.desc,
              product.bias.has_value(), product.constant != nullptr, product.post_ops};
  MadePrimitive made = lowering.library().make(spec);
  if (!made.primitive) return false;
  Place weights = product.weights;
  if (product.constant != nullptr) {
    KnownConstant& constant = *product.constant;
    const WeightsFormat& format = *made.primitive->weights_format();
    const auto pack = [&](std::byte* target) {
      Tensor tensor = lowering.store().read(constant);
      TensorDesc desc{tensor.type(), product.weights.desc.dims, {}};
      if (swap_constant) std::swap(desc.dims[0], desc.dims[1]);
      if (!reshape_strides(tensor.desc(), desc.dims)) tensor = contiguous(tensor);
      desc.strides = *reshape_strides(tensor.desc(), desc.dims);
      lowering.library().set_threads(lowering.settings.threads);
      format.pack(swap_constant ? swap_last(std::move(desc)) : desc, tensor.bytes(), target);
    };
    const std::string key = lowering.store().key_of(constant) + (swap_constant ? "swapped" : "") + format.key();
    lowering.steps.count_packed(format.bytes());
    weights = lowering.steps.fixed_place(lowering.store().share(key, format.bytes(), pack).memory, format.bytes());
  }
  std::vector<Place> places{product.source, weights};
  std::vector<std::pair<Argument, int>> roles{{Argument::source, 0}, {Argument::weights, 0}};
  if (product.bias) {
    places.push_back(*product.bias);
    roles.emplace_back(Argument::bias, 0);
  }
  places.push_back(product.destination);
  roles.emplace_back(Argument::destination, 0);
  lowering.steps.emit(make_primitive_kernel(std::move(made.primitive), std::move(roles)), places, threads);
  lowering.steps.count_macs(macs);
  return true;
}

Place as_matrices(Lowering& lowering, const Place& place, const Dims& dims) {
  if (const auto strides = reshape_strides(place.desc, dims)) {
    return view_of(place, TensorDesc{place.desc.type, dims, *strides}, 0);
  }
  const Place dense = dense_copy(lowering, place);
  return view_of(dense, ordered(place.desc.type, dims, Order::contiguous), 0);
}

bool are_floats(Lowering& lowering, const ProgramNode& node) {
  for (const ValueId input : node.inputs) {
    if (input != ValueId::none && (!lowering.facts.is_float_tensor(input) || element_count(lowering.info(input).dims) == 0)) return false;
  }
  return element_count(lowering.info(node.outputs[0]).dims) != 0;
}

std::optional<std::vector<Stage>> rest_of(Lowering& lowering, const Group& group) {
  auto out = stages_of(lowering.facts, std::span(group.nodes).subspan(1), group.anchor().output(0));
  return out && are_own(*out) ? std::move(out) : std::nullopt;
}

bool emit_with_stages(Lowering& lowering, const Group& group, MatrixProduct product, const Place& destination,
                      const std::vector<Stage>& stages, bool swap_constant) {
  const bool by_library = stages.size() == 1 && is_library_gelu(stages.front());
  if (by_library) product.post_ops = {function_op(stages.front())};
  if (!emit_product(lowering, std::move(product), swap_constant)) return false;
  finish(lowering, group, destination, by_library ? std::vector<Stage>() : stages);
  return true;
}

void finish(Lowering& lowering, const Group& group, const Place& destination, const std::vector<Stage>& stages) {
  if (!stages.empty()) emit_stages(lowering, destination, destination, stages);
  lowering.places.define(group.output(), destination);
}

}  // namespace relayout::exec
