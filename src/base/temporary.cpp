// Temporary files and folders ("relayout-XXXXXX" in TMPDIR or /tmp), removed after use, the error "cannot make a temporary …", and the hint
// "TMPDIR names another folder".
#include "base/temporary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

[[noreturn]] void fail_in(const std::string& directory, const std::string& what) {
  fail(ErrorKind::io, escape(directory) + ": cannot make a temporary " + what + ": " + system_message(errno), kTemporaryHint);
}

}  // namespace

std::string temporary_directory() {
  const std::string chosen = environment("TMPDIR");
  return chosen.empty() ? "/tmp" : chosen;
}

int open_temporary_file() {
  const std::string directory = temporary_directory();
  const int unnamed = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0) return unnamed;
  // File systems without unnamed files: create a named one and unlink it at once.
  std::string name = directory + "/relayout-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) fail_in(directory, "file");
  (void)::unlink(name.c_str());
  return named;
}

PrivateFolder::PrivateFolder() {
  std::string name = temporary_directory() + "/relayout-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail_in(temporary_directory(), "folder");
  path_ = name;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace relayout
