#pragma once

#include <string>
#include <vector>

namespace relayout::cli {

/// The facts besides files and options on which results depend: the builds of the program and of its libraries, and the processor as oneDNN
/// may use it.
[[nodiscard]] std::vector<std::string> program_facts();

}  // namespace relayout::cli
