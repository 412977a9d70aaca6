// Combines any number of operands element by element, with broadcasting.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ops/call.h"
#include "ops/formulas.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

template <class T>
void keep(int64_t count, T* out, const T* total) {
  if (out != total) std::copy_n(total, count, out);
}

/// out = fold of any number of inputs, each read as T; finish(count, out, total) writes each chunk of the result.
template <class T, class Fold, class Finish>
void fold_inputs(const OpCall& call, InputData inputs, const Tensor& out, Fold fold, Finish finish) {
  struct Work {
    Fold fold;
    Finish finish;
    std::size_t inputs;
  };
  const Work work{fold, finish, inputs.size()};
  const auto run = [](const void* opaque, int64_t count, void* to, const void* const* in, std::size_t first) {
    const auto& all = *static_cast<const Work*>(opaque);
    const std::size_t end = std::min(kMostMapped, all.inputs - first);
    T* const target = static_cast<T*>(to);
    const T* total = first == 0 ? static_cast<const T*>(in[0]) : target;
    for (std::size_t k = first == 0 ? 1 : 0; k < end; ++k) {
      map_run(count, all.fold, target, total, static_cast<const T*>(in[k]));
      total = target;
    }
    if (first + end == all.inputs) all.finish(count, target, total);
  };
  std::vector<const Tensor*> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors.push_back(&tensor_at(inputs, i));
  map_chunks(call.threads, out, kChunkType<T>, tensors, kChunkType<T>, {run, &work});
}

Inferred infer_variadic(const OpCall& call, InputInfos inputs, TypeSet types) {
  if (inputs.empty()) reject(call, "no inputs");
  const DatumInfo& first = tensor_info(call, inputs, 0, types);
  Dims dims = first.dims;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const DatumInfo& next = tensor_info(call, inputs, i, types);
    require_same_type(call, first, next);
    dims = broadcast_dims(call, dims, next.dims);
  }
  return one(call, first.type, std::move(dims));
}

template <class Extreme>
void extreme_of_inputs(const OpCall& call, InputData inputs, OutputData outputs, const Extreme& extreme) {
  const Tensor& out = outputs[0]->tensor;
  with_native_type(out.type(), [&]<class T>(T) { fold_inputs<T>(call, inputs, out, extreme, keep<T>); });
}

}  // namespace

Inferred infer_variadic_real(const OpCall& call, InputInfos inputs) {
  return infer_variadic(call, inputs, kRealTypes);
}
Inferred infer_variadic_numeric(const OpCall& call, InputInfos inputs) {
  return infer_variadic(call, inputs, kNumericTypes);
}

void sum(const OpCall& c, InputData in, OutputData out) {
  fold_inputs<double>(c, in, out[0]->tensor, std::plus<>{}, keep<double>);
}
void mean(const OpCall& c, InputData in, OutputData out) {
  const auto finish = [inputs = in.size()](int64_t count, double* to, const double* total) {
    const auto divisor = static_cast<double>(inputs);
    if (!std::has_single_bit(inputs)) return map_run(count, [divisor](double x) { return x / divisor; }, to, total);
    map_run(count, [part = 1 / divisor](double x) { return x * part; }, to, total);  // exact
  };
  fold_inputs<double>(c, in, out[0]->tensor, std::plus<>{}, finish);
}
void maximum(const OpCall& c, InputData in, OutputData out) {
  extreme_of_inputs(c, in, out, [](auto x, auto y) { return elementwise::maximum(x, y); });
}
void minimum(const OpCall& c, InputData in, OutputData out) {
  extreme_of_inputs(c, in, out, [](auto x, auto y) { return elementwise::minimum(x, y); });
}

}  // namespace relayout::kernels
