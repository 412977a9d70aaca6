// Refuses blocks that are larger than the memory of the machine ("out of memory: …"), and the alignment of memory for tensors (64 bytes).
#include "base/memory.h"

#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/checked.h"
#include "relayout/error.h"

namespace relayout {
namespace {

int64_t machine_bytes() {
  const auto bytes = checked_mul<int64_t>(sysconf(_SC_PHYS_PAGES), sysconf(_SC_PAGESIZE));
  return bytes && *bytes > 0 ? *bytes : std::numeric_limits<int64_t>::max();
}

}  // namespace

void require_memory(int64_t bytes) {
  static const int64_t most = machine_bytes();
  if (bytes > most) fail(ErrorKind::io, "out of memory: " + std::to_string(bytes) + " bytes of the machine's " + std::to_string(most));
}

}  // namespace relayout
