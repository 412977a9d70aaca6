// Products of panels of matrices in double and in integers: the innermost loop of MatMul, convolutions and attention.

#include "ops/loops/product.h"

#include "base/vectorize.h"

namespace relayout {
namespace {

constexpr int kLanes = 8;
constexpr int64_t kColumns = ProductBlock::kColumns;

template <class T>
struct Lanes {
  typedef T Type __attribute__((vector_size(kLanes * sizeof(T)), aligned(alignof(T)), may_alias));
};

template <class T>
[[gnu::always_inline]] inline void multiply(int64_t rows, int64_t depth, const T* a, int64_t a_stride, const T* b, T* c) {
  using Vector = typename Lanes<T>::Type;
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const T* const a0 = a + row * a_stride;
    const T* const a1 = a0 + a_stride;
    const T* const a2 = a1 + a_stride;
    const T* const a3 = a2 + a_stride;
    for (int64_t n = 0; n < kColumns; n += kLanes) {
      T* const to = c + row * kColumns + n;
      auto c0 = *reinterpret_cast<Vector*>(to);
      auto c1 = *reinterpret_cast<Vector*>(to + kColumns);
      auto c2 = *reinterpret_cast<Vector*>(to + 2 * kColumns);
      auto c3 = *reinterpret_cast<Vector*>(to + 3 * kColumns);
      for (int64_t k = 0; k < depth; ++k) {
        const auto bk = *reinterpret_cast<const Vector*>(b + k * kColumns + n);
        c0 += a0[k] * bk;
        c1 += a1[k] * bk;
        c2 += a2[k] * bk;
        c3 += a3[k] * bk;
      }
      *reinterpret_cast<Vector*>(to) = c0;
      *reinterpret_cast<Vector*>(to + kColumns) = c1;
      *reinterpret_cast<Vector*>(to + 2 * kColumns) = c2;
      *reinterpret_cast<Vector*>(to + 3 * kColumns) = c3;
    }
  }
  for (; row < rows; ++row) {
    const T* const a0 = a + row * a_stride;
    for (int64_t n = 0; n < kColumns; n += 4 * kLanes) {
      T* const to = c + row * kColumns + n;
      auto c0 = *reinterpret_cast<Vector*>(to);
      auto c1 = *reinterpret_cast<Vector*>(to + kLanes);
      auto c2 = *reinterpret_cast<Vector*>(to + 2 * kLanes);
      auto c3 = *reinterpret_cast<Vector*>(to + 3 * kLanes);
      for (int64_t k = 0; k < depth; ++k) {
        const T* const bk = b + k * kColumns + n;
        c0 += a0[k] * *reinterpret_cast<const Vector*>(bk);
        c1 += a0[k] * *reinterpret_cast<const Vector*>(bk + kLanes);
        c2 += a0[k] * *reinterpret_cast<const Vector*>(bk + 2 * kLanes);
        c3 += a0[k] * *reinterpret_cast<const Vector*>(bk + 3 * kLanes);
      }
      *reinterpret_cast<Vector*>(to) = c0;
      *reinterpret_cast<Vector*>(to + kLanes) = c1;
      *reinterpret_cast<Vector*>(to + 2 * kLanes) = c2;
      *reinterpret_cast<Vector*>(to + 3 * kLanes) = c3;
    }
  }
}

RELAYOUT_VECTORIZE void multiply_doubles(int64_t rows, int64_t depth, const double* a, int64_t a_stride, const double* b, double* c) {
  multiply(rows, depth, a, a_stride, b, c);
}

RELAYOUT_VECTORIZE void multiply_integers(int64_t rows, int64_t depth, const uint64_t* a, int64_t a_stride, const uint64_t* b,
                                          uint64_t* c) {
  multiply(rows, depth, a, a_stride, b, c);
}

RELAYOUT_VECTORIZE void multiply_words(int64_t rows, int64_t depth, const uint32_t* a, int64_t a_stride, const uint32_t* b, uint32_t* c) {
  multiply(rows, depth, a, a_stride, b, c);
}

}  // namespace

void multiply_panel(int64_t rows, int64_t depth, const double* a, int64_t a_stride, const double* b, double* c) {
  multiply_doubles(rows, depth, a, a_stride, b, c);
}

void multiply_panel(int64_t rows, int64_t depth, const uint64_t* a, int64_t a_stride, const uint64_t* b, uint64_t* c) {
  multiply_integers(rows, depth, a, a_stride, b, c);
}

void multiply_panel(int64_t rows, int64_t depth, const uint32_t* a, int64_t a_stride, const uint32_t* b, uint32_t* c) {
  multiply_words(rows, depth, a, a_stride, b, c);
}

}  // namespace relayout
