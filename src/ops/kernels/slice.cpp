// Slice, Split, Concat and Tile: parts of a tensor, and tensors from parts.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// The part that Slice takes of one axis.
struct Range {
  int64_t start = 0, step = 1, count = 0;
};

/// Clamps indices as numpy does.
Range clamped(int64_t start, int64_t end, int64_t step, int64_t dim) {
  start = from_front(start, dim);
  end = from_front(end, dim);
  Range range;
  range.step = step;
  if (step > 0) {
    range.start = std::clamp<int64_t>(start, 0, dim);
    const int64_t length = std::clamp<int64_t>(end, 0, dim) - range.start;
    range.count = length <= 0 ? 0 : (length - 1) / step + 1;
  } else {
    range.start = std::clamp<int64_t>(start, -1, dim - 1);
    const int64_t length = range.start - std::clamp<int64_t>(end, -1, dim - 1);
    range.count = length <= 0 ? 0 : (length - 1) / (step == INT64_MIN ? INT64_MAX : -step) + 1;
  }
  return range;
}

struct SliceOperands {
  std::vector<int64_t> starts, ends, axes, steps;
};

/// One Range per axis, from the contents of the operands.
std::vector<Range> slice_ranges(const OpCall& call, const Dims& dims, SliceOperands operands) {
  const std::size_t count = operands.starts.size();
  if (operands.axes.empty()) {
    for (std::size_t i = 0; i < count; ++i) operands.axes.push_back(static_cast<int64_t>(i));
  }
  if (operands.steps.empty()) operands.steps.assign(count, 1);
  if (operands.ends.size() != count || operands.axes.size() != count || operands.steps.size() != count) {
    reject(call, "starts, ends, axes and steps differ in length");
  }
  const auto axes = normal_axes(call, operands.axes, dims.size());
  std::vector<Range> ranges;
  for (const int64_t dim : dims) ranges.push_back({0, 1, dim});
  for (std::size_t i = 0; i < count; ++i) {
    if (operands.steps[i] == 0) reject(call, "a step is 0");
    ranges[axes[i]] = clamped(operands.starts[i], operands.ends[i], operands.steps[i], dims[axes[i]]);
  }
  return ranges;
}

constexpr int64_t kSliceInputOpset = 10;

SliceOperands slice_attributes(const OpCall& call) {
  return {call.attributes.integers("starts"), call.attributes.integers("ends"), call.attributes.integers("axes"), {}};
}

std::vector<Range> slice_ranges(const OpCall& call, InputData inputs) {
  SliceOperands operands;
  if (call.opset < kSliceInputOpset) {
    operands = slice_attributes(call);
  } else {
    const auto values = [&](std::size_t i) {
      return present(inputs, i) ? integers_of(call, tensor_at(inputs, i)) : std::vector<int64_t>();
    };
    operands = {values(1), values(2), values(3), values(4)};
  }
  return slice_ranges(call, tensor_at(inputs, 0).dims(), std::move(operands));
}

Tensor sliced(const Tensor& tensor, const std::vector<Range>& ranges) {
  Dims dims, strides;
  int64_t offset = 0;
  bool empty = false;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const int64_t stride = tensor.strides()[i];
    dims.push_back(ranges[i].count);
    strides.push_back(ranges[i].count > 1 ? stride * ranges[i].step : stride);
    if (ranges[i].count == 0)
      empty = true;
    else
      offset += ranges[i].start * stride;
  }
  return tensor.view(std::move(dims), std::move(strides), empty ? 0 : offset);
}

/// The elements [begin, begin + count) of one axis.
Tensor part(const Tensor& tensor, std::size_t axis, int64_t begin, int64_t count) {
  Dims dims = tensor.dims();
  dims[axis] = count;
  const bool empty = std::ranges::find(dims, 0) != dims.end();
  return tensor.view(std::move(dims), tensor.strides(), empty ? 0 : begin * tensor.strides()[axis]);
}

