#pragma once

#include <cstdint>
#include <utility>

#include "ops/loops/dtypes.h"
#include "ops/op_call.h"
#include "ops/op_version.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {

/// Of two operands of one of `types`: that type, or bool for a test.
[[nodiscard]] Inferred infer_binary(const OpCall& call, InputInfos inputs, TypeSet types, bool test);
/// The second operand under its dims as they align with the first.
[[nodiscard]] Tensor aligned(const OpCall& call, const Tensor& a, const Tensor& b);
/// Integers as unsigned numbers of their size: the same memory, for what has the same bits either way. Floating point is as it is.
[[nodiscard]] Tensor unsigned_view(const Tensor& tensor);

/// Calls f(T{}) with the type in which unsigned_view()s of a type of integers are computed.
template <class F>
void with_unsigned_type(DataType type, F&& f) {
  switch (element_stride(type)) {
    case sizeof(uint8_t):
      return f(uint8_t{});
    case sizeof(uint16_t):
      return f(uint16_t{});
    case sizeof(uint32_t):
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

/// The same for all numbers.
template <class F>
void with_unsigned_or_real(DataType type, F&& f) {
  if (!traits(type).is_float) return with_unsigned_type(type, std::forward<F>(f));
  if (type == DataType::float64) return f(double{});
  f(float{});
}

}  // namespace relayout::kernels
