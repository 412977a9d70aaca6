#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Normalizes lines of x to mean 0 and variance 1 (or to root mean square 1), then scales and shifts them. Scale and bias are operands over
/// the dims of x; bias and the statistics may be absent (null data).
struct LineNormalization {
  Tensor x, out;
  Dims dims;  ///< of x, perhaps with a dim split in two
  Operand x_operand, out_operand;
  Operand scale{}, bias{}, mean{}, inverse_deviation{};
  DataType scale_type = DataType::undefined, bias_type = DataType::undefined, statistics_type = DataType::float32;
  std::vector<bool> along{};
  double epsilon = 0;
  bool centers = true;  ///< subtract the mean
};

void normalize_lines(int threads, const LineNormalization& work);

/// Mean and 1 / sqrt(variance + epsilon) of a line, in double and in two passes.
[[nodiscard]] std::pair<double, double> line_statistics(const std::vector<double>& values, bool centers, double epsilon);

/// Flags of the named axes, which may count from the back.
[[nodiscard]] std::vector<bool> marked(const OpCall& call, const std::vector<int64_t>& axes, std::size_t rank);

/// Replaces each line along some axes of x by transform(values).
template <class Transform>
void map_lines(const OpCall& call, InputData inputs, OutputData outputs, const std::vector<bool>& along, const Transform& transform) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  const AxisLines lines(x.dims(), along);
  lines.for_each(call.threads, {operand(out), operand(x)}, [&](std::byte* const* data, const std::vector<AxisLine>& line) {
    std::vector<double> values(as_size(lines.length()));
    line[1].read(x.type(), data[1], values.data());
    transform(values);
    line[0].write(out.type(), data[0], values.data());
  });
}

}  // namespace relayout
