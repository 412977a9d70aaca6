#pragma once

#include "relayout/profile.h"

namespace relayout {

/// This process on this machine, now. `threads`: what the executor uses.
[[nodiscard]] ProfileContext current_context(int threads);

}  // namespace relayout
