#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/vectorize.h"
#include "ops/axis_lines.h"
#include "ops/dtypes.h"
#include "ops/kernels.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/strided.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Lines of x brought to mean 0 and variance 1 (or to root mean square 1), then scaled and shifted. Scale and bias stand over the
/// dims of x; bias and the statistics may be absent (null data).
struct LineNormalization {
  Tensor x, out;
  Dims dims;  ///< of x, perhaps with a dim cut in two
  Operand x_operand, out_operand;
  Operand scale{}, bias{}, mean{}, inverse_deviation{};
  DataType scale_type = DataType::undefined, bias_type = DataType::undefined, statistics_type = DataType::float32;
  std::vector<bool> along{};
  double epsilon = 0;
  bool centers = true;  ///< subtract the mean
};

/// Several sums side by side, so that no addition waits for the one before.
template <class Term>
[[gnu::always_inline]] inline double sum_of(const double* values, int64_t count, const Term& term) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    RELAYOUT_KEEP_LOOP for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(values[i + lane]);
  }
  for (; i < count; ++i) lanes[0] += term(values[i]);
  return std::accumulate(std::begin(lanes), std::end(lanes), 0.0);
}

RELAYOUT_VECTORIZE double sum_of_values(const double* values, int64_t count) {
  return sum_of(values, count, [](double value) { return value; });
}

RELAYOUT_VECTORIZE double sum_of_squares(const double* values, int64_t count, double mean) {
  return sum_of(values, count, [mean](double value) { return (value - mean) * (value - mean); });
}

/// Mean and 1 / sqrt(variance + epsilon) of a line, in double and in two passes.
std::pair<double, double> line_statistics(const std::vector<double>& values, bool centers, double epsilon) {
  const auto length = static_cast<int64_t>(values.size());
  const auto count = static_cast<double>(length);
  const double mean = centers ? sum_of_values(values.data(), length) / count : 0;
  return {mean, 1 / std::sqrt(sum_of_squares(values.data(), length, mean) / count + epsilon)};
}

/// value = (value − mean) · inverse · scale + bias.
RELAYOUT_VECTORIZE void normalize(double* values, int64_t count, double mean, double inverse, double scale, double bias) {
  for (int64_t i = 0; i < count; ++i) values[i] = (values[i] - mean) * inverse * scale + bias;
}

RELAYOUT_VECTORIZE void normalize_each(double* values, int64_t count, double mean, double inverse, const double* scales) {
  for (int64_t i = 0; i < count; ++i) values[i] = (values[i] - mean) * inverse * scales[i];
}

RELAYOUT_VECTORIZE void add_to(double* values, int64_t count, const double* addends) {
  for (int64_t i = 0; i < count; ++i) values[i] += addends[i];
}

/// Whether a parameter is one value for the whole line.
bool is_constant(const AxisLine& line) {
  return std::ranges::all_of(line.strides, [](int64_t stride) { return stride == 0; });
}

void normalize_lines(int threads, const LineNormalization& work) {
  const AxisLines lines(work.dims, work.along);
  std::vector<Operand> operands{work.out_operand, work.x_operand, work.scale, work.bias, work.mean, work.inverse_deviation};
  for (Operand& each : operands) each.strides.resize(work.dims.size(), 0);
  lines.for_each(threads, std::move(operands), [&](std::byte* const* data, const std::vector<AxisLine>& line) {
    thread_local std::vector<double> values, factors;
    values.resize(static_cast<std::size_t>(lines.length()));
    factors.resize(values.size());
    line[1].read(work.x.type(), data[1], values.data());
    const auto [mean, inverse] = line_statistics(values, work.centers, work.epsilon);
    if (is_constant(line[2]) && (data[3] == nullptr || is_constant(line[3])) && !values.empty()) {
      const double scale = load_one<double>(work.scale_type, data[2]);
      const double bias = data[3] == nullptr ? 0 : load_one<double>(work.bias_type, data[3]);
      normalize(values.data(), lines.length(), mean, inverse, scale, bias);
    } else {
      line[2].read(work.scale_type, data[2], factors.data());
      normalize_each(values.data(), lines.length(), mean, inverse, factors.data());
      if (data[3] != nullptr) {
        line[3].read(work.bias_type, data[3], factors.data());
        add_to(values.data(), lines.length(), factors.data());
      }
    }
    line[0].write(work.out.type(), data[0], values.data());
    if (data[4] != nullptr) store_one(work.statistics_type, data[4], mean);
    if (data[5] != nullptr) store_one(work.statistics_type, data[5], inverse);
  });
}

std::size_t layer_axis(const OpCall& call, std::size_t rank) {
  return normal_axis(call, call.attributes.integer("axis", -1), rank);
}