/// Sizes of Split's results: input or attribute `split`, else equal parts (opset 18: the last may be smaller).
std::optional<std::vector<int64_t>> split_sizes(const OpCall& call, InputInfos inputs, int64_t dim) {
  constexpr int64_t kCountOpset = 18;
  const auto parts = static_cast<int64_t>(call.node.outputs().size());
  if (parts == 0) reject(call, "no outputs");
  std::vector<int64_t> sizes;
  const bool is_operand = argument_is_operand(call.node.op_type(), call.opset);
  if (const DatumInfo* info = is_operand || call.opset == 1 ? optional_tensor_info(call, inputs, 1, kNumericTypes) : nullptr) {
    if (info->value == nullptr) return std::nullopt;
    sizes = truncated_integers_of(*info->value);
  } else if (!is_operand) {
    sizes = call.attributes.integers("split");
  }
  if (sizes.empty()) {
    const int64_t wanted_parts = call.attributes.integer("num_outputs", parts);
    if (call.opset >= kCountOpset && wanted_parts != parts) {
      reject(call, "num_outputs is " + std::to_string(wanted_parts) + " for " + std::to_string(parts) + " outputs");
    }
    if (call.opset < kCountOpset && dim % parts != 0) reject(call, std::to_string(dim) + " is not divisible by " + std::to_string(parts));
    const int64_t each = dim / parts + (dim % parts != 0 ? 1 : 0);
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::max<int64_t>(0, std::min(each, dim - i * each)));
  }
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < 0) reject(call, "a part has negative size");
    total = checked_sum(call, total, size);
  }
  if (static_cast<int64_t>(sizes.size()) != parts || total != dim) {
    reject(call,
           "parts " + to_string(sizes) + " do not make up a dim of " + std::to_string(dim) + " in " + std::to_string(parts) + " outputs");
  }
  return sizes;
}

std::size_t split_axis(const OpCall& call, std::size_t rank) {
  return normal_axis(call, call.attributes.integer("axis", 0), rank);
}

std::size_t concat_axis(const OpCall& call, std::size_t rank) {
  constexpr int64_t kRequiredOpset = 4;
  const auto axis = call.attributes.integer("axis");
  if (!axis && call.opset >= kRequiredOpset) reject(call, "attribute 'axis' is missing");
  return normal_axis(call, axis.value_or(1), rank);
}

}  // namespace

Inferred infer_slice(const OpCall& call, InputInfos inputs) {
  const DatumInfo& input = tensor_info(call, inputs, 0);
  SliceOperands operands;
  if (call.opset < kSliceInputOpset) {
    require_inputs(call, inputs, 1, 1);
    operands = slice_attributes(call);
  } else {
    require_inputs(call, inputs, 3, 5);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      const DatumInfo* info = i < 3 ? &tensor_info(call, inputs, i, kIndexTypes) : optional_tensor_info(call, inputs, i, kIndexTypes);
      if (info == nullptr) continue;
      auto values = known_integers(call, *info);
      if (!values) return std::nullopt;
      (i == 1 ? operands.starts : i == 2 ? operands.ends : i == 3 ? operands.axes : operands.steps) = std::move(*values);
    }
  }
  Dims dims;
  for (const Range& range : slice_ranges(call, input.dims, std::move(operands))) dims.push_back(range.count);
  return results(call, tensor_of(input.type, std::move(dims)));
}

void slice(const OpCall& call, InputData inputs, OutputData outputs) {
  copy_elements(call.threads, outputs[0]->tensor, sliced(tensor_at(inputs, 0), slice_ranges(call, inputs)));
}

std::optional<Tensor> view_slice(const OpCall& call, InputData inputs, const DatumInfo&, std::size_t) {
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (present(inputs, i) && tensor_at(inputs, i).bytes() == nullptr) return std::nullopt;
  }
  return sliced(tensor_at(inputs, 0), slice_ranges(call, inputs));
}

Inferred infer_split(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& input = tensor_info(call, inputs, 0);
  const std::size_t axis = split_axis(call, input.dims.size());
  const auto sizes = split_sizes(call, inputs, input.dims[axis]);
  if (!sizes) return std::nullopt;
  std::vector<DatumInfo> all;
  for (const int64_t size : *sizes) {
    all.push_back(tensor_of(input.type, input.dims));
    all.back().dims[axis] = size;
  }
  return all;
}

void split(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& from = tensor_at(inputs, 0);
  const std::size_t axis = split_axis(call, from.dims().size());
  const auto sizes = split_sizes(call, KnownInfos(inputs).get(), from.dims()[axis]);
  int64_t begin = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int64_t size = (*sizes)[i];
    if (const Tensor* to = wanted(outputs, i)) copy_elements(call.threads, *to, part(from, axis, begin, size));
    begin += size;
  }
}

