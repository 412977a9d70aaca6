// BatchNormalization, in inference and in training mode, with statistics per channel or (before opset 9 with spatial = 0) per position.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
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
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

constexpr int64_t kThreeOutputsOpset = 14;

/// Before opset 9, spatial = 0 has statistics per position instead of per channel.
bool per_position(const OpCall& call) {
  constexpr int64_t kLastSpatialOpset = 8;
  return call.opset <= kLastSpatialOpset && call.attributes.integer("spatial", 1) == 0;
}

bool is_training(const OpCall& call) {
  return call.opset >= kThreeOutputsOpset && call.attributes.integer("training_mode", 0) != 0;
}

/// Dims of scale, bias, mean and variance.
Dims parameter_dims(const OpCall& call, const Dims& x) {
  if (x.empty()) reject(call, "the input is a scalar");
  if (per_position(call)) return {x.begin() + 1, x.end()};
  return {x.size() > 1 ? x[1] : 1};
}

/// A parameter as operand over the input's dims, with strides along the channel (or along all but the first dim) only.
Operand parameter_operand(const OpCall& call, const Tensor& parameter, const Dims& x) {
  Operand result{parameter.bytes(), element_stride(parameter.type()), Dims(x.size(), 0)};
  if (per_position(call))
    std::copy(parameter.strides().begin(), parameter.strides().end(), result.strides.begin() + 1);
  else if (x.size() > 1)
    result.strides[1] = parameter.strides()[0];
  return result;
}

/// Mean and variance (biased) of each channel, in double.
struct Moments {
  Tensor mean, variance;
};

Moments moments_of(const Tensor& x) {
  const int64_t channels = x.rank() > 1 ? x.dims()[1] : 1;
  Moments moments{Tensor(DataType::float64, {channels}), Tensor(DataType::float64, {channels})};
  for (int64_t c = 0; c < channels; ++c) {
    Dims dims = x.dims();
    if (x.rank() > 1) dims[1] = 1;
    const Tensor channel = x.view(dims, x.strides(), x.rank() > 1 ? c * x.strides()[1] : 0);
    const std::vector<double> values = reals_of(channel);
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    moments.mean.data<double>()[c] = mean;
    moments.variance.data<double>()[c] = squares / static_cast<double>(values.size());
  }
  return moments;
}

}  // namespace

Inferred infer_batch_normalization(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 5, 5);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const Dims parameters = parameter_dims(call, x.dims);
  for (std::size_t i = 1; i < 5; ++i) {
    const DatumInfo& parameter = tensor_info(call, inputs, i, kRealTypes);
    if (parameter.dims != parameters) {
      reject(call, "input " + std::to_string(i) + " has dims " + to_string(parameter.dims) + ", expected " + to_string(parameters));
    }
  }
  std::vector<DatumInfo> all = results(call, tensor_of(x.type, x.dims));
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (call.node.output(i) == nullptr) continue;
    if (!is_training(call)) refuse(call, "training outputs");
    if (i > 2) reject(call, "more than three outputs");
    all[i] = tensor_of(inputs[i + 2]->type, parameters);
  }
  return all;
}

/// (x − mean) / sqrt(variance + epsilon) · scale + bias.
void batch_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const double epsilon = call.attributes.real("epsilon", 1e-5F);
  Tensor mean = tensor_at(inputs, 3), variance = tensor_at(inputs, 4);
  if (is_training(call)) {
    const double momentum = call.attributes.real("momentum", 0.9F);
    Moments moments = moments_of(x);
    const auto update = [momentum](double before, double now) { return before * momentum + now * (1 - momentum); };
    if (const Tensor* running = wanted(outputs, 1)) map_elements<double, double>(1, *running, update, mean, moments.mean);
    if (const Tensor* running = wanted(outputs, 2)) map_elements<double, double>(1, *running, update, variance, moments.variance);
    mean = std::move(moments.mean);
    variance = std::move(moments.variance);
  }
  const Tensor* out = wanted(outputs, 0);
  if (out == nullptr) return;
  // Factor and offset per parameter element, in double: y = x · factor + offset.
  const Tensor factor(DataType::float64, mean.dims()), offset(DataType::float64, mean.dims());
  map_elements<double, double>(
      1, factor, [epsilon](double v, double s) { return s / std::sqrt(v + epsilon); }, variance, tensor_at(inputs, 1));
  map_elements<double, double>(1, offset, [](double m, double f, double b) { return b - m * f; }, mean, factor, tensor_at(inputs, 2));
  const StridedLoop loop(x.dims(),
                         {operand(*out), operand(x), parameter_operand(call, factor, x.dims()), parameter_operand(call, offset, x.dims())});
  loop.run(call.threads, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
    std::array<double, kChunk> values;
    const auto* f = reinterpret_cast<const double*>(data[2]);
    const auto* o = reinterpret_cast<const double*>(data[3]);
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t length = std::min(kChunk, count - begin);
      load(x.type(), data[1] + begin * strides[1] * element_stride(x.type()), strides[1], length, values.data());
      if (strides[2] == 0) {
        for (int64_t i = 0; i < length; ++i) element_at(values, i) = element_at(values, i) * *f + *o;
      } else {
        for (int64_t i = 0; i < length; ++i) {
          element_at(values, i) = element_at(values, i) * f[(begin + i) * strides[2]] + o[(begin + i) * strides[3]];
        }
      }
      store(out->type(), data[0] + begin * strides[0] * element_stride(out->type()), strides[0], length, values.data());
    }
  });
}

}  // namespace relayout::kernels
