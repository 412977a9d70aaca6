#pragma once

#include <optional>

#include "exec/kernels/winograd_kernel.h"
#include "exec/primitives.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A convolution of images x by weights w to images y in Winograd's form, with fewer products: for 3 × 3 windows at stride 1, if it is
/// expected to pay on `threads` threads; else nothing.
[[nodiscard]] std::optional<WinogradConvolution> winograd_of(const Convolution& spec, const Dims& x, const Dims& w, const Dims& y,
                                                             int threads);

}  // namespace relayout::exec
