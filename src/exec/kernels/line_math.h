#pragma once

#include <cstdint>

namespace relayout::exec {

/// a where it is larger or NaN, else b.
[[gnu::always_inline]] inline float larger(float a, float b) {
  return a > b || a != a ? a : b;
}

/// Largest of `count` ≥ 1 numbers, NaN if there is one.
[[nodiscard]] float maximum_of(const float* in, int64_t count);

/// Number of terms that are added in f32 before the sum continues in f64.
inline constexpr int64_t kSumBlock = 64;
/// Sum in blocks of kSumBlock terms.
[[nodiscard]] double sum_of(const float* in, int64_t count);

/// Number of terms of a line that are processed side by side.
inline constexpr int64_t kLanes = 16;

}  // namespace relayout::exec
