#pragma once

#include <cstdint>
#include <span>

namespace relayout::proof {

/// Limits of the error of weights that other tools folded in float32.
struct FoldLimits {
  double rounding;  ///< of the stored weight, in units in the last place
  double error;     ///< of a fold in float32, relative to the right weight
};

/// Number of b's weights that are not a's times `factor` in double, rounded once.
[[nodiscard]] int64_t count_unequal(const float* a, const float* b, int64_t count, double factor);

/// Same, with one factor per weight.
[[nodiscard]] int64_t count_unequal(const float* a, const float* b, std::span<const double> factors);

/// The largest magnitude as bits, which are in the order of the values.
[[nodiscard]] uint32_t largest_magnitude(const float* weights, int64_t count);

/// Whether each of b's weights is a's times `factor` clearly within its limits. The margin lets products in double, off by 2^-52 of their
/// value, decide as extended precision does. A limit is at least 2^-25 of the value, so that this error is 2^-27 of the limit. `near` is
/// raised to the largest error in units that rounding alone does not explain.
[[nodiscard]] bool is_clearly_near(const float* a, const float* b, int64_t count, double factor, const FoldLimits& limits, double& near);
[[nodiscard]] bool is_clearly_near(const float* a, const float* b, std::span<const double> factors, const FoldLimits& limits, double& near);

}  // namespace relayout::proof
