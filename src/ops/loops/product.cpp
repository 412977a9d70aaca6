// Computes tiles of matrix products, the innermost loop of all kernels that multiply matrices.

#include "ops/loops/product.h"

#include "base/machine.h"
#include "base/vectorize.h"

namespace relayout {
namespace {

constexpr int64_t kColumns = ProductBlock::kColumns;

/// kRows rows by kVectors vectors of columns: independent sums, so that a term of one need not wait for the previous term.
template <class T, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(int64_t depth, const T* a, int64_t a_stride, const T* b, T* c) {
  using Vector = typename VectorOf<T, kBytes>::Type;
  constexpr int64_t kLanes = VectorOf<T, kBytes>::kLanes;
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = *reinterpret_cast<const Vector*>(c + r * kColumns + v * kLanes);
  }
  for (int64_t k = 0; k < depth; ++k) {
    for (int v = 0; v < kVectors; ++v) {
      const Vector bk = *reinterpret_cast<const Vector*>(b + k * kColumns + v * kLanes);
      for (int r = 0; r < kRows; ++r) sums[r][v] += a[r * a_stride + k] * bk;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Vector*>(c + r * kColumns + v * kLanes) = sums[r][v];
  }
}

template <class T, int kBytes>
[[gnu::always_inline]] inline void multiply(int64_t rows, int64_t depth, const T* a, int64_t a_stride, const T* b, T* c) {
  constexpr int64_t kLanes = VectorOf<T, kBytes>::kLanes;
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    for (int64_t n = 0; n < kColumns; n += 2 * kLanes) {
      multiply_tile<T, kBytes, 4, 2>(depth, a + row * a_stride, a_stride, b + n, c + row * kColumns + n);
    }
  }
  for (; row < rows; ++row) {
    for (int64_t n = 0; n < kColumns; n += 4 * kLanes) {
      multiply_tile<T, kBytes, 1, 4>(depth, a + row * a_stride, a_stride, b + n, c + row * kColumns + n);
    }
  }
}

/// Uses vectors as wide as the processor's.
template <class T>
[[gnu::always_inline]] inline void multiply_by_width(int64_t rows, int64_t depth, const T* a, int64_t a_stride, const T* b, T* c) {
  if (instruction_set() == InstructionSet::avx512) return multiply<T, 64>(rows, depth, a, a_stride, b, c);
  multiply<T, 32>(rows, depth, a, a_stride, b, c);
}

}  // namespace

RELAYOUT_VECTORIZE void multiply_panel(int64_t rows, int64_t depth, const double* a, int64_t a_stride, const double* b, double* c) {
  multiply_by_width(rows, depth, a, a_stride, b, c);
}

RELAYOUT_VECTORIZE void multiply_panel(int64_t rows, int64_t depth, const uint64_t* a, int64_t a_stride, const uint64_t* b, uint64_t* c) {
  multiply_by_width(rows, depth, a, a_stride, b, c);
}

RELAYOUT_VECTORIZE void multiply_panel(int64_t rows, int64_t depth, const uint32_t* a, int64_t a_stride, const uint32_t* b, uint32_t* c) {
  multiply_by_width(rows, depth, a, a_stride, b, c);
}

}  // namespace relayout
