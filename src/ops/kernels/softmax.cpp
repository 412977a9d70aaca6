// Softmax, LogSoftmax and Hardmax in double along an axis (before opset 13: along all axes from `axis` on): NaN, and which of equal
// elements Hardmax takes.

#include "ops/kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/extreme.h"
#include "ops/op_call.h"
#include "ops/op_version.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"

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

}  // namespace

void to_log_probabilities(std::span<double> values) {
  const double maximum = maximum_of(values);
  double sum = 0;
  for (const double value : values) sum += std::exp(value - maximum);
  const double shift = maximum + std::log(sum);
  for (double& value : values) value -= shift;
}

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

}  // namespace relayout::kernels
