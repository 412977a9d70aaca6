// LayerNormalization and RMSNormalization, over all axes from `axis` on: type of the statistics (stash_type), parameters that broadcast.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/kernels/line_normalization.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

std::size_t layer_axis(const OpCall& call, std::size_t rank) {
  return normal_axis(call, call.attributes.integer("axis", -1), rank);
}

/// Attribute stash_type: the type of the statistics, computed and returned.
DataType statistics_type(const OpCall& call) {
  return type_attribute(call, "stash_type", DataType::float32, kRealTypes);
}

LineNormalization layer_parts(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& scale = tensor_at(inputs, 1);
  LineNormalization work;
  work.x = x;
  work.out = outputs[0]->tensor;
  work.dims = x.dims();
  work.x_operand = operand(x);
  work.out_operand = operand(work.out);
  work.scale = broadcast_operand(scale, x.dims());
  work.scale_type = scale.type();
  work.along.assign(x.dims().size(), false);
  for (std::size_t i = layer_axis(call, x.dims().size()); i < work.along.size(); ++i) work.along[i] = true;
  work.epsilon = call.attributes.real("epsilon", 1e-5F);
  return work;
}

void check_broadcast(const OpCall& call, const DatumInfo& x, const DatumInfo& parameter) {
  if (parameter.dims.size() > x.dims.size() || broadcast_dims(call, x.dims, parameter.dims) != x.dims) {
    reject(call, "a parameter of dims " + to_string(parameter.dims) + " does not broadcast to " + to_string(x.dims));
  }
}

}  // namespace

Inferred infer_layer_normalization(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 3);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const std::size_t axis = layer_axis(call, x.dims.size());
  check_broadcast(call, x, tensor_info(call, inputs, 1, kRealTypes));
  if (const DatumInfo* bias = optional_tensor_info(call, inputs, 2, kRealTypes)) check_broadcast(call, x, *bias);
  std::vector<DatumInfo> all = results(call, tensor_of(x.type, x.dims));
  Dims dims = x.dims;
  std::fill(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end(), 1);
  const DataType type = statistics_type(call);
  for (std::size_t i = 1; i < all.size(); ++i) all[i] = tensor_of(type, dims);
  return all;
}

void layer_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  if (wanted(outputs, 0) == nullptr) refuse(call, "statistics without a result");
  LineNormalization work = layer_parts(call, inputs, outputs);
  if (present(inputs, 2)) {
    work.bias = broadcast_operand(tensor_at(inputs, 2), work.dims);
    work.bias_type = tensor_at(inputs, 2).type();
  }
  work.statistics_type = statistics_type(call);
  if (const Tensor* mean = wanted(outputs, 1)) work.mean = reduced_operand(*mean, work.along, true);
  if (const Tensor* inverse = wanted(outputs, 2)) work.inverse_deviation = reduced_operand(*inverse, work.along, true);
  normalize_lines(call.threads, work);
}

Inferred infer_rms_normalization(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const DatumInfo& scale = tensor_info(call, inputs, 1, kRealTypes);
  (void)layer_axis(call, x.dims.size());
  (void)statistics_type(call);
  check_broadcast(call, x, scale);
  return results(call, tensor_of(scale.type, x.dims));
}

void rms_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  LineNormalization work = layer_parts(call, inputs, outputs);
  work.centers = false;
  normalize_lines(call.threads, work);
}

}  // namespace relayout::kernels
