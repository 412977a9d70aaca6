// Softmax, LogSoftmax and Hardmax along an axis (before opset 13: along all axes from `axis` on).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/positions.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/extreme.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"

namespace relayout::kernels {
namespace {

/// Before this opset the dims from `axis` on count as one.
constexpr int64_t kOneAxisOpset = 13;

std::size_t softmax_axis(const OpCall& call, std::size_t rank) {
  return normal_axis(call, call.attributes.integer("axis", call.opset < kOneAxisOpset ? 1 : -1), rank);
}

/// Flags of the dims that form a line.
std::vector<bool> line_dims(const OpCall& call, std::size_t rank) {
  std::vector<bool> along(rank, false);
  const std::size_t axis = softmax_axis(call, rank);
  for (std::size_t i = axis; i < (call.opset < kOneAxisOpset ? rank : axis + 1); ++i) along[i] = true;
  return along;
}

/// Replaces each line by transform(values, count), in double.
template <class Transform>
void map_lines(const OpCall& call, InputData inputs, OutputData outputs, const Transform& transform) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  if (x.rank() == 0) {
    std::array<double, 1> value{load_one<double>(x.type(), x.bytes())};
    transform(value.data(), int64_t{1});
    return store_one(out.type(), out.bytes(), value[0]);
  }
  const AxisLines lines(x.dims(), line_dims(call, x.dims().size()));
  if (lines.length() == 0) return;
  lines.for_each(call.threads, {operand(out), operand(x)}, [&](std::byte* const* data, const std::vector<AxisLine>& line) {
    std::vector<double> values(as_size(lines.length()));
    line[1].read(x.type(), data[1], values.data());
    transform(values.data(), lines.length());
    line[0].write(out.type(), data[0], values.data());
  });
}

/// Largest value; −∞ if there is none, NaN if any is NaN.
double maximum_of(const double* values, int64_t count) {
  return extreme_of(values, count, -std::numeric_limits<double>::infinity(), [](double a, double b) { return a > b; });
}

}  // namespace

Inferred infer_softmax(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  if (!x.dims.empty()) (void)softmax_axis(call, x.dims.size());
  return results(call, tensor_of(x.type, x.dims));
}

void softmax(const OpCall& call, InputData inputs, OutputData outputs) {
  map_lines(call, inputs, outputs, [](double* values, int64_t count) {
    const double maximum = maximum_of(values, count);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += values[i] = std::exp(values[i] - maximum);
    for (int64_t i = 0; i < count; ++i) values[i] /= sum;
  });
}

void log_softmax(const OpCall& call, InputData inputs, OutputData outputs) {
  map_lines(call, inputs, outputs, [](double* values, int64_t count) {
    const double maximum = maximum_of(values, count);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += std::exp(values[i] - maximum);
    const double shift = maximum + std::log(sum);
    for (int64_t i = 0; i < count; ++i) values[i] -= shift;
  });
}

/// 1 at the first largest element, 0 elsewhere. NaN is the largest.
void hardmax(const OpCall& call, InputData inputs, OutputData outputs) {
  map_lines(call, inputs, outputs, [](double* values, int64_t count) {
    const double maximum = maximum_of(values, count);
    const double* const found = std::isnan(maximum) ? std::find_if(values, values + count, [](double value) { return std::isnan(value); })
                                                    : std::find(values, values + count, maximum);
    const int64_t best = found - values;
    std::fill_n(values, count, 0.0);
    values[best] = 1;
  });
}

}  // namespace relayout::kernels
