// Finds the path of this program, which starts itself for the cases of a suite, even where ld.so runs it. An installed tree may contain a
// loader and a C library. A launcher then runs `ld.so --argv0 LAUNCHER PROGRAM …`: /proc/self/exe is the loader, and only argv[0] names the
// launcher.
#include "cli/own_program.h"

#include <elf.h>
#include <errno.h>  // NOLINT(modernize-deprecated-headers): program_invocation_name
#include <sys/auxv.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/text.h"
#include "relayout/error.h"

namespace relayout::cli {
namespace {

/// Whether the kernel started the loader as the program. Otherwise AT_BASE is the address at which the kernel mapped the loader.
bool loader_was_started() {
  return getauxval(AT_BASE) == 0;
}

}  // namespace

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) fail(ErrorKind::io, "/proc/self/exe: " + error.message());
  if (!loader_was_started()) return path.string();
  const std::string launcher = program_invocation_name;
  if (launcher.starts_with('/') && access(launcher.c_str(), X_OK) == 0) return launcher;
  fail(ErrorKind::io,
       "cannot start itself again: " + escape(path.string()) + " runs it as " + quote(launcher) + ", which is no program's path",
       "start it by its launcher, or with ld.so's --argv0 and the absolute path of one");
}

}  // namespace relayout::cli
