#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/call.h"
#include "ops/loops/strided.h"
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

}  // namespace relayout
