// Trilu: the triangle above or below diagonal `k` of each matrix of a stack; other elements become zero.

#include <algorithm>
#include <cstddef>

#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {

Inferred infer_trilu(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  if (x.dims.size() < 2) reject(call, "dims " + to_string(x.dims) + " are not of matrices");
  if (const DatumInfo* k = optional_tensor_info(call, inputs, 1, {DataType::int64}); k != nullptr && element_count(k->dims) != 1) {
    reject(call, "k is not a scalar");
  }
  return results(call, tensor_of(x.type, x.dims));
}

namespace {

template <class T>
void fill_elements(T* to, int64_t step, int64_t count, const T& value) {
  if (step == 1) {
    std::fill_n(to, count, value);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * step] = value;
  }
}

template <class T>
void move_elements(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::copy_n(from, count, to);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

}  // namespace

/// Keeps elements on or above (below, with upper = 0) diagonal k; the others become zero.
void trilu(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  const bool upper = call.attributes.integer("upper", 1) != 0;
  const std::size_t rank = x.dims().size();
  const int64_t rows = x.dims()[rank - 2], columns = x.dims()[rank - 1];
  const int64_t bound = std::max(rows, columns);
  const int64_t k = present(inputs, 1) ? std::clamp(integer_of(call, tensor_at(inputs, 1)), -bound - 1, bound + 1) : 0;
  if (out.element_count() == 0) return;
  const Dims matrices(x.dims().begin(), x.dims().end() - 2);
  const int64_t from_step = x.strides()[rank - 1], to_step = out.strides()[rank - 1];
  with_storage(x.type(), [&]<class T>(const T&) {
    for_each_index(matrices, [&](const Dims& index) {
      const T* from = x.data<T>();
      T* to = out.data<T>();
      for (std::size_t i = 0; i < index.size(); ++i) {
        from += index[i] * x.strides()[i];
        to += index[i] * out.strides()[i];
      }
      for (int64_t row = 0; row < rows; ++row, from += x.strides()[rank - 2], to += out.strides()[rank - 2]) {
        const int64_t first = upper ? std::clamp<int64_t>(row + k, 0, columns) : 0;
        const int64_t last = upper ? columns : std::clamp<int64_t>(row + k + 1, 0, columns);
        fill_elements(to, to_step, first, T{});
        move_elements(from + first * from_step, from_step, to + first * to_step, to_step, last - first);
        fill_elements(to + last * to_step, to_step, columns - last, T{});
      }
    });
  });
}

}  // namespace relayout::kernels
