// Emits one matrix product of oneDNN, with operands in layouts that it reads correctly.

#include "exec/constant_store.h"
#include "exec/kernels/kernel.h"
#include "exec/lower/fuse.h"
#include "exec/lower/group.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "ops/loops/strided.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
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
