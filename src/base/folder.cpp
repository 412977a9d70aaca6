// Lists the entries of a folder by name, with or without hidden ones (names that begin with a dot).
#include "base/folder.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"

namespace relayout {

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

}  // namespace relayout
