#pragma once

#include <cstdint>
#include <span>

namespace relayout::proof {

/// How far weights that others folded in float32 may lie from the right ones.
struct FoldLimits {
  double rounding;  ///< of the stored weight, in units in its last place
  double error;     ///< of a fold in float32, relative to the right weight
};

/// How many of b's weights are not a's times `factor` in double, rounded once.
[[nodiscard]] int64_t count_unequal(const float* a, const float* b, int64_t count, double factor);

/// The same where each weight has a factor of its own.
[[nodiscard]] int64_t count_unequal(const float* a, const float* b, std::span<const double> factors);

/// The largest magnitude as bits, which are in order of the values.
[[nodiscard]] uint32_t largest_magnitude(const float* weights, int64_t count);

/// Whether each of b's weights is a's times `factor` within its limits, by so much that products in double, off by 2^-52 of their value,
/// decide as extended precision does. A limit is at least 2^-25 of the value, which makes that 2^-27 of the limit. `near` grows to the
/// most units by which one is off that rounding alone does not explain.
[[nodiscard]] bool is_clearly_near(const float* a, const float* b, int64_t count, double factor, const FoldLimits& limits, double& near);
[[nodiscard]] bool is_clearly_near(const float* a, const float* b, std::span<const double> factors, const FoldLimits& limits, double& near);

}  // namespace relayout::proof
