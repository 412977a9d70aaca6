// MeanVarianceNormalization: normalizes lines to mean 0 and divides them by their deviation plus 1e-9, without parameters.

#include <cstdint>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/kernels/line_normalization.h"
#include "ops/loops/axis_lines.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/tensor.h"

namespace relayout::kernels {

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

}  // namespace relayout::kernels
