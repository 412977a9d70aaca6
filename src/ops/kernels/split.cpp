// Split: sizes of the parts along an axis, from `split`, or equal with a smaller last one from opset 18 on, and sizes that do not add up.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
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

}  // namespace relayout::kernels
