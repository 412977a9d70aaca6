#pragma once

#include <filesystem>
#include <vector>

namespace relayout {

/// The entries of a folder in the order of their names. Error{io} names the folder.
[[nodiscard]] std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);
/// The same without hidden entries, whose names begin with a dot: those that `*` matches in a shell.
[[nodiscard]] std::vector<std::filesystem::directory_entry> visible_entries(const std::filesystem::path& folder);

}  // namespace relayout
