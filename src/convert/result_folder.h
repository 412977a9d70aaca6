#pragma once

#include <filesystem>

namespace relayout {

/// Reports a folder that does not exist before a large model is read, not after.
void check_result_folder(const std::filesystem::path& input, const std::filesystem::path& output);

/// Makes the folder of a result and those that it is in, where they are missing.
void make_result_folder(const std::filesystem::path& output);

}  // namespace relayout
