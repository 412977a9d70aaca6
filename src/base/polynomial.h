#pragma once

#include <cstddef>

namespace relayout {

/// The value of a polynomial, c[0] + c[1] · z + c[2] · z² + …, by Horner's scheme.
template <std::size_t kCount>
[[gnu::always_inline]] inline double polynomial(const double (&c)[kCount], double z) {
  double sum = c[kCount - 1];
  for (std::size_t i = kCount - 1; i-- > 0;) sum = sum * z + c[i];
  return sum;
}

}  // namespace relayout
