#pragma once

#include <filesystem>
#include <string>

namespace relayout {

/// The folder of temporary files: $TMPDIR, or /tmp.
[[nodiscard]] std::string temporary_directory();

/// A file without a name, open for reading and writing, gone when its descriptor is closed. Error{io} names the directory.
[[nodiscard]] int open_temporary_file();

/// A folder for what no other user is to see (mode 0700), gone with its contents when the object ends. Error{io} names the directory.
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
