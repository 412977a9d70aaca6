#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace relayout {

/// A file that appears whole on commit() or not at all: unnamed (O_TMPFILE) in the target's folder, linked to a temporary name and
/// renamed at once (linked to its own name when there is none yet); a named temporary, removed by the destructor, where that is not
/// supported. Follows a symlinked target, keeps mode and owner of a replaced file. All errors are Error{io} and name the target.
class AtomicFile {
 public:
  /// Error{io} when the folder does not exist or cannot be written, and when the target exists and is not a writable regular file.
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// As the caller gave it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool replaces() const noexcept { return replaces_; }
  /// Reserves `size` bytes so that a full disk shows at once; no effect where the file system cannot.
  void reserve(int64_t size);
  /// Flushes when replacing or asked to, closes with errors checked, gives the file its name.
  void commit(bool sync);

 private:
  void open_unnamed();
  void open_named();
  /// A name beside the target that no file has.
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

}  // namespace relayout
