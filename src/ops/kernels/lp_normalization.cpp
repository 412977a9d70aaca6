// LpNormalization and MeanVarianceNormalization: lines divided by their norm or deviation, without parameters.

#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/kernels/line_normalization.h"
#include "ops/loops/dtypes.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {

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

}  // namespace relayout::kernels
