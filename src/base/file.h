#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "relayout/error.h"

namespace relayout {

/// Throws Error{io} "NAME: WHAT".
[[noreturn]] void fail_io(const std::string& name, const std::string& what);
/// The system's words for an error number.
[[nodiscard]] std::string system_message(int error);

/// Reads exactly out.size() bytes at `offset`. Returns 0 or the error number, which is ENODATA when the file ends before.
[[nodiscard]] int read_all_at(int descriptor, std::span<std::byte> out, int64_t offset) noexcept;
/// Writes all bytes at `offset`, in as many calls as necessary. Returns 0 or the error number.
[[nodiscard]] int write_all_at(int descriptor, std::span<const std::byte> bytes, int64_t offset) noexcept;

/// A file open for reading. Only regular files: a FIFO, device or directory is Error{io}.
/// All reads are positional (pread), safe from several threads.
class File {
 public:
  /// Errors (missing, no permission, not a regular file) name the path as given.
  [[nodiscard]] static std::shared_ptr<File> open(const std::filesystem::path& path);
  /// open(), or from_standard_input() where the path is "-".
  [[nodiscard]] static std::shared_ptr<File> open_or_standard_input(const std::filesystem::path& path);
  /// Standard input, spilled to an unnamed temporary file. Messages call it kStandardInput.
  [[nodiscard]] static std::shared_ptr<File> from_standard_input();
  /// Bytes in memory with the same interface (tests, text models).
  [[nodiscard]] static std::shared_ptr<File> from_bytes(std::string bytes, std::string name);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< for messages: the path as given by the user
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] int64_t size() const noexcept { return size_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }  ///< -1 for from_bytes
  /// Reads exactly out.size() bytes at `offset`; a short read is Error{io} "file shrank while it was read".
  void read(int64_t offset, std::span<std::byte> out) const;
  /// read() into a string of `size` bytes.
  [[nodiscard]] std::string text(int64_t offset, int64_t size) const;
  /// Error{io} when size or modification time have changed since the file was opened.
  void check_unchanged() const;
  /// Whether the path is the same file, by device and inode.
  [[nodiscard]] bool is_same_as(const std::filesystem::path& other) const;

 private:
  File() = default;
  /// Records size and identity of the open descriptor; refuses anything but a regular file.
  void note_state();
  std::string name_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  int64_t device_ = 0, inode_ = 0, mtime_seconds_ = 0, mtime_nanoseconds_ = 0;
  std::string memory_;
};

inline constexpr char kStream[] = "-";
inline constexpr char kStandardInput[] = "standard input", kStandardOutput[] = "standard output";

[[nodiscard]] inline bool is_stream(const std::filesystem::path& path) {
  return path == kStream;
}

/// The entries of a folder in the order of their names. Error{io} names the folder.
[[nodiscard]] std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);
/// The same without hidden entries, whose names begin with a dot: those that `*` matches in a shell.
[[nodiscard]] std::vector<std::filesystem::directory_entry> visible_entries(const std::filesystem::path& folder);

/// Throws an error of this kind, message and hint. The message begins with the escaped name of a file and ": ", which are added if it does
/// not begin with both.
[[noreturn]] void fail_named(const std::string& name, const Error& error);

/// Returns what `work` returns. Errors of `work` name the file, see fail_named().
template <class Work>
auto named(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    fail_named(name, error);
  }
}

}  // namespace relayout
