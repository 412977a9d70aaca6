#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "exec/kernels/integer_kernel.h"
#include "exec/kernels/kernel.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A convolution of 8-bit integers over [N, C, …] with at most three spatial dims; source and destination dense channels-last. Weights [M,
/// C/g, …] are packed in panels, group by group, with depth over taps, then channels. Weights of a depthwise convolution (one channel in
/// and out per group) are plain [taps][channels].
struct IntegerConvolution {
  Dims source, destination;  ///< [N, C, …], [N, M, …]
  int64_t groups = 1;
  Dims kernel, strides, dilations, before;
};
[[nodiscard]] bool is_depthwise(const IntegerConvolution& convolution);
[[nodiscard]] int64_t packed_bytes(const IntegerConvolution& convolution);
/// Packs weights of the dims above, of any strides.
void pack_weights(const IntegerConvolution& convolution, const Tensor& weights, std::byte* packed);
[[nodiscard]] std::unique_ptr<Kernel> make_integer_convolution_kernel(const IntegerConvolution& convolution,
                                                                      const IntegerParameters& parameters, Team team);

}  // namespace relayout::exec
