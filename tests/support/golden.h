#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace relayout::test {

/// Whether `text` is the content of the golden file. A test program started with --rebase writes the file instead; the change is then
/// reviewed as a diff.
[[nodiscard]] testing::AssertionResult is_golden(const std::string& text, const std::filesystem::path& file);

/// `text` with the parts that differ between machines and runs replaced: times ("0.04 s" → "T s").
[[nodiscard]] std::string without_times(std::string text);

}  // namespace relayout::test