/// Attribute stash_type: what the statistics are made in and given out as.
DataType statistics_type(const OpCall& call) {
  const int64_t number = call.attributes.integer("stash_type", 1);
  const DataTypeTraits* found = number > 0 && number <= INT32_MAX ? find_traits(static_cast<int32_t>(number)) : nullptr;
  if (found == nullptr || !kRealTypes.has(found->type)) reject(call, "stash_type is " + std::to_string(number));
  return found->type;
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

Inferred infer_instance_normalization(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  if (x.dims.size() < 3) reject(call, "dims " + to_string(x.dims) + " have no spatial dim");
  return infer_channel_parameters(call, inputs, x.dims[1]);
}

void instance_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor &scale = tensor_at(inputs, 1), &bias = tensor_at(inputs, 2), &out = outputs[0]->tensor;
  LineNormalization work{.x = x, .out = out, .dims = x.dims(), .x_operand = operand(x), .out_operand = operand(out)};
  work.along.assign(x.dims().size(), true);
  work.along[0] = work.along[1] = false;
  const auto per_channel = [&](const Tensor& parameter) {
    Operand result{parameter.bytes(), element_stride(parameter.type()), Dims(x.dims().size(), 0)};
    result.strides[1] = parameter.strides()[0];
    return result;
  };
  work.scale = per_channel(scale);
  work.bias = per_channel(bias);
  work.scale_type = scale.type();
  work.bias_type = bias.type();
  work.epsilon = call.attributes.real("epsilon", 1e-5F);
  normalize_lines(call.threads, work);
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

/// Scale and bias are per group in opset 18, per channel from 21 on.
Inferred infer_group_normalization(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const int64_t groups = group_count(call, x.dims);
  return infer_channel_parameters(call, inputs, call.opset < kPerChannelOpset ? groups : x.dims[1]);
}

void group_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor &scale = tensor_at(inputs, 1), &bias = tensor_at(inputs, 2), &out = outputs[0]->tensor;
  const int64_t groups = group_count(call, x.dims());
  const int64_t each = x.dims()[1] / groups;
  // The channel dim cut into (group, channel of the group).
  const auto cut = [&](const Tensor& tensor) {
    Operand result = operand(tensor);
    result.strides.insert(result.strides.begin() + 1, result.strides[1] * each);
    return result;
  };
  LineNormalization work{.x = x, .out = out, .dims = x.dims(), .x_operand = cut(x), .out_operand = cut(out)};
  work.dims[1] = each;
  work.dims.insert(work.dims.begin() + 1, groups);
  work.along.assign(work.dims.size(), true);
  work.along[0] = work.along[1] = false;
  const auto parameter_operand = [&](const Tensor& parameter) {
    Operand result{parameter.bytes(), element_stride(parameter.type()), Dims(work.dims.size(), 0)};
    const bool per_channel = call.opset >= kPerChannelOpset;
    result.strides[1] = parameter.strides()[0] * (per_channel ? each : 1);
    if (per_channel) result.strides[2] = parameter.strides()[0];
    return result;
  };
  work.scale = parameter_operand(scale);
  work.bias = parameter_operand(bias);
  work.scale_type = scale.type();
  work.bias_type = bias.type();
  work.epsilon = call.attributes.real("epsilon", 1e-5F);
  normalize_lines(call.threads, work);
}

namespace {

/// Lines along some axes of x, each replaced by transform(values).
template <class Transform>
void map_lines(const OpCall& call, InputData inputs, OutputData outputs, const std::vector<bool>& along, const Transform& transform) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  const AxisLines lines(x.dims(), along);
  lines.for_each(call.threads, {operand(out), operand(x)}, [&](std::byte* const* data, const std::vector<AxisLine>& line) {
    std::vector<double> values(static_cast<std::size_t>(lines.length()));
    line[1].read(x.type(), data[1], values.data());
    transform(values);
    line[0].write(out.type(), data[0], values.data());
  });
}

std::vector<bool> marked(const OpCall& call, const std::vector<int64_t>& axes, std::size_t rank) {
  std::vector<bool> along(rank, false);
  for (const std::size_t axis : normal_axes(call, axes, rank)) along[axis] = true;
  return along;
}

}  // namespace

Inferred infer_line_normalization(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  return results(call, tensor_of(x.type, x.dims));
}

/// x / ‖x‖; zeros stay zeros.
void lp_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  const int64_t p = call.attributes.integer("p", 2);
  if (p != 1 && p != 2) reject(call, "p is neither 1 nor 2");
  const auto along = marked(call, {call.attributes.integer("axis", -1)}, tensor_at(inputs, 0).dims().size());
  map_lines(call, inputs, outputs, along, [p](std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += p == 1 ? std::abs(value) : value * value;
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (double& value : values) value = norm == 0 ? 0 : value / norm;
  });
}

/// (x − mean) / (deviation + 1e-9): the operator's function body.
void mean_variance_normalization(const OpCall& call, InputData inputs, OutputData outputs) {
  constexpr double kEpsilon = 1e-9F;
  std::vector<int64_t> axes = call.attributes.integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  map_lines(call, inputs, outputs, marked(call, axes, tensor_at(inputs, 0).dims().size()), [](std::vector<double>& values) {
    const auto [mean, inverse] = line_statistics(values, true, 0);
    const double deviation = 1 / inverse;
    for (double& value : values) value = (value - mean) / (deviation + kEpsilon);
  });
}

/// x / (bias + alpha / size · Σ x²)^beta over `size` neighbouring channels: ⌊(size−1)/2⌋ before, ⌈(size−1)/2⌉ behind.
void lrn(const OpCall& call, InputData inputs, OutputData outputs) {
  const auto size = call.attributes.integer("size");
  if (!size || *size < 1) reject(call, "attribute 'size' is missing or not positive");
  const double alpha = call.attributes.real("alpha", 1e-4F), beta = call.attributes.real("beta", 0.75F),
               bias = call.attributes.real("bias", 1);
  if (tensor_at(inputs, 0).rank() < 2) reject(call, "the input has no channels");
  map_lines(call, inputs, outputs, marked(call, {1}, tensor_at(inputs, 0).dims().size()), [&](std::vector<double>& values) {
    const auto count = static_cast<int64_t>(values.size());
    const std::vector<double> x = values;
    for (int64_t c = 0; c < count; ++c) {
      const int64_t first = std::max<int64_t>(0, c - (*size - 1) / 2), last = *size / 2 < count - 1 - c ? c + *size / 2 : count - 1;
      double squares = 0;
      for (int64_t i = first; i <= last; ++i) squares += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)];
      values[static_cast<std::size_t>(c)] =
          x[static_cast<std::size_t>(c)] / std::pow(bias + alpha / static_cast<double>(*size) * squares, beta);
    }
  });
}

}  // namespace relayout::kernels
