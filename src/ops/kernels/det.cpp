// Det: determinants of stacks of square matrices, by elimination in double, and dims that are not of square matrices.

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {

Inferred infer_det(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  if (x.dims.size() < 2 || x.dims.back() != x.dims[x.dims.size() - 2])
    reject(call, "dims " + to_string(x.dims) + " are not of square matrices");
  return results(call, tensor_of(x.type, Dims(x.dims.begin(), x.dims.end() - 2)));
}

namespace {

/// Determinant by elimination with the largest pivot of each column.
double determinant(std::vector<double> a, std::size_t size) {
  double result = 1;
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < size; ++i) {
      if (std::abs(a[i * size + k]) > std::abs(a[pivot * size + k])) pivot = i;
    }
    if (a[pivot * size + k] == 0) return 0;
    if (pivot != k) {
      for (std::size_t j = 0; j < size; ++j) std::swap(a[k * size + j], a[pivot * size + j]);
      result = -result;
    }
    result *= a[k * size + k];
    for (std::size_t i = k + 1; i < size; ++i) {
      const double factor = a[i * size + k] / a[k * size + k];
      for (std::size_t j = k; j < size; ++j) a[i * size + j] -= factor * a[k * size + j];
    }
  }
  return result;
}

}  // namespace

void det(const OpCall&, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &out = outputs[0]->tensor;
  const std::size_t lead = x.dims().size() - 2;
  const Dims matrix(x.dims().begin() + static_cast<std::ptrdiff_t>(lead), x.dims().end());
  const Dims strides(x.strides().begin() + static_cast<std::ptrdiff_t>(lead), x.strides().end());
  for_each_index(out.dims(), [&](const Dims& index) {
    int64_t from = 0, to = 0;
    for (std::size_t i = 0; i < lead; ++i) {
      from += index[i] * x.strides()[i];
      to += index[i] * out.strides()[i];
    }
    const double value = determinant(reals_of(x.view(matrix, strides, from)), as_size(matrix[0]));
    store_one(out.type(), out.bytes() + to * element_stride(out.type()), value);
  });
}

}  // namespace relayout::kernels
