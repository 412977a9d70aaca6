#pragma once

#include <span>

namespace relayout::kernels {

/// Logarithms of a softmax, in place, as LogSoftmax and SoftmaxCrossEntropyLoss compute them.
void to_log_probabilities(std::span<double> values);

}  // namespace relayout::kernels
