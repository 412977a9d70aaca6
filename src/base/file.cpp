// Opens input files and folders, reads them by position, and names them in errors.
#include "base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

/// Opens without waiting for the other end of a FIFO. Models with a data file per tensor exceed the customary limit of 1024 descriptors:
/// the soft limit is raised to the hard limit when it is reached.
int open_for_reading(const std::filesystem::path& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int descriptor = ::open(path.c_str(), kFlags);
  if (descriptor >= 0 || errno != EMFILE) return descriptor;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return ::open(path.c_str(), kFlags);
  }
  errno = EMFILE;
  return -1;
}

}  // namespace

void fail_io(const std::string& name, const std::string& what) {
  fail(ErrorKind::io, escape(name) + ": " + what);
}

std::string system_message(int error) {
  return std::generic_category().message(error);
}

int read_all_at(int descriptor, std::span<std::byte> out, int64_t offset) noexcept {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : ENODATA;
    out = out.subspan(as_size(got));
    offset += got;
  }
  return 0;
}

int write_all_at(int descriptor, std::span<const std::byte> bytes, int64_t offset) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes = bytes.subspan(as_size(written));
    offset += written;
  }
  return 0;
}

std::shared_ptr<File> File::open(const std::filesystem::path& path) {
  std::shared_ptr<File> file(new File);
  file->name_ = path.string();
  file->path_ = path;
  if (file->name_.find('\0') != std::string::npos) fail_io(file->name_, "the path contains a NUL character");
  file->descriptor_ = open_for_reading(path);
  if (file->descriptor_ < 0) fail_io(file->name_, system_message(errno));
  file->note_state();
  return file;
}

std::shared_ptr<File> File::open_or_standard_input(const std::filesystem::path& path) {
  return is_stream(path) ? from_standard_input() : open(path);
}

void File::note_state() {
  struct stat state{};
  if (::fstat(descriptor_, &state) != 0) fail_io(name_, system_message(errno));
  if (S_ISDIR(state.st_mode)) fail_io(name_, "is a directory");
  if (!S_ISREG(state.st_mode)) fail_io(name_, "is not a regular file");
  size_ = state.st_size;
  device_ = static_cast<int64_t>(state.st_dev);
  inode_ = static_cast<int64_t>(state.st_ino);
  mtime_seconds_ = state.st_mtim.tv_sec;
  mtime_nanoseconds_ = state.st_mtim.tv_nsec;
}

std::shared_ptr<File> File::from_standard_input() {
  std::shared_ptr<File> file(new File);
  file->name_ = kStandardInput;
  file->descriptor_ = open_temporary_file();
  std::vector<char> buffer(std::size_t{1} << 20);
  while (true) {
    check_interrupt();
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io(file->name_, system_message(errno));
    if (got == 0) break;
    const int error = write_all(file->descriptor_, {buffer.data(), as_size(got)});
    if (error != 0) fail_io(file->name_, "cannot write a temporary file: " + system_message(error));
  }
  file->note_state();
  return file;
}

std::shared_ptr<File> File::from_bytes(std::string bytes, std::string name) {
  std::shared_ptr<File> file(new File);
  file->name_ = std::move(name);
  file->memory_ = std::move(bytes);
  file->size_ = static_cast<int64_t>(file->memory_.size());
  return file;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void File::read(int64_t offset, std::span<std::byte> out) const {
  const auto length = static_cast<int64_t>(out.size());
  if (offset < 0 || length > size_ || offset > size_ - length) {
    fail(ErrorKind::defect, escape(name_) + ": read of " + std::to_string(length) + " bytes at " + std::to_string(offset) + " beyond its " +
                                std::to_string(size_) + " bytes");
  }
  if (descriptor_ < 0) {
    if (!out.empty()) std::memcpy(out.data(), memory_.data() + offset, out.size());
    return;
  }
  const int error = read_all_at(descriptor_, out, offset);
  if (error != 0) fail_io(name_, error == ENODATA ? "the file shrank while it was read" : system_message(error));
}

std::string File::text(int64_t offset, int64_t size) const {
  std::string out(as_size(size), '\0');
  read(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

void File::check_unchanged() const {
  if (descriptor_ < 0) return;
  struct stat state{};
  if (::fstat(descriptor_, &state) != 0) fail_io(name_, system_message(errno));
  if (state.st_size != size_ || state.st_mtim.tv_sec != mtime_seconds_ || state.st_mtim.tv_nsec != mtime_nanoseconds_) {
    fail_io(name_, "the file changed while it was read");
  }
}

bool File::is_same_as(const std::filesystem::path& other) const {
  struct stat state{};
  if (descriptor_ < 0 || ::stat(other.c_str(), &state) != 0) return false;
  return static_cast<int64_t>(state.st_dev) == device_ && static_cast<int64_t>(state.st_ino) == inode_;
}

// Entries of a folder.

namespace fs = std::filesystem;

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> out;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    out.push_back(*entry);
  }
  if (error) fail_io(folder.string(), error.message());
  std::ranges::sort(out, {}, [](const fs::directory_entry& entry) -> const std::string& { return entry.path().native(); });
  return out;
}

std::vector<fs::directory_entry> visible_entries(const fs::path& folder) {
  std::vector<fs::directory_entry> out = entries_of(folder);
  std::erase_if(out, [](const fs::directory_entry& entry) { return entry.path().filename().string().starts_with('.'); });
  return out;
}

// Errors that name their file.

void fail_named(const std::string& name, const Error& error) {
  const std::string prefix = escape(name) + ": ", what = error.what();
  fail(error.kind(), what.starts_with(prefix) ? what : prefix + what, error.hint());
}

}  // namespace relayout
