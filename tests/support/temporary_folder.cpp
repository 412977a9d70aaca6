#include "support/temporary_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace relayout::test {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "relayout-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  path_ = std::filesystem::canonical(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TemporaryFolder::entries() const {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    out.push_back(entry.path().filename().string() + (entry.symlink_status().type() == std::filesystem::file_type::directory ? "/" : ""));
  }
  std::ranges::sort(out);
  return out;
}

std::string read_file(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string out;
  if (descriptor < 0) return out;
  std::size_t filled = 0;
  while (true) {
    // Files in /proc state no size, all others do.
    struct stat info = {};
    fstat(descriptor, &info);
    out.resize(std::max<std::size_t>(static_cast<std::size_t>(info.st_size) + 1, filled + 4096));
    const ssize_t got = read(descriptor, out.data() + filled, out.size() - filled);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  close(descriptor);
  out.resize(filled);
  return out;
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace relayout::test
