// Concat: tensors side by side along an axis, its default before opset 4, and dims that do not join.

#include <cstddef>
#include <string>
#include <utility>

#include "ops/kernels/kernels.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
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

}  // namespace relayout::kernels
