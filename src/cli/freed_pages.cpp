// Makes jemalloc retain freed pages (dirty_decay_ms is −1) instead of returning them to the system.

#include "cli/freed_pages.h"

#include <sys/types.h>

#include <cstddef>
#include <initializer_list>

/// Declared weak, because the program may be built without jemalloc.
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value, std::size_t new_size);

namespace relayout::cli {

void keep_freed_pages() noexcept {
  if (mallctl == nullptr) return;
  ssize_t never = -1;
  // The settings of future arenas and of the initial one. A version of jemalloc that does not know them costs only time.
  for (const char* const name : {"arenas.dirty_decay_ms", "arena.0.dirty_decay_ms"}) {
    static_cast<void>(mallctl(name, nullptr, nullptr, &never, sizeof never));
  }
}

}  // namespace relayout::cli
