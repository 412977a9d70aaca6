#pragma once

#include <optional>

#include "exec/kernels/winograd_kernel.h"
#include "exec/primitives.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A convolution of images x by weights w to images y as one of fewer products, where it is of 3 × 3 windows at stride 1 and that is
/// expected to pay on so many threads; else nothing.
[[nodiscard]] std::optional<WinogradConvolution> winograd_of(const Convolution& spec, const Dims& x, const Dims& w, const Dims& y,
                                                             int threads);

}  // namespace relayout::exec
