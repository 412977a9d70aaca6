#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "exec/kernels/kernel.h"
#include "relayout/tensor.h"

namespace relayout::exec {

/// Concatenates non-empty sources of any strides along `axis` of a destination without gaps. Operands are the sources, then the
/// destination. Not for strings.
[[nodiscard]] std::unique_ptr<Kernel> make_concat_kernel(const std::vector<TensorDesc>& sources, const TensorDesc& destination,
                                                         std::size_t axis, Team team);

}  // namespace relayout::exec
