#pragma once

#include <span>

namespace relayout::kernels {

/// Replaces numbers by the logarithms of their softmax.
void to_log_probabilities(std::span<double> values);

}  // namespace relayout::kernels
