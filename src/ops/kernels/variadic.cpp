// Elementwise operators of any number of operands, which broadcast.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// The larger (or smaller) of two; NaN wins.
template <class T, class Better>
[[gnu::always_inline]] inline T extreme(T x, T y, const Better& better) {
  if constexpr (std::is_floating_point_v<T>) {
    const T best = better(y, x) || y != y ? y : x;
    return x != x ? x : best;
  } else {
    return better(y, x) ? y : x;
  }
}

/// out = finish(fold of all inputs), each read as T, any number of operands.
template <class T, class Fold, class Finish>
void fold_inputs(const OpCall& call, InputData inputs, const Tensor& out, const Fold& fold, const Finish& finish) {
  std::vector<Operand> operands{operand(out)};
  std::vector<DataType> types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(broadcast_operand(tensor_at(inputs, i), out.dims()));
    types.push_back(tensor_at(inputs, i).type());
  }
  const StridedLoop loop(out.dims(), std::move(operands));
  loop.run_joined(call.threads, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
    std::array<T, kChunk> buffer;
    ChunkReader<T> first, next;
    const bool direct = strides[0] == 1 && is_native<T>(out.type());
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t length = std::min(kChunk, count - begin);
      const auto read = [&](ChunkReader<T>& reader, std::size_t k) {
        return reader.read(types[k], data[k + 1] + begin * strides[k + 1] * element_stride(types[k]), strides[k + 1], length);
      };
      std::byte* const to = data[0] + begin * strides[0] * element_stride(out.type());
      T* const target = direct ? reinterpret_cast<T*>(to) : buffer.data();
      const T* total = read(first, 0);
      for (std::size_t k = 1; k < types.size(); ++k) {
        map_run(length, fold, target, total, read(next, k));
        total = target;
      }
      map_run(length, finish, target, total);
      if (!direct) store_chunk(out.type(), to, strides[0], length, target);
    }
  });
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

template <class Better>
void extreme_of_inputs(const OpCall& call, InputData inputs, OutputData outputs, const Better& better) {
  const Tensor& out = outputs[0]->tensor;
  with_native_type(out.type(), [&]<class T>(T) {
    const auto fold = [better](T x, T y) { return extreme(x, y, better); };
    fold_inputs<T>(call, inputs, out, fold, std::identity{});
  });
}

}  // namespace

Inferred infer_variadic_real(const OpCall& call, InputInfos inputs) {
  return infer_variadic(call, inputs, kRealTypes);
}
Inferred infer_variadic_numeric(const OpCall& call, InputInfos inputs) {
  return infer_variadic(call, inputs, kNumericTypes);
}

void sum(const OpCall& c, InputData in, OutputData out) {
  fold_inputs<double>(c, in, out[0]->tensor, std::plus<>{}, std::identity{});
}
void mean(const OpCall& c, InputData in, OutputData out) {
  const auto count = static_cast<double>(in.size());
  if (!std::has_single_bit(in.size())) {
    return fold_inputs<double>(c, in, out[0]->tensor, std::plus<>{}, [count](double x) { return x / count; });
  }
  fold_inputs<double>(c, in, out[0]->tensor, std::plus<>{}, [part = 1 / count](double x) { return x * part; });  // exact
}
void maximum(const OpCall& c, InputData in, OutputData out) {
  extreme_of_inputs(c, in, out, std::greater<>{});
}
void minimum(const OpCall& c, InputData in, OutputData out) {
  extreme_of_inputs(c, in, out, std::less<>{});
}

}  // namespace relayout::kernels
