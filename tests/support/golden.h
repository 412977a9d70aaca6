#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace relayout::test {

/// Whether `text` is what the golden file says. A test program started with --rebase writes the file instead; the change is then
/// reviewed as a diff.
[[nodiscard]] testing::AssertionResult is_golden(const std::string& text, const std::filesystem::path& file);

/// `text` with what differs between machines and runs replaced: times ("0.04 s" → "T s").
[[nodiscard]] std::string without_times(std::string text);

}  // namespace relayout::test
