// Draws random numbers from a stream that depends on seed and output name only, so that two runs agree.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/positions.h"
#include "base/random.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// One stream per node: from attribute seed, else from the run's seed.
RandomStream stream_of(const OpCall& call) {
  constexpr double kScale = 1 << 16;
  const auto seed = call.attributes.real("seed");
  const uint64_t own = seed && std::abs(*seed) < 0x1p40F ? static_cast<uint64_t>(static_cast<int64_t>(double{*seed} * kScale)) : call.seed;
  return {own, call.node.outputs().empty() || call.node.output(0) == nullptr ? "" : call.node.output(0)->name()};
}

/// out[i] = f(i) where i is the row-major number of the element, for any strides.
template <class F>
void generate(const Tensor& out, const F& f) {
  const DenseOutput dense(out);
  const int64_t count = out.element_count();
  std::array<double, kChunk> values;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t length = std::min(kChunk, count - begin);
    for (int64_t i = 0; i < length; ++i) element_at(values, i) = f(static_cast<uint64_t>(begin + i));
    store(out.type(), dense.tensor().bytes() + begin * element_stride(out.type()), 1, length, values.data());
  }
  dense.finish();
}

}  // namespace

Inferred infer_random(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 0, 0);
  return one(call, type_attribute(call, "dtype", DataType::float32, kRealTypes), call.attributes.integers("shape"));
}

Inferred infer_random_like(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  return results(call, tensor_of(type_attribute(call, "dtype", x.type, kRealTypes), x.dims));
}

void random_normal(const OpCall& call, InputData, OutputData outputs) {
  const double mean = call.attributes.real("mean", 0), scale = call.attributes.real("scale", 1);
  generate(outputs[0]->tensor, [&, stream = stream_of(call)](uint64_t i) { return mean + scale * stream.normal(i); });
}

void random_uniform(const OpCall& call, InputData, OutputData outputs) {
  const double low = call.attributes.real("low", 0), high = call.attributes.real("high", 1);
  generate(outputs[0]->tensor, [&, stream = stream_of(call)](uint64_t i) { return low + (high - low) * stream.uniform(i); });
}

Inferred infer_bernoulli(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  return results(call, tensor_of(type_attribute(call, "dtype", x.type, kNumericTypes | kBooleanTypes), x.dims));
}

void bernoulli(const OpCall& call, InputData inputs, OutputData outputs) {
  const std::vector<double> probabilities = reals_of(tensor_at(inputs, 0));
  generate(outputs[0]->tensor, [&, stream = stream_of(call)](uint64_t i) { return stream.uniform(i) < probabilities[i] ? 1.0 : 0.0; });
}

Inferred infer_multinomial(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const int64_t samples = call.attributes.integer("sample_size", 1);
  if (x.dims.size() != 2 || x.dims[1] == 0 || samples < 0) reject(call, "dims " + to_string(x.dims) + " or sample_size do not fit");
  return one(call, type_attribute(call, "dtype", DataType::int32, kIndexTypes), {x.dims[0], samples});
}

/// Draws classes by unnormalized log probabilities.
void multinomial(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  const std::vector<double> logs = reals_of(x);
  const auto classes = as_size(x.dims()[1]);
  const auto samples = static_cast<uint64_t>(out.dims()[1]);
  std::vector<double> totals(logs.size());
  for (std::size_t row = 0; row < logs.size(); row += classes) {
    double largest = logs[row], total = 0;
    for (std::size_t i = 0; i < classes; ++i) largest = std::fmax(largest, logs[row + i]);
    for (std::size_t i = 0; i < classes; ++i) totals[row + i] = total += std::exp(logs[row + i] - largest);
  }
  generate(out, [&, stream = stream_of(call)](uint64_t i) {
    const std::size_t row = as_size(i / samples) * classes;
    const double drawn = stream.uniform(i) * totals[row + classes - 1];
    std::size_t chosen = 0;
    while (chosen + 1 < classes && totals[row + chosen] <= drawn) ++chosen;
    return static_cast<double>(chosen);
  });
}

}  // namespace relayout::kernels
