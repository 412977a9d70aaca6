#pragma once

#include <string>
#include <vector>

namespace relayout::cli {

/// What results depend on besides files and options: this very build of the program and of its libraries, and the processor as oneDNN may
/// use it.
[[nodiscard]] std::vector<std::string> program_facts();

}  // namespace relayout::cli
