#include <dlfcn.h>
#include <stdlib.h>

#include <cstdlib>
#include <string>

#include "exec/primitives.h"
#include "relayout/error.h"
#include "relayout/execute.h"

namespace relayout {
namespace {

/// libgomp reads its variables when it is loaded. Its own default spins for long, which costs 4 to 32 times the run time on a busy
/// host; pure passive waiting doubles small models on a quiet one. The user's own settings win.
void bound_the_spin() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  ::setenv("GOMP_SPINCOUNT", "20000", 0);
}

PrimitiveLibrary* open_library() {
  bound_the_spin();
  void* const module = ::dlopen(kPrimitiveLibraryFile, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* const reason = ::dlerror();
    fail(ErrorKind::io, std::string("cannot open ") + kPrimitiveLibraryFile + ": " + (reason == nullptr ? "unknown" : reason));
  }
  const auto entry = reinterpret_cast<PrimitiveLibraryEntry>(::dlsym(module, kPrimitiveLibraryEntry));
  if (entry == nullptr) fail(ErrorKind::io, std::string(kPrimitiveLibraryFile) + " has no entry " + kPrimitiveLibraryEntry);
  return entry();
}

}  // namespace

PrimitiveLibrary& primitive_library() {
  static PrimitiveLibrary* const library = open_library();
  return *library;
}

LibraryInfo onednn_info() {
  const PrimitiveLibrary& library = primitive_library();
  return {library.version(), library.isa()};
}

}  // namespace relayout
