#pragma once

#include <memory>

#include "exec/kernels/kernel.h"
#include "relayout/tensor.h"

namespace relayout::exec {

/// The kernel that copies a tensor from one layout to another in a reorder, in a pack or inside a node.
[[nodiscard]] std::unique_ptr<Kernel> choose_copy(const TensorDesc& from, const TensorDesc& to, Team team);

}  // namespace relayout::exec
