// Changes only the shape of a tensor or where its elements are, as a view where possible.
#include <cstdlib>
#include <numeric>

#include "base/positions.h"
#include "base/random.h"
#include "ops/call.h"
#include "ops/kernels/gather.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Argument `axes` of Squeeze and Unsqueeze.
struct AxesOperand {
  bool given = false;
  bool known = true;
  std::vector<int64_t> axes;
};

AxesOperand axes_operand(const OpCall& call, InputInfos inputs) {
  if (!argument_is_operand(call.node.op_type(), call.opset)) {
    return {call.attributes.has("axes"), true, call.attributes.integers("axes")};
  }
  const DatumInfo* info = optional_tensor_info(call, inputs, 1, kIndexTypes);
  if (info == nullptr) return {};
  auto values = known_integers(call, *info);
  if (!values) return {true, false, {}};
  return {true, true, std::move(*values)};
}

std::vector<std::size_t> permutation_of(const OpCall& call, std::size_t rank) {
  std::vector<int64_t> perm = call.attributes.integers("perm");
  if (perm.empty()) {
    for (std::size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  }
  if (perm.size() != rank) reject(call, "perm has " + std::to_string(perm.size()) + " entries for rank " + std::to_string(rank));
  return normal_axes(call, perm, rank);
}

Tensor permuted(const OpCall& call, const Tensor& tensor) {
  const auto permutation = permutation_of(call, tensor.dims().size());
  return tensor.transposed(std::vector<int64_t>(permutation.begin(), permutation.end()));
}

}  // namespace

Inferred infer_shape(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const auto rank = static_cast<int64_t>(tensor_info(call, inputs, 0).dims.size());
  const auto bound = [rank](int64_t value) { return std::clamp<int64_t>(from_front(value, rank), 0, rank); };
  const int64_t begin = bound(call.attributes.integer("start", 0));
  const int64_t end = bound(call.attributes.integer("end", rank));
  return results(call, tensor_of(DataType::int64, {std::max<int64_t>(end - begin, 0)}));
}

void shape(const OpCall& call, InputData inputs, OutputData outputs) {
  const Dims& dims = tensor_at(inputs, 0).dims();
  const Tensor& out = outputs[0]->tensor;
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t begin = std::clamp<int64_t>(from_front(call.attributes.integer("start", 0), rank), 0, rank);
  store(DataType::int64, out.bytes(), out.strides()[0], out.dims()[0], dims.data() + begin);
}

Inferred infer_size(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  (void)tensor_info(call, inputs, 0);
  return results(call, tensor_of(DataType::int64, {}));
}

void size(const OpCall& call, InputData inputs, OutputData outputs) {
  *outputs[0]->tensor.data<int64_t>() = checked_count(call, tensor_at(inputs, 0).dims());
}

Inferred infer_identity(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo* input = optional_info(inputs, 0);
  if (input == nullptr) reject(call, "input 0 is missing");
  DatumInfo output = *input;
  output.value = nullptr;
  return results(call, std::move(output));
}

void identity(const OpCall& call, InputData inputs, OutputData outputs) {
  if (inputs[0]->kind == Datum::Kind::tensor)
    copy_elements(call.threads, outputs[0]->tensor, tensor_at(inputs, 0));
  else
    *outputs[0] = *inputs[0];
}

std::optional<Tensor> view_identity(const OpCall&, InputData inputs, const DatumInfo& output, std::size_t index) {
  if (index != 0 || output.kind != Datum::Kind::tensor) return std::nullopt;
  return tensor_at(inputs, 0);
}

