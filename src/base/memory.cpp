#include "base/memory.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

// There when the program was linked with mimalloc.
extern "C" void mi_collect(bool force) __attribute__((weak));

namespace relayout {

void give_back_memory() {
  if (mi_collect != nullptr) {
    mi_collect(true);
    return;
  }
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace relayout
