#pragma once

#include <filesystem>
#include <string>

namespace relayout {

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

}  // namespace relayout
