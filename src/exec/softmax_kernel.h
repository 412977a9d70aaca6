#pragma once

#include <cstdint>
#include <memory>

#include "exec/kernel.h"

namespace relayout {

/// LogSoftmax of `lines` lines of `length` f32 each, dense; operand 0 is the source, 1 the destination. The sum and what follows it are
/// in double.
[[nodiscard]] std::unique_ptr<Kernel> make_log_softmax_kernel(int64_t length, int64_t lines, Team team);

}  // namespace relayout
