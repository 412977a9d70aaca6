#pragma once

#include <filesystem>
#include <string_view>

namespace relayout {

/// Writes all of a text, however many calls that takes. 0, or the error number.
[[nodiscard]] int write_all(int descriptor, std::string_view text) noexcept;

/// Writes a report: the file appears whole under its name or not at all, and replaces one that is there. What is no regular file (a
/// device, a pipe) is written to directly. Error{io} names the path.
void write_text_file(const std::filesystem::path& path, std::string_view text);
/// Error{io} where write_text_file() would fail now: no such folder, no permission, a folder of that name. Changes nothing.
void check_text_file(const std::filesystem::path& path);

}  // namespace relayout