Inferred infer_reshape(const OpCall& call, InputInfos inputs) {
  constexpr int64_t kInputOpset = 5;
  const bool by_attribute = call.opset < kInputOpset;
  require_inputs(call, inputs, by_attribute ? 1 : 2, by_attribute ? 1 : 2);
  const DatumInfo& input = tensor_info(call, inputs, 0);
  Dims dims = call.attributes.integers("shape");
  if (!by_attribute) {
    const auto values = known_integers(call, tensor_info(call, inputs, 1, {DataType::int64}));
    if (!values) return std::nullopt;
    dims = *values;
  }
  const bool zero_is_zero = call.attributes.integer("allowzero", 0) != 0;
  std::optional<std::size_t> free;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !zero_is_zero) {
      if (i >= input.dims.size()) reject(call, "shape " + to_string(dims) + " copies a dim that the input does not have");
      dims[i] = input.dims[i];
    } else if (dims[i] == -1) {
      if (free) reject(call, "shape " + to_string(dims) + " has several free dims");
      free = i;
    } else if (dims[i] < 0) {
      reject(call, "shape " + to_string(dims) + " has a negative dim");
    }
  }
  const int64_t count = checked_count(call, input.dims);
  if (free) {
    dims[*free] = 1;
    const int64_t rest = checked_count(call, dims);
    if (rest == 0 ? count != 0 || zero_is_zero : count % rest != 0) {
      reject(call, "dims " + to_string(input.dims) + " cannot be cut by the shape's fixed dims");
    }
    dims[*free] = rest == 0 ? 0 : count / rest;
  }
  if (checked_count(call, dims) != count) reject(call, "cannot reshape " + to_string(input.dims) + " to " + to_string(dims));
  return results(call, tensor_of(input.type, std::move(dims)));
}

/// Any operator whose output has the input's elements in the same order.
void reshape(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& from = tensor_at(inputs, 0);
  const Tensor& to = outputs[0]->tensor;
  if (const auto strides = reshape_strides(from.desc(), to.dims())) return copy_elements(call.threads, to, from.view(to.dims(), *strides));
  if (const auto strides = reshape_strides(to.desc(), from.dims()))
    return copy_elements(call.threads, to.view(from.dims(), *strides), from);
  const Tensor dense = contiguous(from);
  copy_elements(call.threads, to, dense.view(to.dims(), contiguous_strides(to.dims())));
}

std::optional<Tensor> view_reshape(const OpCall&, InputData inputs, const DatumInfo& output, std::size_t) {
  const Tensor& from = tensor_at(inputs, 0);
  auto strides = reshape_strides(from.desc(), output.dims);
  if (!strides) return std::nullopt;
  return from.view(output.dims, std::move(*strides));
}

