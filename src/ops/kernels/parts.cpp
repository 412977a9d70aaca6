// Takes parts of tensors, and makes tensors from parts.
#include <cstdlib>
#include <numeric>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {

// Slice.
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

// Split.
namespace {

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

}  // namespace

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
    if (const Tensor* to = wanted(outputs, i)) copy_elements(call.threads, *to, part_of(from, axis, begin, size));
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
  return part_of(from, axis, begin, output.dims[axis]);
}

// Concat.
namespace {

std::size_t concat_axis(const OpCall& call, std::size_t rank) {
  constexpr int64_t kRequiredOpset = 4;
  const auto axis = call.attributes.integer("axis");
  if (!axis && call.opset >= kRequiredOpset) reject(call, "attribute 'axis' is missing");
  return normal_axis(call, axis.value_or(1), rank);
}

}  // namespace

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
    copy_elements(call.threads, part_of(to, axis, begin, from.dims()[axis]), from);
    begin += from.dims()[axis];
  }
}

// Tile.
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

// CenterCropPad.
namespace {

/// Target sizes by axis; nothing when they are not known yet.
std::optional<Dims> centered_dims(const OpCall& call, InputInfos inputs, const Dims& dims) {
  const auto shape = known_integers(call, tensor_info(call, inputs, 1, kIndexTypes));
  if (!shape) return std::nullopt;
  std::vector<int64_t> axes = call.attributes.integers("axes");
  if (axes.empty()) {
    axes.resize(dims.size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  if (axes.size() != shape->size()) reject(call, "axes and shape differ in length");
  Dims result = dims;
  const auto normal = normal_axes(call, axes, dims.size());
  for (std::size_t i = 0; i < normal.size(); ++i) result[normal[i]] = (*shape)[i];
  return result;
}

}  // namespace

Inferred infer_center_crop_pad(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kAllTypes);
  auto dims = centered_dims(call, inputs, x.dims);
  if (!dims) return std::nullopt;
  return one(call, x.type, std::move(*dims));
}

/// Half of the elements that are cut, or filled with zeros, are at the begin (rounded down), the other half at the end.
void center_crop_pad(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  fill_zero(out);
  Dims dims;
  int64_t from = 0, to = 0;
  for (std::size_t i = 0; i < x.dims().size(); ++i) {
    const int64_t cut = x.dims()[i] - out.dims()[i];
    dims.push_back(std::min(x.dims()[i], out.dims()[i]));
    (cut > 0 ? from : to) += std::abs(cut) / 2 * (cut > 0 ? x : out).strides()[i];
  }
  if (element_count(dims) == 0) return;
  copy_elements(call.threads, out.view(dims, out.strides(), to), x.view(dims, x.strides(), from));
}

// Trilu.

Inferred infer_trilu(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  if (x.dims.size() < 2) reject(call, "dims " + to_string(x.dims) + " are not of matrices");
  if (const DatumInfo* k = optional_tensor_info(call, inputs, 1, {DataType::int64}); k != nullptr && element_count(k->dims) != 1) {
    reject(call, "k is not a scalar");
  }
  return results(call, tensor_of(x.type, x.dims));
}

namespace {

template <class T>
void fill_elements(T* to, int64_t step, int64_t count, const T& value) {
  if (step == 1) {
    std::fill_n(to, count, value);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * step] = value;
  }
}

template <class T>
void move_elements(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::copy_n(from, count, to);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

}  // namespace

/// Keeps elements on or above (below, with upper = 0) diagonal k; the others become zero.
void trilu(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  const bool upper = call.attributes.integer("upper", 1) != 0;
  const std::size_t rank = x.dims().size();
  const int64_t rows = x.dims()[rank - 2], columns = x.dims()[rank - 1];
  const int64_t bound = std::max(rows, columns);
  const int64_t k = present(inputs, 1) ? std::clamp(integer_of(call, tensor_at(inputs, 1)), -bound - 1, bound + 1) : 0;
  if (out.element_count() == 0) return;
  const Dims matrices(x.dims().begin(), x.dims().end() - 2);
  const int64_t from_step = x.strides()[rank - 1], to_step = out.strides()[rank - 1];
  with_storage(x.type(), [&]<class T>(const T&) {
    for_each_index(matrices, [&](const Dims& index) {
      const T* from = x.data<T>();
      T* to = out.data<T>();
      for (std::size_t i = 0; i < index.size(); ++i) {
        from += index[i] * x.strides()[i];
        to += index[i] * out.strides()[i];
      }
      for (int64_t row = 0; row < rows; ++row, from += x.strides()[rank - 2], to += out.strides()[rank - 2]) {
        const int64_t first = upper ? std::clamp<int64_t>(row + k, 0, columns) : 0;
        const int64_t last = upper ? columns : std::clamp<int64_t>(row + k + 1, 0, columns);
        fill_elements(to, to_step, first, T{});
        move_elements(from + first * from_step, from_step, to + first * to_step, to_step, last - first);
        fill_elements(to + last * to_step, to_step, columns - last, T{});
      }
    });
  });
}

}  // namespace relayout::kernels
