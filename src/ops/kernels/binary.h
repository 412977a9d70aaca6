#pragma once

#include <cstdint>
#include <utility>

#include "ops/call.h"
#include "ops/loops/dtypes.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {

/// The result of two operands of one of `types`: of that type, or bool for a test.
[[nodiscard]] Inferred infer_binary(const OpCall& call, InputInfos inputs, TypeSet types, bool test);
/// The second operand with dims aligned to the first operand's.
[[nodiscard]] Tensor aligned(const OpCall& call, const Tensor& a, const Tensor& b);
/// Integers as unsigned numbers in the same memory, for operations with the same bits for both. Floating point is unchanged.
[[nodiscard]] Tensor unsigned_view(const Tensor& tensor);

/// Calls f(T{}) with the type in which unsigned_view()s of an integer type are computed.
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

/// As with_unsigned_type(), also for floating point.
template <class F>
void with_unsigned_or_real(DataType type, F&& f) {
  if (!traits(type).is_float) return with_unsigned_type(type, std::forward<F>(f));
  if (type == DataType::float64) return f(double{});
  f(float{});
}

}  // namespace relayout::kernels
