#pragma once

#include <cstdint>
#include <memory>

#include "exec/kernels/kernel.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A convolution of one group to so few outputs that kernels with outputs side by side in a vector leave most of it empty: here channels
/// are side by side. [N, C, …] of at most three spatial dims, dense and channels-last.
struct NarrowConvolution {
  static constexpr int64_t kMostOutputs = 4, kChannels = 8;  ///< channels are a multiple of kChannels
  Dims source, destination;                                  ///< [N, C, …], [N, M, …]
  Dims kernel, strides, dilations, before;
  bool has_bias = false;
};

/// Weights [M, C, …] of any strides as [M, elements of a window, C].
[[nodiscard]] Tensor narrow_weights(const Tensor& weights);

/// Operands: source, narrow_weights(), all finite (padding is multiplied by them), the bias [M] where there is one, destination.
[[nodiscard]] std::unique_ptr<Kernel> make_narrow_convolution_kernel(const NarrowConvolution& spec, Team team);

}  // namespace relayout::exec
