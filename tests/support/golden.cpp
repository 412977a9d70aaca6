#include "support/golden.h"

#include <algorithm>
#include <cstddef>
#include <regex>

#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

/// Reads the arguments from /proc: GoogleTest ignores those that it does not know, and drops them.
bool is_rebasing() {
  const std::string words = read_file("/proc/self/cmdline");
  return words.find(std::string("\0--rebase\0", 10)) != std::string::npos;
}

}  // namespace

testing::AssertionResult is_golden(const std::string& text, const std::filesystem::path& file) {
  if (is_rebasing()) {
    std::filesystem::create_directories(file.parent_path());
    write_file(file, text);
    return testing::AssertionSuccess();
  }
  const std::string expected = read_file(file);
  if (text == expected) return testing::AssertionSuccess();
  std::size_t line = 1;
  std::size_t at = 0;
  for (; at < std::min(text.size(), expected.size()) && text[at] == expected[at]; ++at) line += text[at] == '\n' ? 1 : 0;
  return testing::AssertionFailure() << "differs from " << file.string() << " in line " << line << "; now it is (--rebase takes it over)\n"
                                     << text;
}

std::string without_times(std::string text) {
  static const std::regex kTime("[0-9]+\\.[0-9]+ s\\b");
  return std::regex_replace(text, kTime, "T s");
}

}  // namespace relayout::test
