#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace relayout {

/// A file that appears whole on commit() or not at all: unnamed (O_TMPFILE) in the target's folder, linked to a temporary name and
/// renamed at once; a named temporary, removed on failure and on signals, where that is not supported.
/// Follows a symlinked target, keeps the mode of a replaced file.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool replaces() const noexcept { return replaces_; }
  /// Reserves `size` bytes so that a full disk shows at once; no effect where the file system cannot.
  void reserve(int64_t size);
  /// Flushes when replacing or asked to, closes with errors checked, gives the file its name. Error{io}.
  void commit(bool sync);

 private:
  std::filesystem::path target_, temporary_;
  int descriptor_ = -1;
  bool replaces_ = false;
};

}  // namespace relayout
