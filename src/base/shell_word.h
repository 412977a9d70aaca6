#pragma once

#include <string>

namespace relayout {

/// A word of a command line, quoted for a shell when it must be.
[[nodiscard]] std::string shell_word(const std::string& word);

}  // namespace relayout
