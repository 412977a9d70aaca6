// The file name "-", which stands for standard input (read by file.cpp) or standard output (models: model/save.cpp, reports:
// cli/common/report.cpp), and the names of both in messages.
#pragma once

#include <filesystem>

namespace relayout {

inline constexpr char kStream[] = "-";
inline constexpr char kStandardInput[] = "standard input", kStandardOutput[] = "standard output";

[[nodiscard]] inline bool is_stream(const std::filesystem::path& path) {
  return path == kStream;
}

}  // namespace relayout
