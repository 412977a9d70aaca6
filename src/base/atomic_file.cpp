// Writes files that appear under their name whole or not at all, and temporary ones that vanish.
#include "base/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/machine.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

/// The end of a chain of symbolic links; it need not exist.
fs::path follow_links(const std::string& name, fs::path path) {
  constexpr int kMostLinks = 40;  // as in the kernel
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    if (error) return path;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  fail_io(name, system_message(ELOOP));
}

fs::path link_of(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

void flush_folder(const fs::path& target) {
  const int folder = ::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

/// Links the file at `link` to `name` and renames that over `target`. Returns the error number, or 0. A child process does both: between
/// the two steps there is a name in the folder that SIGKILL would leave there, and killing this process does not kill the child.
int replace_in_child(const fs::path& link, const fs::path& name, const fs::path& target) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::setsid();
    if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) ::_exit(errno);
    if (::rename(name.c_str(), target.c_str()) == 0) ::_exit(0);
    const int error = errno;
    ::unlink(name.c_str());
    ::_exit(error);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

}  // namespace

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  return parent.empty() ? "." : parent;
}

AtomicFile::AtomicFile(const fs::path& target) : name_(target.string()), target_(follow_links(name_, target)) {
  struct stat state{};
  if (::lstat(target_.c_str(), &state) == 0) {
    if (S_ISDIR(state.st_mode)) fail_io(name_, "cannot write: is a directory");
    if (!S_ISREG(state.st_mode)) fail_io(name_, "is not a regular file");
    if (::access(target_.c_str(), W_OK) != 0) fail_with_errno();
    replaces_ = true;
  } else if (errno != ENOENT) {
    fail_with_errno();
  }
  if (target_.filename().empty()) fail_io(name_, "cannot write: is a directory");
  open_unnamed();
  if (descriptor_ < 0) open_named();
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail_with_errno() const {
  fail_io(name_, "cannot write: " + system_message(errno));
}

void AtomicFile::open_unnamed() {
  descriptor_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    // EISDIR: a kernel that does not support the flag.
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) fail_with_errno();
    return;
  }
  // The file is linked to its name through /proc.
  if (::access(link_of(descriptor_).c_str(), F_OK) != 0) {
    ::close(std::exchange(descriptor_, -1));
    return;
  }
  unnamed_ = true;
}

void AtomicFile::open_named() {
  temporary_ = free_name();
  descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return;
  const int error = errno;
  temporary_.clear();
  errno = error;
  fail_with_errno();
}

fs::path AtomicFile::free_name() const {
  static std::atomic<unsigned> counter{0};
  while (true) {
    std::array<char, 64> name{};
    std::snprintf(name.data(), name.size(), ".relayout-%ld-%u.tmp", static_cast<long>(::getpid()), counter.fetch_add(1));
    fs::path path = folder_of(target_) / name.data();
    struct stat state{};
    if (::lstat(path.c_str(), &state) != 0) return path;
  }
}

void AtomicFile::reserve(int64_t size) {
  if (size <= 0) return;
  // Memory file systems would only lose time. The size is kept so that an unfinished file never looks complete.
  struct statfs file_system{};
  if (::fstatfs(descriptor_, &file_system) == 0 && file_system.f_type == TMPFS_MAGIC) return;
  while (::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, size) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) fail_with_errno();
    return;
  }
}

void AtomicFile::take_over_attributes() {
  struct stat state{};
  if (::stat(target_.c_str(), &state) != 0) return;  // removed meanwhile
  // The owner first, as a change of owner clears the set-id bits. Only root may change it; a refusal is no error.
  if (::fchown(descriptor_, state.st_uid, state.st_gid) != 0 && errno != EPERM) fail_with_errno();
  if (::fchmod(descriptor_, state.st_mode & 07777U) != 0 && errno != EPERM) fail_with_errno();
}

void AtomicFile::link_unnamed() {
  const fs::path link = link_of(descriptor_);
  if (!replaces_) {
    if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return;
    }
    if (errno != EEXIST) fail_with_errno();  // else a different process created it meanwhile: replace it
  }
  int error = EEXIST;
  while (error == EEXIST) error = replace_in_child(link, free_name(), target_);
  if (error == 0) return;
  errno = error;
  fail_with_errno();
}

void AtomicFile::commit(bool sync) {
  if (replaces_) take_over_attributes();
  if ((replaces_ || sync) && ::fdatasync(descriptor_) != 0) fail_with_errno();
  if (unnamed_) {
    // The descriptor keeps the unnamed file alive, so that errors of close must be checked on a second descriptor.
    const int second = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    if (second < 0 || ::close(second) != 0) fail_with_errno();
    link_unnamed();
  }
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 && errno != EINTR) fail_with_errno();
  if (!temporary_.empty()) {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with_errno();
    temporary_.clear();
  }
  if (sync) flush_folder(target_);
}

// Temporary files and folders.
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

DraftFolder::DraftFolder(std::filesystem::path target) : target_(std::move(target)) {
  const std::filesystem::path folder = folder_of(target_);
  std::string name = (folder / ("." + target_.filename().string() + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) fail_io(folder.string(), "cannot make a folder in it");
  path_ = name;
  using std::filesystem::perms;
  std::filesystem::permissions(path_, perms::group_read | perms::group_exec | perms::others_read | perms::others_exec,
                               std::filesystem::perm_options::add);
}

DraftFolder::~DraftFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void DraftFolder::publish() {
  std::error_code error;
  std::filesystem::rename(path_, target_, error);
  if (error) fail_io(target_.string(), error.message());
  path_.clear();
}

// Whole text files.
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
