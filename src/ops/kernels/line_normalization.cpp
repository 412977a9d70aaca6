// Computes mean, variance and scaling of lines in double, for all normalizations along lines.

#include "ops/kernels/line_normalization.h"

#include <cmath>
#include <numeric>

#include "base/positions.h"
#include "base/vectorize.h"
#include "ops/call.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// A sum in independent lanes, so that no addition waits for the previous one.
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

}  // namespace

std::pair<double, double> line_statistics(const std::vector<double>& values, bool centers, double epsilon) {
  const auto length = static_cast<int64_t>(values.size());
  const auto count = static_cast<double>(length);
  const double mean = centers ? sum_of_values(values.data(), length) / count : 0;
  return {mean, 1 / std::sqrt(sum_of_squares(values.data(), length, mean) / count + epsilon)};
}

namespace {

RELAYOUT_VECTORIZE void normalize(double* values, int64_t count, double mean, double inverse, double scale, double bias) {
  for (int64_t i = 0; i < count; ++i) values[i] = (values[i] - mean) * inverse * scale + bias;
}

RELAYOUT_VECTORIZE void normalize_each(double* values, int64_t count, double mean, double inverse, const double* scales) {
  for (int64_t i = 0; i < count; ++i) values[i] = (values[i] - mean) * inverse * scales[i];
}

RELAYOUT_VECTORIZE void add_to(double* values, int64_t count, const double* addends) {
  for (int64_t i = 0; i < count; ++i) values[i] += addends[i];
}

/// Whether a parameter is the same for the whole line.
bool is_constant(const AxisLine& line) {
  return std::ranges::all_of(line.strides, [](int64_t stride) { return stride == 0; });
}

}  // namespace

void normalize_lines(int threads, const LineNormalization& work) {
  const AxisLines lines(work.dims, work.along);
  std::vector<Operand> operands{work.out_operand, work.x_operand, work.scale, work.bias, work.mean, work.inverse_deviation};
  for (Operand& each : operands) each.strides.resize(work.dims.size(), 0);
  lines.for_each(threads, std::move(operands), [&](std::byte* const* data, const std::vector<AxisLine>& line) {
    thread_local std::vector<double> values, factors;
    values.resize(as_size(lines.length()));
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

std::vector<bool> marked(const OpCall& call, const std::vector<int64_t>& axes, std::size_t rank) {
  std::vector<bool> along(rank, false);
  for (const std::size_t axis : normal_axes(call, axes, rank)) along[axis] = true;
  return along;
}

}  // namespace relayout
