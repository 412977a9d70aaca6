// LpNormalization: divides lines by their norm of order 1 or 2; zeros stay zeros.

#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/kernels/line_normalization.h"
#include "ops/loops/axis_lines.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/tensor.h"

namespace relayout::kernels {

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

}  // namespace relayout::kernels
