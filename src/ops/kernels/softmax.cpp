// Computes softmax, its relatives, and the losses over its logarithms, in double along an axis.

#include <cmath>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Flags of the dims that form a line. A scalar is a line.
std::vector<bool> line_dims(const OpCall& call, std::size_t rank) {
  std::vector<bool> along(rank, false);
  if (rank == 0) return along;
  const std::size_t axis = normal_axis(call, softmax_axis(call.node), rank);
  for (std::size_t i = axis; i < (call.opset < kOneAxisOpset ? rank : axis + 1); ++i) along[i] = true;
  return along;
}

/// Replaces each line by transform(values), in double.
template <class Transform>
void map_softmax_lines(const OpCall& call, InputData inputs, OutputData outputs, const Transform& transform) {
  const Tensor& x = tensor_at(inputs, 0);
  if (x.element_count() != 0) map_lines(call.threads, x, outputs[0]->tensor, line_dims(call, x.dims().size()), transform);
}

/// Largest value; −∞ if there is none, NaN if any is NaN.
double maximum_of(std::span<const double> values) {
  return extreme_of(values.data(), std::ssize(values), -std::numeric_limits<double>::infinity(), [](double a, double b) { return a > b; });
}

/// Logarithms of a softmax, in place.
void to_log_probabilities(std::span<double> values) {
  const double maximum = maximum_of(values);
  double sum = 0;
  for (const double value : values) sum += std::exp(value - maximum);
  const double shift = maximum + std::log(sum);
  for (double& value : values) value -= shift;
}

}  // namespace

Inferred infer_softmax(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  (void)line_dims(call, x.dims.size());
  return results(call, tensor_of(x.type, x.dims));
}

void softmax(const OpCall& call, InputData inputs, OutputData outputs) {
  map_softmax_lines(call, inputs, outputs, [](std::span<double> values) {
    const double maximum = maximum_of(values);
    double sum = 0;
    for (double& value : values) sum += value = std::exp(value - maximum);
    for (double& value : values) value /= sum;
  });
}

void log_softmax(const OpCall& call, InputData inputs, OutputData outputs) {
  map_softmax_lines(call, inputs, outputs, to_log_probabilities);
}

/// 1 at the first largest element, 0 elsewhere. NaN is the largest.
void hardmax(const OpCall& call, InputData inputs, OutputData outputs) {
  map_softmax_lines(call, inputs, outputs, [](std::span<double> values) {
    const double maximum = maximum_of(values);
    const auto best = std::ranges::find_if(values, [&](double value) { return value == maximum || std::isnan(value); });
    std::ranges::fill(values, 0.0);
    *best = 1;
  });
}

// Losses.
namespace {

enum class Average { none, sum, mean };

Average average_of(const OpCall& call) {
  const std::string name = call.attributes.text("reduction", "mean");
  if (name == "none") return Average::none;
  if (name == "sum") return Average::sum;
  if (name == "mean") return Average::mean;
  reject(call, "reduction is none of none, sum, mean");
}

/// Dims of the targets: those of the input [N, C, d…] without C.
Dims target_dims(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const DatumInfo& target = tensor_info(call, inputs, 1, kIndexTypes);
  if (x.dims.size() < 2) reject(call, "the input has no classes");
  Dims dims = x.dims;
  dims.erase(dims.begin() + 1);
  if (target.dims != dims) reject(call, "targets of dims " + to_string(target.dims) + " for an input of dims " + to_string(x.dims));
  if (const DatumInfo* weight = optional_tensor_info(call, inputs, 2, kRealTypes); weight != nullptr && weight->dims != Dims{x.dims[1]}) {
    reject(call, "weights of dims " + to_string(weight->dims) + " for " + std::to_string(x.dims[1]) + " classes");
  }
  return dims;
}

/// −weight[t] · x[n, t, d…] for each target t; ignored targets do not count. The mean is weighted.
void negative_likelihood(const OpCall& call, const Tensor& x, InputData inputs, const Tensor& out) {
  const Tensor& target = tensor_at(inputs, 1);
  const Average average = average_of(call);
  const auto ignored = call.attributes.integer("ignore_index");
  const std::vector<double> weights = present(inputs, 2) ? reals_of(tensor_at(inputs, 2)) : std::vector<double>();
  Dims x_strides = x.strides();
  x_strides.erase(x_strides.begin() + 1);
  double total = 0, total_weight = 0;
  for_each_index(target.dims(), [&](const Dims& index) {
    const auto* at = target.bytes() + offset_of(index, target.strides()) * element_stride(target.type());
    const auto label = load_one<int64_t>(target.type(), at);
    double loss = 0, weight = 0;
    if (!ignored || label != *ignored) {
      if (label < 0 || label >= x.dims()[1]) reject(call, "target " + std::to_string(label) + " is out of range");
      weight = weights.empty() ? 1 : element_at(weights, label);
      const int64_t offset = offset_of(index, x_strides) + label * x.strides()[1];
      loss = -weight * load_one<double>(x.type(), x.bytes() + offset * element_stride(x.type()));
    }
    if (average == Average::none) {
      store_one(out.type(), out.bytes() + offset_of(index, out.strides()) * element_stride(out.type()), loss);
    }
    total += loss;
    total_weight += weight;
  });
  if (average == Average::sum) store_one(out.type(), out.bytes(), total);
  if (average == Average::mean) store_one(out.type(), out.bytes(), total / total_weight);
}

/// log(softmax(x)) along the classes, in double.
Tensor log_probabilities(const OpCall& call, const Tensor& x) {
  Tensor result(DataType::float64, x.dims());
  std::vector<bool> along(x.dims().size(), false);
  along[1] = true;
  map_lines(call.threads, x, result, along, to_log_probabilities);
  return result;
}

}  // namespace

Inferred infer_loss(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 3);
  Dims dims = target_dims(call, inputs);
  if (average_of(call) != Average::none) dims.clear();
  std::vector<DatumInfo> all = results(call, tensor_of(inputs[0]->type, std::move(dims)));
  if (all.size() > 1) all[1] = tensor_of(inputs[0]->type, inputs[0]->dims);
  return all;
}

void negative_log_likelihood_loss(const OpCall& call, InputData inputs, OutputData outputs) {
  negative_likelihood(call, tensor_at(inputs, 0), inputs, outputs[0]->tensor);
}

void softmax_cross_entropy_loss(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor logs = log_probabilities(call, tensor_at(inputs, 0));
  if (const Tensor* loss = wanted(outputs, 0)) negative_likelihood(call, logs, inputs, *loss);
  if (const Tensor* out = wanted(outputs, 1)) map_elements<double, double>(call.threads, *out, [](double x) { return x; }, logs);
}

}  // namespace relayout::kernels
