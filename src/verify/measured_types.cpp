// Which element types are compared by error (floats, 8-bit ones included, and complex; others exactly: metrics.cpp), their unit roundoff
// and least bound, and the coarser of two types.
#include "verify/measured_types.h"

#include <cmath>

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/rules.h"

namespace relayout {
namespace {

/// The type whose precision counts: for a complex type, that of its parts.
DataType precision_type(DataType type) {
  if (type == DataType::complex64) return DataType::float32;
  if (type == DataType::complex128) return DataType::float64;
  return type;
}

}  // namespace

bool is_measured(DataType type) noexcept {
  switch (type) {
    case DataType::float32:
    case DataType::float64:
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::complex64:
    case DataType::complex128:
      return true;
    default:
      return false;
  }
}

double unit_roundoff(DataType type) noexcept {
  return is_measured(type) ? std::ldexp(0.5, -traits(precision_type(type)).fraction_bits) : 0;
}

DataType coarser(DataType a, DataType b) noexcept {
  return unit_roundoff(b) > unit_roundoff(a) ? b : a;
}

DataType type_of_floor(DataType type, DataType grain) noexcept {
  return is_measured(type) ? coarser(type, grain) : type;
}

bool is_narrow(DataType type) noexcept {
  return unit_roundoff(type) >= unit_roundoff(DataType::float16);
}

double dtype_minimum(DataType type) noexcept {
  switch (precision_type(type)) {
    case DataType::float64:
      return rules::kLeastBoundF64;
    case DataType::float32:
      return rules::kLeastBoundF32;
    case DataType::float16:
      return rules::kLeastBoundF16;
    case DataType::bfloat16:
      return rules::kLeastBoundBf16;
    default:
      return 2 * unit_roundoff(type);
  }
}

}  // namespace relayout