std::optional<Tensor> view_split(const OpCall& call, InputData inputs, const DatumInfo& output, std::size_t index) {
  if (present(inputs, 1) && tensor_at(inputs, 1).bytes() == nullptr) return std::nullopt;
  const Tensor& from = tensor_at(inputs, 0);
  const std::size_t axis = split_axis(call, from.dims().size());
  const auto sizes = split_sizes(call, KnownInfos(inputs).get(), from.dims()[axis]);
  int64_t begin = 0;
  for (std::size_t i = 0; i < index; ++i) begin += (*sizes)[i];
  return part(from, axis, begin, output.dims[axis]);
}

Inferred infer_concat(const OpCall& call, InputInfos inputs) {
  if (inputs.empty()) reject(call, "no inputs");
  const DatumInfo& first = tensor_info(call, inputs, 0);
  const std::size_t axis = concat_axis(call, first.dims.size());
  Dims dims = first.dims;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const DatumInfo& next = tensor_info(call, inputs, i);
    require_same_type(call, first, next);
    Dims rest = next.dims;
    if (rest.size() == dims.size()) rest[axis] = dims[axis];
    if (rest != dims) {
      reject(call, "dims " + to_string(first.dims) + " and " + to_string(next.dims) + " do not join along axis " + std::to_string(axis));
    }
    dims[axis] = checked_sum(call, dims[axis], next.dims[axis]);
  }
  return one(call, first.type, std::move(dims));
}

void concat(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& to = outputs[0]->tensor;
  const std::size_t axis = concat_axis(call, to.dims().size());
  int64_t begin = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& from = tensor_at(inputs, i);
    copy_elements(call.threads, part(to, axis, begin, from.dims()[axis]), from);
    begin += from.dims()[axis];
  }
}

namespace {

/// Opset 1 has inputs `tiles` and `axis` instead of `repeats`.
std::optional<std::vector<int64_t>> repeats(const OpCall& call, InputInfos inputs, std::size_t rank) {
  constexpr int64_t kRepeatsOpset = 6;
  if (call.opset >= kRepeatsOpset) {
    require_inputs(call, inputs, 2, 2);
    auto values = known_integers(call, tensor_info(call, inputs, 1, kIndexTypes));
    if (values && values->size() != rank) {
      reject(call, std::to_string(values->size()) + " repeats for rank " + std::to_string(rank));
    }
    return values;
  }
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& tiles = tensor_info(call, inputs, 1, kNumericTypes);
  const DatumInfo& axis = tensor_info(call, inputs, 2, kNumericTypes);
  if (tiles.value == nullptr || axis.value == nullptr) return std::nullopt;
  std::vector<int64_t> values(rank, 1);
  const auto along = truncated_integers_of(*axis.value), times = truncated_integers_of(*tiles.value);
  if (along.size() != 1 || times.size() != 1) reject(call, "tiles and axis are scalars");
  values[normal_axis(call, along[0], rank)] = times[0];
  return values;
}

}  // namespace

Inferred infer_tile(const OpCall& call, InputInfos inputs) {
  const DatumInfo& input = tensor_info(call, inputs, 0);
  const auto times = repeats(call, inputs, input.dims.size());
  if (!times) return std::nullopt;
  Dims dims = input.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if ((*times)[i] < 0) reject(call, "a repeat is negative");
    dims[i] = checked_product(call, dims[i], (*times)[i]);
  }
  return one(call, input.type, std::move(dims));
}

/// Each dim of the result is split into (repeat, position); the input has stride 0 along the repeats.
void tile(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& from = tensor_at(inputs, 0);
  const Tensor& to = outputs[0]->tensor;
  if (to.element_count() == 0) return;
  Dims dims, from_strides, to_strides;
  for (std::size_t i = 0; i < from.dims().size(); ++i) {
    const int64_t dim = from.dims()[i];
    dims.insert(dims.end(), {to.dims()[i] / dim, dim});
    from_strides.insert(from_strides.end(), {0, from.strides()[i]});
    to_strides.insert(to_strides.end(), {to.strides()[i] * dim, to.strides()[i]});
  }
  copy_elements(call.threads, to.view(dims, to_strides), from.view(dims, from_strides));
}

}  // namespace relayout::kernels
