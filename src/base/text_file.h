#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace relayout {

class File;

/// Writes all of a text, however many calls that takes. 0, or the error number.
[[nodiscard]] int write_all(int descriptor, std::string_view text) noexcept;

/// All of a file that is to be read whole. Error{invalid} "PATH: larger than WHAT can be" beyond `most` bytes.
[[nodiscard]] std::string read_text(const File& file, int64_t most, std::string_view what);

/// Writes a report: the file appears whole under its name or not at all, and replaces one that is there. What is no regular file (a
/// device, a pipe) is written to directly. Error{io} names the path.
void write_text_file(const std::filesystem::path& path, std::string_view text);
/// Error{io} where write_text_file() would fail now: no such folder, no permission, a folder of that name. Changes nothing.
void check_text_file(const std::filesystem::path& path);

}  // namespace relayout
