// InstanceNormalization and GroupNormalization: statistics of each channel or group, with scale and bias per group before opset 21 and per
// channel from then on.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/kernels/line_normalization.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

Inferred infer_channel_parameters(const OpCall& call, InputInfos inputs, int64_t expected) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  for (std::size_t i = 1; i < 3; ++i) {
    const DatumInfo& parameter = tensor_info(call, inputs, i, kRealTypes);
    if (parameter.dims != Dims{expected}) {
      reject(call,
             "input " + std::to_string(i) + " has dims " + to_string(parameter.dims) + ", expected [" + std::to_string(expected) + "]");
    }
  }
  return results(call, tensor_of(x.type, x.dims));
}

/// Normalizes with one number of scale and bias per channel or group; `place` sets their strides for the dims of the work.
template <class Place>
void normalize(const OpCall& call, LineNormalization& work, InputData inputs, const Place& place) {
  const auto parameter_operand = [&](const Tensor& parameter) {
    Operand result{parameter.bytes(), element_stride(parameter.type()), Dims(work.dims.size(), 0)};
    place(result.strides, parameter.strides()[0]);
    return result;
  };
  const Tensor &scale = tensor_at(inputs, 1), &bias = tensor_at(inputs, 2);
  work.along.assign(work.dims.size(), true);
  work.along[0] = work.along[1] = false;
  work.scale = parameter_operand(scale);
  work.bias = parameter_operand(bias);
  work.scale_type = scale.type();
  work.bias_type = bias.type();
  work.epsilon = call.attributes.real("epsilon", 1e-5F);
  normalize_lines(call.threads, work);
}

}  // namespace

Inferred infer_instance_normalization(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  if (x.dims.size() < 3) reject(call, "dims " + to_string(x.dims) + " have no spatial dim");
  return infer_channel_parameters(call, inputs, x.dims[1]);
}

void instance_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  LineNormalization work{.x = x, .out = out, .dims = x.dims(), .x_operand = operand(x), .out_operand = operand(out)};
  normalize(call, work, inputs, [](auto& strides, int64_t step) { strides[1] = step; });
}

namespace {

constexpr int64_t kPerChannelOpset = 21;

int64_t group_count(const OpCall& call, const Dims& x) {
  const auto groups = call.attributes.integer("num_groups");
  if (!groups) reject(call, "attribute 'num_groups' is missing");
  if (x.size() < 2 || *groups < 1 || x[1] % *groups != 0)
    reject(call, "num_groups " + std::to_string(*groups) + " does not divide the channels");
  return *groups;
}

}  // namespace

/// Scale and bias are per group in opset 18, per channel from opset 21 on.
Inferred infer_group_normalization(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const int64_t groups = group_count(call, x.dims);
  return infer_channel_parameters(call, inputs, call.opset < kPerChannelOpset ? groups : x.dims[1]);
}

void group_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  const int64_t groups = group_count(call, x.dims());
  const int64_t each = x.dims()[1] / groups;
  // Splits the channel dim into (group, channel of the group).
  const auto cut = [&](const Tensor& tensor) {
    Operand result = operand(tensor);
    result.strides.insert(result.strides.begin() + 1, result.strides[1] * each);
    return result;
  };
  LineNormalization work{.x = x, .out = out, .dims = x.dims(), .x_operand = cut(x), .out_operand = cut(out)};
  work.dims[1] = each;
  work.dims.insert(work.dims.begin() + 1, groups);
  const bool is_per_channel = call.opset >= kPerChannelOpset;
  normalize(call, work, inputs, [&](auto& strides, int64_t step) {
    strides[1] = step * (is_per_channel ? each : 1);
    if (is_per_channel) strides[2] = step;
  });
}

}  // namespace relayout::kernels
