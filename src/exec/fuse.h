#pragma once

#include <vector>

#include "exec/lowering.h"

namespace relayout {

/// The nodes as groups in running order: each on its own, or (when `fuse`) convolutions and elementwise operators with what follows
/// them and nobody else reads.
[[nodiscard]] std::vector<Group> make_groups(const Program& program, const std::vector<int>& nodes, const std::vector<ValueState>& states,
                                             bool fuse);

}  // namespace relayout
