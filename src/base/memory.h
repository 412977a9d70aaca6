#pragma once

#include <cstdint>

namespace relayout {

/// Fails (ErrorKind::io) where one block of `bytes` is more than the memory of the machine: the system would promise it, and end the
/// process, or another one, when it is used.
void require_memory(int64_t bytes);

}  // namespace relayout
