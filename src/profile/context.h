#pragma once

#include "relayout/profile.h"

namespace relayout {

/// This process on this machine, now. `threads`: the threads of the executor.
[[nodiscard]] ProfileContext current_context(int threads);

}  // namespace relayout
