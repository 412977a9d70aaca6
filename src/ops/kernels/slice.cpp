// Slice: how starts, ends and negative steps are clamped, its attributes before opset 10, and results as views.

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

}  // namespace relayout::kernels
