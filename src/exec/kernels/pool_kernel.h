#pragma once

#include <memory>

#include "exec/kernels/kernel.h"
#include "ops/kernels/window.h"

namespace relayout::exec {

/// A sliding window over the spatial dims of [N, C, …]. Every window covers at least one input element.
struct PoolWindow : Window {
  bool average = false;
  bool count_padding = false;  ///< an average divides by the positions within the padded input, else by those within the input
};

/// Operand 0 is the source, 1 the destination, both f32, of the same order (contiguous or channels-last), dense. NaN wins a maximum.
[[nodiscard]] std::unique_ptr<Kernel> make_pool_kernel(const TensorDesc& source, const TensorDesc& destination, const PoolWindow& window,
                                                       Team team);

/// Mean or maximum over all dims after the first two: [N, C, …] of either order to dense N·C results. NaN wins a maximum. Other reductions
/// over trailing dims are expressed as this one over [1, lines, length].
[[nodiscard]] std::unique_ptr<Kernel> make_spatial_kernel(const TensorDesc& source, bool maximum, Team team);

}  // namespace relayout::exec
