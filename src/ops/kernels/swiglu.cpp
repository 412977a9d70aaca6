// SwiGLU: a value times the Swish of its gate, with operands of equal dims.

#include "ops/elementwise.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/types.h"

namespace relayout::kernels {

Inferred infer_swiglu(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const auto [gate, value] = two_of_one_type(call, inputs, kRealTypes);
  if (gate.dims != value.dims) reject(call, "dims " + to_string(gate.dims) + " and " + to_string(value.dims) + " differ");
  return one(call, gate.type, gate.dims);
}

void swiglu(const OpCall& call, InputData inputs, OutputData outputs) {
  const double alpha = call.attributes.real("alpha", elementwise::default_parameters("Swish").alpha);
  const auto gated = [&](double gate, double value) { return elementwise::swish<elementwise::DoubleMath>(gate, alpha) * value; };
  map_elements<double, double>(call.threads, outputs[0]->tensor, gated, tensor_at(inputs, 0), tensor_at(inputs, 1));
}

}  // namespace relayout::kernels
