// LRN: divides each channel by a power of the sum of squares of its neighbours, with the side that an even `size` extends to.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/positions.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/line_normalization.h"
#include "ops/loops/axis_lines.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {

/// x / (bias + alpha / size · Σ x²)^beta over `size` neighbouring channels: ⌊(size−1)/2⌋ before, ⌈(size−1)/2⌉ after.
void lrn(const OpCall& call, InputData inputs, OutputData outputs) {
  const auto size = call.attributes.integer("size");
  if (!size || *size < 1) reject(call, "attribute 'size' is missing or not positive");
  const double alpha = call.attributes.real("alpha", 1e-4F), beta = call.attributes.real("beta", 0.75F),
               bias = call.attributes.real("bias", 1);
  if (tensor_at(inputs, 0).rank() < 2) reject(call, "the input has no channels");
  map_lines(call.threads, tensor_at(inputs, 0), outputs[0]->tensor, marked(call, {1}, tensor_at(inputs, 0).dims().size()),
            [&](std::vector<double>& values) {
              const auto count = static_cast<int64_t>(values.size());
              const std::vector<double> x = values;
              for (int64_t c = 0; c < count; ++c) {
                const int64_t first = std::max<int64_t>(0, c - (*size - 1) / 2),
                              last = *size / 2 < count - 1 - c ? c + *size / 2 : count - 1;
                double squares = 0;
                for (int64_t i = first; i <= last; ++i) squares += element_at(x, i) * element_at(x, i);
                element_at(values, c) = element_at(x, c) / std::pow(bias + alpha / static_cast<double>(*size) * squares, beta);
              }
            });
}

}  // namespace relayout::kernels
