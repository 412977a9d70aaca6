#pragma once

#include <string>

namespace relayout {

/// A word of a command line, quoted for a shell if necessary.
[[nodiscard]] std::string shell_word(const std::string& word);

/// The path of a file as a word that commands cannot take for an option.
[[nodiscard]] std::string file_word(const std::string& path);

}  // namespace relayout