Inferred infer_flatten(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& input = tensor_info(call, inputs, 0);
  const auto rank = static_cast<int64_t>(input.dims.size());
  const int64_t axis = call.attributes.integer("axis", 1);
  if (axis < -rank || axis > rank) reject(call, "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  const auto middle = input.dims.begin() + from_front(axis, rank);
  return one(call, input.type,
             {checked_count(call, Dims(input.dims.begin(), middle)), checked_count(call, Dims(middle, input.dims.end()))});
}

Inferred infer_squeeze(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& input = tensor_info(call, inputs, 0);
  const AxesOperand operand = axes_operand(call, inputs);
  if (!operand.known) return std::nullopt;
  std::vector<bool> drop(input.dims.size(), false);
  if (!operand.given) {
    for (std::size_t i = 0; i < drop.size(); ++i) drop[i] = input.dims[i] == 1;
  }
  for (const std::size_t axis : normal_axes(call, operand.axes, input.dims.size())) {
    if (input.dims[axis] != 1) reject(call, "dim " + std::to_string(axis) + " of " + to_string(input.dims) + " is not 1");
    drop[axis] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < drop.size(); ++i) {
    if (!drop[i]) dims.push_back(input.dims[i]);
  }
  return results(call, tensor_of(input.type, std::move(dims)));
}

Inferred infer_unsqueeze(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& input = tensor_info(call, inputs, 0);
  const AxesOperand operand = axes_operand(call, inputs);
  if (!operand.given) reject(call, "axes are missing");
  if (!operand.known) return std::nullopt;
  Dims dims(input.dims.size() + operand.axes.size(), -1);
  for (const std::size_t axis : normal_axes(call, operand.axes, dims.size())) dims[axis] = 1;
  auto next = input.dims.begin();
  for (int64_t& dim : dims) {
    if (dim < 0) dim = *next++;
  }
  return results(call, tensor_of(input.type, std::move(dims)));
}

Inferred infer_transpose(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& input = tensor_info(call, inputs, 0);
  Dims dims;
  for (const std::size_t from : permutation_of(call, input.dims.size())) dims.push_back(input.dims[from]);
  return results(call, tensor_of(input.type, std::move(dims)));
}

void transpose(const OpCall& call, InputData inputs, OutputData outputs) {
  copy_elements(call.threads, outputs[0]->tensor, permuted(call, tensor_at(inputs, 0)));
}

std::optional<Tensor> view_transpose(const OpCall& call, InputData inputs, const DatumInfo&, std::size_t) {
  return permuted(call, tensor_at(inputs, 0));
}

Inferred infer_expand(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& input = tensor_info(call, inputs, 0);
  const auto shape = known_integers(call, tensor_info(call, inputs, 1, {DataType::int64}));
  if (!shape) return std::nullopt;
  checked_count(call, *shape);
  return one(call, input.type, broadcast_dims(call, input.dims, *shape));
}

void expand(const OpCall& call, InputData inputs, OutputData outputs) {
  copy_elements(call.threads, outputs[0]->tensor, tensor_at(inputs, 0));
}

std::optional<Tensor> view_expand(const OpCall&, InputData inputs, const DatumInfo& output, std::size_t) {
  const Tensor& from = tensor_at(inputs, 0);
  return from.view(output.dims, broadcast_operand(from, output.dims).strides);
}

Inferred infer_dropout(const OpCall& call, InputInfos inputs) {
  constexpr int64_t kBooleanMaskOpset = 10;
  require_inputs(call, inputs, 1, 3);
  const DatumInfo& input = tensor_info(call, inputs, 0, kRealTypes | kSmallTypes);
  std::vector<DatumInfo> all = results(call, tensor_of(input.type, input.dims));
  if (all.size() > 1) all[1] = tensor_of(call.opset < kBooleanMaskOpset ? input.type : DataType::boolean, input.dims);
  return all;
}

/// A copy unless input training_mode (opset 12) is true; attribute is_test of opsets 1 and 6 is assumed to be set.
void dropout(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& from = tensor_at(inputs, 0);
  const bool training = present(inputs, 2) && load_one<uint8_t>(DataType::boolean, tensor_at(inputs, 2).bytes()) != 0;
  const double ratio = !training ? 0 : present(inputs, 1) ? real_of(call, tensor_at(inputs, 1)) : 0.5;
  if (!(ratio >= 0 && ratio <= 1)) reject(call, "ratio is not within 0 and 1");
  Tensor keep(DataType::boolean, from.dims());
  const int64_t count = keep.element_count();
  const auto seed = static_cast<uint64_t>(call.attributes.integer("seed", static_cast<int64_t>(call.seed)));
  const RandomStream random(seed, call.node.label());
  for (int64_t i = 0; i < count; ++i) keep.data<uint8_t>()[i] = ratio == 0 || random.uniform(static_cast<uint64_t>(i)) >= ratio ? 1 : 0;
  if (const Tensor* out = wanted(outputs, 0)) {
    const double scale = ratio == 1 ? 0 : 1 / (1 - ratio);
    map_elements<double, double>(call.threads, *out, [scale](double x, double kept) { return kept != 0 ? x * scale : 0; }, from, keep);
  }
  if (const Tensor* mask = wanted(outputs, 1)) map_elements<double, double>(call.threads, *mask, [](double kept) { return kept; }, keep);
}

std::optional<Tensor> view_dropout(const OpCall&, InputData inputs, const DatumInfo&, std::size_t index) {
  if (index != 0 || present(inputs, 2)) return std::nullopt;
  return tensor_at(inputs, 0);
}

// Elements at other positions.
namespace {

int64_t block_size(const OpCall& call) {
  const auto size = call.attributes.integer("blocksize");
  if (!size || *size < 1) reject(call, "attribute 'blocksize' is missing or not positive");
  return *size;
}

/// Whether the channels of a block are in depth-column-row order, else column-row-depth.
bool depth_first(const OpCall& call) {
  const std::string mode = call.attributes.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") reject(call, "mode is neither DCR nor CRD");
  return mode == "DCR";
}

const DatumInfo& image_info(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  if (x.dims.size() != 4) reject(call, "dims " + to_string(x.dims) + " are not [N, C, H, W]");
  return x;
}

}  // namespace

Inferred infer_depth_to_space(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = image_info(call, inputs);
  const int64_t block = block_size(call), square = checked_product(call, block, block);
  (void)depth_first(call);
  if (x.dims[1] % square != 0) reject(call, std::to_string(x.dims[1]) + " channels do not make blocks of " + std::to_string(square));
  return one(call, x.type,
             {x.dims[0], x.dims[1] / square, checked_product(call, x.dims[2], block), checked_product(call, x.dims[3], block)});
}

void depth_to_space(const OpCall& call, InputData inputs, OutputData outputs) {
  if (outputs[0]->tensor.element_count() == 0) return;
  const BlockViews views = block_views(call, tensor_at(inputs, 0), outputs[0]->tensor);
  copy_elements(call.threads, views.to, views.from);
}

Inferred infer_space_to_depth(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = image_info(call, inputs);
  const int64_t block = block_size(call);
  (void)depth_first(call);
  if (x.dims[2] % block != 0 || x.dims[3] % block != 0)
    reject(call, "dims " + to_string(x.dims) + " do not cut into blocks of " + std::to_string(block));
  const int64_t channels = checked_product(call, checked_product(call, block, block), x.dims[1]);
  return one(call, x.type, {x.dims[0], channels, x.dims[2] / block, x.dims[3] / block});
}

void space_to_depth(const OpCall& call, InputData inputs, OutputData outputs) {
  if (outputs[0]->tensor.element_count() == 0) return;
  const BlockViews views = block_views(call, tensor_at(inputs, 0), outputs[0]->tensor);
  copy_elements(call.threads, views.to, views.from);
}

Inferred infer_reverse_sequence(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  const DatumInfo& lengths = tensor_info(call, inputs, 1, {DataType::int64});
  const int64_t batch = call.attributes.integer("batch_axis", 1), time = call.attributes.integer("time_axis", 0);
  if (x.dims.size() < 2 || batch + time != 1 || batch * time != 0) reject(call, "batch_axis and time_axis are not 0 and 1");
  if (lengths.dims != Dims{element_at(x.dims, batch)}) reject(call, "sequence_lens has dims " + to_string(lengths.dims));
  return results(call, tensor_of(x.type, x.dims));
}

/// Reverses the first elements of each sequence and keeps the rest.
void reverse_sequence(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const auto batch = as_size(call.attributes.integer("batch_axis", 1)), time = 1 - batch;
  const std::vector<int64_t> lengths = integers_of(call, tensor_at(inputs, 1));
  Dims dims = x.dims();
  dims[batch] = 1;
  for (int64_t b = 0; b < x.dims()[batch]; ++b) {
    const int64_t length = element_at(lengths, b);
    if (length < 0 || length > x.dims()[time]) reject(call, "a sequence length is " + std::to_string(length));
    std::vector<int64_t> positions(as_size(x.dims()[time]));
    std::iota(positions.begin(), positions.end(), int64_t{0});
    std::reverse(positions.begin(), positions.begin() + length);
    const Tensor row = x.view(dims, x.strides(), b * x.strides()[batch]);
    copy_elements(call.threads, out.view(dims, out.strides(), b * out.strides()[batch]), taken(call, row, time, positions));
  }
}

}  // namespace relayout::kernels

namespace relayout {

/// Views of a tensor [N, C·b², H, W] and one [N, C, H·b, W·b], both as [N, block row, block column, C, H, W].
BlockViews block_views(const OpCall& call, const Tensor& x, const Tensor& out) {
  const bool deepens = call.node.op_type() == "SpaceToDepth", outermost = kernels::depth_first(call);
  const Tensor &deep = deepens ? out : x, &wide = deepens ? x : out;
  const int64_t block = kernels::block_size(call), channels = wide.dims()[1];
  const Dims dims{deep.dims()[0], block, block, channels, deep.dims()[2], deep.dims()[3]};
  const Dims& d = deep.strides();
  const Dims& w = wide.strides();
  const int64_t row = outermost ? d[1] * block * channels : d[1] * block;
  const int64_t column = outermost ? d[1] * channels : d[1];
  const int64_t channel = outermost ? d[1] : d[1] * block * block;
  const Tensor deep_view = deep.view(dims, {d[0], row, column, channel, d[2], d[3]});
  const Tensor wide_view = wide.view(dims, {w[0], w[2], w[3], w[1], w[2] * block, w[3] * block});
  return deepens ? BlockViews{wide_view, deep_view} : BlockViews{deep_view, wide_view};
}

}  // namespace relayout
