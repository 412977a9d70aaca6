// Tells jemalloc to keep pages.

#include "cli/freed_pages.h"

#include <sys/types.h>

#include <cstddef>
#include <initializer_list>

/// Of jemalloc, which the program may have been built without.
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value, std::size_t new_size);

namespace relayout::cli {

void keep_freed_pages() noexcept {
  if (mallctl == nullptr) return;
  ssize_t never = -1;
  // Of arenas to come, and of the one that the program began with. Where a version of jemalloc does not know them, nothing is lost but
  // time.
  for (const char* const name : {"arenas.dirty_decay_ms", "arena.0.dirty_decay_ms"}) {
    static_cast<void>(mallctl(name, nullptr, nullptr, &never, sizeof never));
  }
}

}  // namespace relayout::cli
