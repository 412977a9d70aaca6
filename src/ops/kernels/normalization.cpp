// Normalizes tensors by statistics of their channels, groups, lines or neighbours.
#include <cmath>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/line_normalization.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {

// Statistics per channel or per position.
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

// Statistics of a channel or a group of channels.
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

// Statistics over the last axes.
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

// Mean and deviation without parameters.

/// (x − mean) / (deviation + 1e-9), as in the operator's function body.
void mean_variance_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  constexpr double kEpsilon = 1e-9F;
  std::vector<int64_t> axes = call.attributes.integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  map_lines(call.threads, tensor_at(inputs, 0), outputs[0]->tensor, marked(call, axes, tensor_at(inputs, 0).dims().size()),
            [](std::vector<double>& values) {
              const auto [mean, inverse] = line_statistics(values, true, 0);
              const double deviation = 1 / inverse;
              for (double& value : values) value = (value - mean) / (deviation + kEpsilon);
            });
}

// Norms of lines; zeros stay zeros.

/// x / ‖x‖; zeros stay zeros.
void lp_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  const int64_t p = call.attributes.integer("p", 2);
  if (p != 1 && p != 2) reject(call, "p is neither 1 nor 2");
  const auto along = marked(call, {call.attributes.integer("axis", -1)}, tensor_at(inputs, 0).dims().size());
  map_lines(call.threads, tensor_at(inputs, 0), outputs[0]->tensor, along, [p](std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += p == 1 ? std::abs(value) : value * value;
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (double& value : values) value = norm == 0 ? 0 : value / norm;
  });
}

// Sums of squares over neighbouring channels.

/// x / (bias + alpha / size · Σ x²)^beta over `size` neighbouring channels: ⌊(size−1)/2⌋ before, ⌈(size−1)/2⌉ after.
void lrn(const OpCall& call, InputData inputs, OutputData outputs) {
  const auto size = call.attributes.integer("size");
  if (!size || *size < 1) reject(call, "attribute 'size' is missing or not positive");
  const double alpha = call.attributes.real("alpha", 1e-4F), beta = call.attributes.real("beta", 0.75F),
               bias = call.attributes.real("bias", 1);
  if (tensor_at(inputs, 0).rank() < 2) reject(call, "the input has no channels");
  map_lines(call.threads, tensor_at(inputs, 0), outputs[0]->tensor, marked(call, {1}, tensor_at(inputs, 0).dims().size()),
            [&](std::vector<double>& values) {
              const auto count = static_cast<int64_t>(values.size());
              const std::vector<double> x = values;
              for (int64_t c = 0; c < count; ++c) {
                const int64_t first = std::max<int64_t>(0, c - (*size - 1) / 2),
                              last = *size / 2 < count - 1 - c ? c + *size / 2 : count - 1;
                double squares = 0;
                for (int64_t i = first; i <= last; ++i) squares += element_at(x, i) * element_at(x, i);
                element_at(values, c) = element_at(x, c) / std::pow(bias + alpha / static_cast<double>(*size) * squares, beta);
              }
            });
}

}  // namespace relayout::kernels
