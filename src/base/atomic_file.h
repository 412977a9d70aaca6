#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace relayout {

/// The folder of a file, "." for a name alone.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& path);

/// A file that appears whole on commit() or not at all. It is unnamed (O_TMPFILE) in the target's folder; commit() links it to a temporary
/// name and renames that at once, or links it to the target if that does not exist. Where this is not supported, it is a named temporary
/// file that the destructor removes. Follows a symlinked target; keeps mode and owner of a replaced file. All errors are Error{io} and name
/// the target.
class AtomicFile {
 public:
  /// Error{io} when the folder does not exist or cannot be written, and when the target exists and is not a writable regular file.
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The target as given by the caller.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool replaces() const noexcept { return replaces_; }
  /// Reserves `size` bytes, so that a full disk is detected early; no effect where the file system does not support it.
  void reserve(int64_t size);
  /// Flushes if `sync` is set or a file is replaced, closes with errors checked, and gives the file its name.
  void commit(bool sync);

 private:
  void open_unnamed();
  void open_named();
  /// An unused name in the target's folder.
  [[nodiscard]] std::filesystem::path free_name() const;
  void link_unnamed();
  void take_over_attributes();
  [[noreturn]] void fail_with_errno() const;

  std::string name_;
  std::filesystem::path target_, temporary_;  ///< temporary_: empty while the file has no name
  int descriptor_ = -1;
  bool unnamed_ = false;
  bool replaces_ = false;
};

/// The folder of temporary files: $TMPDIR, or /tmp.
[[nodiscard]] std::string temporary_directory();

/// Hint of errors about temporary files.
inline constexpr char kTemporaryHint[] = "TMPDIR names another folder";

/// Opens an unnamed file for reading and writing; it is deleted when its descriptor is closed. Error{io} names the directory.
[[nodiscard]] int open_temporary_file();

/// A folder inaccessible to other users (mode 0700). The destructor removes it with its contents. Error{io} names the directory.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// A folder that appears with its contents under its name on publish() or not at all: until then it has a hidden name beside it. Error{io}
/// names the folder beside which it is, or the target.
class DraftFolder {
 public:
  explicit DraftFolder(std::filesystem::path target);
  ~DraftFolder();
  DraftFolder(const DraftFolder&) = delete;
  DraftFolder& operator=(const DraftFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  void publish();

 private:
  std::filesystem::path target_, path_;
};

class File;

/// Writes a whole text, in as many calls as necessary. Returns 0 or the error number.
[[nodiscard]] int write_all(int descriptor, std::string_view text) noexcept;

/// The contents of a whole file. Error{invalid} "PATH: larger than WHAT can be" for more than `most` bytes.
[[nodiscard]] std::string read_text(const File& file, int64_t most, std::string_view what);

/// Writes a report. The file appears whole under its name or not at all, and replaces an existing one. A device or a pipe is written to
/// directly. Error{io} names the path.
void write_text_file(const std::filesystem::path& path, std::string_view text);
/// Throws Error{io} if write_text_file() would fail now: no such folder, no permission, a folder of that name. Changes nothing.
void check_text_file(const std::filesystem::path& path);

}  // namespace relayout
