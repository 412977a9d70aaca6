// Reads and writes whole text files: a written report appears whole or not at all, or goes directly into a pipe or device; "larger than …
// can be".
#include "base/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_at(const fs::path& path, int error) {
  fail_io(path.string(), "cannot write: " + system_message(error));
}

/// Whether the path is a device or a pipe, which is written to directly.
bool is_special(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored);
}

void write_special(const fs::path& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail_at(path, errno);
  const int error = write_all(descriptor, text);
  const bool is_closed = ::close(descriptor) == 0;
  if (error != 0 || !is_closed) fail_at(path, error != 0 ? error : errno);
}

}  // namespace

int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(as_size(written));
  }
  return 0;
}

std::string read_text(const File& file, int64_t most, std::string_view what) {
  if (file.size() > most) fail(ErrorKind::invalid, escape(file.name()) + ": larger than " + std::string(what) + " can be");
  return file.text(0, file.size());
}

void write_text_file(const fs::path& path, std::string_view text) {
  if (is_special(path)) return write_special(path, text);
  AtomicFile file(path);
  if (const int error = write_all(file.descriptor(), text); error != 0) fail_at(path, error);
  file.commit(false);
}

void check_text_file(const fs::path& path) {
  if (!is_special(path)) {
    const AtomicFile file(path);
  } else if (::access(path.c_str(), W_OK) != 0) {
    fail_at(path, errno);
  }
}

}  // namespace relayout
