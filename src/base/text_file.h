#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace relayout {

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
