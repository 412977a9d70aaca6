// Reports in files: whole under their name or not at all.
#include "base/text_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_at(const fs::path& path, int error) {
  fail(ErrorKind::io, escape(path.string()) + ": cannot write: " + std::generic_category().message(error));
}

/// Writes and closes.
int finish(int descriptor, std::string_view text) {
  const int error = write_all(descriptor, text);
  return ::close(descriptor) != 0 && error == 0 ? errno : error;
}

/// The mode a new file gets, or that of the one which is replaced.
mode_t mode_of(const fs::path& path) {
  struct stat state = {};
  if (::stat(path.c_str(), &state) == 0) return state.st_mode & 07777U;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666U & ~mask;
}

/// The file itself, where the path is a link to it.
fs::path target_of(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : path;
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
  std::string text(as_size(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_text_file(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  const fs::path target = target_of(path);
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) {
    const int direct = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (direct < 0) fail_at(path, errno);
    if (const int error = finish(direct, text); error != 0) fail_at(path, error);
    return;
  }
  std::string name = target.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) fail_at(path, errno);
  int error = ::fchmod(descriptor, mode_of(target)) != 0 ? errno : 0;
  const int written = finish(descriptor, text);
  if (error == 0) error = written;
  if (error == 0 && std::rename(name.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(name.c_str());
  fail_at(path, error);
}

void check_text_file(const fs::path& path) {
  const fs::path target = target_of(path);
  std::error_code ignored;
  if (fs::is_directory(target, ignored)) fail_at(path, EISDIR);
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) {
    if (::access(target.c_str(), W_OK) != 0) fail_at(path, errno);
    return;
  }
  std::string name = target.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) fail_at(path, errno);
  ::close(descriptor);
  ::unlink(name.c_str());
}

}  // namespace relayout
