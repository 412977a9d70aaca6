// Opens the module that holds oneDNN when the first plan needs it, so that other commands do not load it.
#include <dlfcn.h>

#include "base/threads.h"
#include "exec/primitives.h"
#include "relayout/error.h"
#include "relayout/execute.h"

namespace relayout::exec {
namespace {

PrimitiveLibrary* open_library() {
  void* const module = ::dlopen(kPrimitiveLibraryFile, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* const reason = ::dlerror();
    fail(ErrorKind::io, std::string("cannot open ") + kPrimitiveLibraryFile + ": " + (reason == nullptr ? "unknown" : reason));
  }
  const auto entry = reinterpret_cast<PrimitiveLibraryEntry>(::dlsym(module, kPrimitiveLibraryEntry));
  if (entry == nullptr) fail(ErrorKind::io, std::string(kPrimitiveLibraryFile) + " has no entry " + kPrimitiveLibraryEntry);
  const auto run = [](int count, PartWork work, void* context) { run_parts(count, Parts::equal, work, context); };
  return entry({run, meet_parts, reserve_parts});
}

}  // namespace

PrimitiveLibrary& primitive_library() {
  static PrimitiveLibrary* const library = open_library();
  return *library;
}

}  // namespace relayout::exec

namespace relayout {

LibraryInfo onednn_info() {
  const exec::PrimitiveLibrary& library = exec::primitive_library();
  return {library.version(), library.isa()};
}

}  // namespace relayout
